package identity

import (
	"testing"
	"time"
)

// FuzzCertificates checks that files of certificates are read, or refused; each certificate has a
// fingerprint and a name that can be shown.
func FuzzCertificates(f *testing.F) {
	secret, public, err := Make(CertRequest{Name: "a", Valid: time.Hour}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(public)
	f.Add(append(secret, public...))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Certificates(text)
		if _, side := New(secret, nil, text); side == nil && (err != nil || len(list) == 0) {
			t.Errorf("%q: a side that believes nobody it knows", text)
		}
		for _, c := range list {
			if Fingerprint(c) == "" {
				t.Errorf("got no fingerprint")
			}
			_ = Name(c)
		}
		_, _ = New(secret, text, public)
	})
}
