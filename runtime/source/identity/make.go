package identity

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// CertRequest describes the certificate for Make.
type CertRequest struct {
	Name      string
	Valid     time.Duration // from now on
	Authority bool          // it may sign other certificates
	// By is the content of the authority's key file, in PEM, for the signature; nil
	// makes a self-signed certificate.
	By []byte
}

// Make makes a key and its certificate, in PEM. secret has both and is only for the owner;
// public has the certificate, for the peers that shall trust it.
func Make(w CertRequest, now time.Time) (secret, public []byte, err error) {
	own, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: w.Name},
		// The clock of a peer may be slower than this one.
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(w.Valid),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	if w.Authority {
		c.IsCA, c.MaxPathLenZero, c.ExtKeyUsage = true, true, nil
		c.KeyUsage = x509.KeyUsageCertSign
	}
	parent, signer := c, crypto.PrivateKey(key)
	if w.By != nil {
		by, err := tls.X509KeyPair(w.By, w.By)
		if err != nil {
			return nil, nil, err
		}
		if parent, err = x509.ParseCertificate(by.Certificate[0]); err != nil {
			return nil, nil, err
		}
		switch {
		case !parent.IsCA:
			return nil, nil, errors.New("it is the key of a host, not of an authority")
		case valid(parent, now) != nil:
			return nil, nil, errors.New("the authority is valid " + until(parent))
		case c.NotAfter.After(parent.NotAfter):
			c.NotAfter = parent.NotAfter
		}
		signer = by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, own, signer)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	public = pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
	secret = append(pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: pkcs8}), public...)
	return secret, public, nil
}
