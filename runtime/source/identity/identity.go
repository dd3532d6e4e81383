// Package identity authenticates both ends of a network connection to each other. Each end (a Side)
// has a key with its certificate, and the certificates that it trusts. With them package relay uses
// TLS 1.3 with certificates of both ends.
//
// A peer is trusted if we have its own certificate (the certificate is pinned), or if one of our
// authorities signed its certificate. Names of hosts are not checked; only the key identifies a
// peer. Certificates that have expired, or are not valid yet, are refused.
//
// The command line reads and writes the files of keys and certificates; this
// package opens no files.
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

// A Side is one end of a connection: its own key and certificate, and the
// certificates that it trusts.
type Side struct {
	own    tls.Certificate
	pinned map[[sha256.Size]byte]bool // certificates of peers
	roots  *x509.CertPool             // authorities
}

// Reasons to refuse a peer, in addition to the errors of package x509.
var (
	ErrNone    = errors.New("it sends no certificate")
	ErrExpired = errors.New("its certificate has expired")
	ErrEarly   = errors.New("its certificate is not valid yet")
	ErrUnknown = errors.New("its certificate is neither a trusted peer's nor signed by a trusted authority")
)

// PeerError is the error for a peer that was refused.
type PeerError struct {
	Who string // name and fingerprint from its certificate; "" if it sent no certificate
	Why error
}

func (e *PeerError) Error() string {
	if e.Who == "" {
		return e.Why.Error()
	}
	return fmt.Sprintf("%s: %v", e.Who, e.Why)
}

// Unwrap returns the reason, for errors.Is.
func (e *PeerError) Unwrap() error { return e.Why }

// New makes a Side from texts in PEM: key has the private key. The certificate of that key is in
// cert, or in key too if cert is empty. peers has certificates of peers and of authorities.
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

// Name identifies a certificate for people: its common name, which proves nothing, and its
// fingerprint, which is unique.
func Name(c *x509.Certificate) string {
	return c.Subject.CommonName + " " + Fingerprint(c)
}

// Fingerprint is the hash of the public key as SHA256:BASE64, the form of ssh.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Own returns the certificate of this side.
func (s *Side) Own() *x509.Certificate { return s.own.Leaf }

// Config returns the TLS configuration, for a client or a server. VerifyConnection replaces the
// verification by package tls, which checks names of hosts.
func (s *Side) Config() *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{s.own},
		MinVersion:             tls.VersionTLS13,
		ClientAuth:             tls.RequestClientCert, // verify refuses a peer without one
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection:       s.verify,
		NextProtos:             []string{protocol},
	}
}

// protocol is the ALPN name of the connection. Without it, a server of another protocol that trusts
// the same authority would be accepted.
const protocol = "ppscript-relay/1"

// verify returns an error if a peer is not trusted.
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

// believe returns nil if the first certificate of chain is trusted. The others are the
// intermediate certificates up to an authority.
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
