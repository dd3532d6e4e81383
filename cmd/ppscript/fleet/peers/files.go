// Package peers makes and reads the keys and certificates by which the sender and the receiver of
// events authenticate each other over TLS, for --tls-key, --tls-cert, --tls-peers and ppscript tls.
// The command line calls it.
package peers

import (
	"errors"
	"fmt"
	"os"

	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/runtime/source/identity"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// maxFile bounds the size of a file with keys or certificates, in bytes.
const maxFile = 1 << 20

// Files has the values of the options. The zero value means no TLS.
type Files struct{ Key, Cert, Peers string }

// Open reads the files; nil if no option was given.
func (f *Files) Open() (*identity.Side, error) {
	switch {
	case f.Key == "" && f.Cert == "" && f.Peers == "":
		return nil, nil
	case f.Key == "":
		return nil, wrongf("option", "--tls-peers", "there is no key of this side").
			WithHint("make one: ppscript tls new NAME, and add --tls-key NAME.key")
	case f.Peers == "":
		return nil, wrongf("option", "--tls-key", "no trusted peers are given").
			WithHint("add the certificate that ppscript tls new made on the other side: --tls-peers NAME.crt")
	}
	key, err := token.ReadSecret("read key", f.Key, maxFile, "make one: ppscript tls new NAME")
	if err != nil {
		return nil, err
	}
	var cert []byte
	if f.Cert != "" {
		if cert, err = read(f.Cert); err != nil {
			return nil, err
		}
	}
	peers, err := read(f.Peers)
	if err != nil {
		return nil, err
	}
	s, err := identity.New(key, cert, peers)
	if err != nil {
		hint := "make a key with its certificate: ppscript tls new NAME; see what is there: ppscript tls show FILE"
		if errors.Is(err, identity.ErrExpired) {
			hint = "make a new one, and give its certificate to the others: ppscript tls new NAME"
		}
		return nil, wrongf("use", f.Key, "%w", err).WithHint("%s", hint)
	}
	return s, nil
}

func read(path string) ([]byte, error) {
	wrong := func(err error) error {
		return diag.FileError("read certificates", path, err).OrHint("look: ls -l %s", path)
	}
	b, err := infile.Read(path, maxFile)
	if err != nil {
		return nil, wrong(err)
	}
	return b, nil
}

// write creates a file. It is an error if the file exists.
func write(path string, b []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return diag.FileError("make key", path, err).OrHint("give another name, or look: ls -l %s", path)
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// show returns a line for each certificate in a file's text.
func show(text []byte) (lines []string, err error) {
	list, err := identity.Certificates(text)
	for _, c := range list {
		what := "a host"
		if c.IsCA {
			what = "an authority"
		}
		by := ""
		if c.Issuer.String() != c.Subject.String() {
			by = ", signed by " + c.Issuer.CommonName
		}
		lines = append(lines, fmt.Sprintf("%s  %s%s, from %s to %s", identity.Name(c), what, by,
			c.NotBefore.Format("2006-01-02"), c.NotAfter.Format("2006-01-02")))
	}
	return lines, err
}

func wrongf(op, subject, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, op, subject, format, args...)
}
