// Package identity proves us and our peers to each other over a network: a key with its
// certificate, and the certificates of those whom we believe. With them package relay has TLS 1.3 in
// which both sides are known.
//
// A peer is one whose own certificate we have (it is pinned: nobody else can have that key), or one
// with a certificate that an authority of ours signed. Names of hosts do not count: the listener at an
// address is the owner of the key. Certificates that have expired, or are not valid yet, are refused.
//
// The command line reads the files and makes new ones; this package opens none.
package identity

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// A Side is we, and whom we believe.
type Side struct {
	own    tls.Certificate
	pinned map[[sha256.Size]byte]bool // certificates of peers
	roots  *x509.CertPool             // authorities
}

// Reasons not to believe a peer, beside x509's.
var (
	ErrNone    = errors.New("it shows no certificate")
	ErrExpired = errors.New("its certificate has expired")
	ErrEarly   = errors.New("its certificate is not valid yet")
	ErrUnknown = errors.New("its certificate is none of our peers', nor signed by an authority of ours")
)

// PeerError says why a peer was refused.
type PeerError struct {
	Who string // name and fingerprint, as it says; "" if it shows no certificate
	Why error
}

func (e *PeerError) Error() string {
	if e.Who == "" {
		return e.Why.Error()
	}
	return fmt.Sprintf("%s: %v", e.Who, e.Why)
}

// Unwrap has errors.Is find the reason.
func (e *PeerError) Unwrap() error { return e.Why }

// New is a side. Key has a private key in PEM and, unless cert has it, its certificate; peers has
// certificates of peers and of authorities.
func New(key, cert, peers []byte) (*Side, error) {
	if len(cert) == 0 {
		cert = key
	}
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if own.Leaf, err = x509.ParseCertificate(own.Certificate[0]); err != nil {
		return nil, err
	}
	if err := valid(own.Leaf, time.Now()); err != nil {
		return nil, fmt.Errorf("%s: %w (%s)", Name(own.Leaf), err, until(own.Leaf))
	}
	s := &Side{own: own, pinned: map[[sha256.Size]byte]bool{}, roots: x509.NewCertPool()}
	list, err := Certificates(peers)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("peers: there is no certificate")
	}
	for _, c := range list {
		if c.IsCA {
			s.roots.AddCert(c)
		} else {
			s.pinned[sha256.Sum256(c.Raw)] = true
		}
	}
	return s, nil
}

func until(c *x509.Certificate) string {
	return "from " + c.NotBefore.Format(time.DateOnly) + " to " + c.NotAfter.Format(time.DateOnly)
}

// Certificates parses the certificates of a text in PEM; other blocks, such as keys, are left out.
func Certificates(text []byte) (list []*x509.Certificate, err error) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return list, nil
		}
		if b.Type != certificateBlock {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

// Name is how people tell certificates apart: the name that it says, which proves nothing, and the
// fingerprint, which only it has.
func Name(c *x509.Certificate) string {
	return c.Subject.CommonName + " " + Fingerprint(c)
}

// Fingerprint is SHA256:BASE64 of the public key, as of keys of ssh.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Own is our certificate.
func (s *Side) Own() *x509.Certificate { return s.own.Leaf }

// Config is for both ends of a connection. VerifyConnection is in place of what package tls does by
// itself, which asks for names of hosts.
func (s *Side) Config() *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{s.own},
		MinVersion:             tls.VersionTLS13,
		ClientAuth:             tls.RequestClientCert, // verify refuses a peer without one, and says so
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection:       s.verify,
		NextProtos:             []string{protocol},
	}
}

// protocol keeps servers of other protocols that believe the same authority from being taken for ours.
const protocol = "ppscript-relay/1"

// verify decides whether a peer is one.
func (s *Side) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return &PeerError{Why: ErrNone}
	}
	if state.NegotiatedProtocol != protocol {
		return &PeerError{Who: Name(state.PeerCertificates[0]), Why: errors.New("it speaks another protocol")}
	}
	if err := s.believe(state.PeerCertificates, time.Now()); err != nil {
		return &PeerError{Who: Name(state.PeerCertificates[0]), Why: err}
	}
	return nil
}

// believe is nil for the certificate of a peer, with those between it and an authority behind it.
func (s *Side) believe(chain []*x509.Certificate, now time.Time) error {
	leaf := chain[0]
	if err := valid(leaf, now); err != nil {
		return err
	}
	if s.pinned[sha256.Sum256(leaf.Raw)] {
		return nil
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: s.roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return ErrUnknown
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired: // of the authority
		return ErrExpired
	}
	return err
}

func valid(c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return ErrExpired
	case now.Before(c.NotBefore):
		return ErrEarly
	}
	return nil
}
