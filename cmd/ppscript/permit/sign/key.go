// Package sign makes and checks signatures of scripts. By a signature, a person vouches for the
// exact contents of a script and of all files that it loads. The signature is the file SCRIPT.sig
// beside the script. It has the name and the SHA-256 of the script and of each loaded file, and is
// made with an ed25519 key. Files that come with the program (@stdlib//) are not listed.
//
// The command line makes and shows signatures. The script host calls a Vetter for each file with
// the bytes that it is about to run, so a file cannot be exchanged between check and run.
package sign

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ppscript/runtime/text/diag"
)

// The first words of lines that hold a public or a secret key.
const (
	publicWord = "ppscript-ed25519"
	secretWord = "ppscript-ed25519-secret"
)

// maxKeys bounds the size of a file with keys, in bytes.
const maxKeys = 1 << 20

// A Key is the public key of a signer.
type Key struct {
	Name   string // chosen by its owner; proves nothing
	Public ed25519.PublicKey
}

// Fingerprint returns a short text that identifies the key, SHA256:BASE64, as ssh has
// it.
func (k Key) Fingerprint() string {
	sum := sha256.Sum256(k.Public)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// String returns the key as a line of a file with public keys.
func (k Key) String() string {
	return publicWord + " " + base64.StdEncoding.EncodeToString(k.Public) + " " + k.Name
}

// A Secret is a private key, which makes signatures.
type Secret struct {
	Key
	private ed25519.PrivateKey
}

// NewKey makes a key pair: the secret key in the file path, which only its owner can read, and the
// public key in path.pub. It is an error if one of the files exists.
func NewKey(path string) (Key, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Key{}, err
	}
	key := Key{Name: filepath.Base(path), Public: public}
	if strings.ContainsAny(key.Name, " \t\n#") {
		return Key{}, diag.Errorf(diag.Usage, "make key", path, "the name has a blank or #").
			WithHint("write: ppscript sign --new-key NAME")
	}
	secret := secretWord + " " + base64.StdEncoding.EncodeToString(private.Seed()) + " " + key.Name
	if err := create(path, secret, 0o600); err != nil {
		return Key{}, err
	}
	if err := create(path+".pub", key.String(), 0o644); err != nil {
		return Key{}, errors.Join(err, os.Remove(path))
	}
	return key, nil
}

func create(path, line string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return diag.FileError("make key", path, err).OrHint("give another name, or look: ls -l %s", path)
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// ReadSecret reads a secret key. It is an error if other users can read the
// file.
func ReadSecret(path string) (Secret, error) {
	text, info, err := read("read key", path)
	if err != nil {
		return Secret{}, diag.FileError("read key", path, err).
			OrHint("make one: ppscript sign --new-key %s", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Secret{}, diag.Errorf(diag.Usage, "read key", path,
			"others can read it: got mode %04o, want 0600", info.Mode().Perm()).WithHint("chmod 600 %s", path)
	}
	words := strings.Fields(string(text))
	if len(words) >= 2 && words[0] == secretWord {
		seed, err := base64.StdEncoding.DecodeString(words[1])
		if err == nil && len(seed) == ed25519.SeedSize {
			private := ed25519.NewKeyFromSeed(seed)
			name := strings.Join(words[2:], " ")
			return Secret{Key{name, private.Public().(ed25519.PublicKey)}, private}, nil
		}
	}
	return Secret{}, diag.Errorf(diag.Usage, "read key", path, "that is no key that signs").
		WithHint("make one: ppscript sign --new-key NAME")
}

// Signers has the keys whose signatures are accepted.
type Signers struct {
	Keys []Key
	// Required says that a script runs only if one of the keys signed it.
	Required bool
	// Path is the file that the keys were read from.
	Path string
}

// SignersFile is the path of the machine's signers.
const SignersFile = "/etc/ppscript/signers"

// requireWord is the line in a file of signers that sets Required.
const requireWord = "require-signed"

// ReadSigners reads public keys, one a line as in NAME.pub, with comments after #. If there is no
// such file, the error wraps fs.ErrNotExist.
func ReadSigners(path string) (Signers, error) {
	s := Signers{Path: path}
	text, _, err := read("read signers", path)
	if err != nil {
		return s, &diag.Error{Op: "read signers", Subject: path, Cause: err, Class: diag.Usage,
			Hint: "write the public keys of the signers whom you trust into it, one a line, as in NAME.pub"}
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case len(words) == 1 && words[0] == requireWord:
			s.Required = true
			continue
		}
		key, ok := parseKey(words)
		if !ok {
			return s, diag.Errorf(diag.Usage, "read signers", path,
				"line %d: got %q, want a public key", n, line).
				WithHint("write the line of NAME.pub, which ppscript sign --new-key NAME makes, or %s",
					requireWord)
		}
		s.Keys = append(s.Keys, key)
	}
	return s, lines.Err()
}

func parseKey(words []string) (k Key, ok bool) {
	if len(words) < 2 || words[0] != publicWord {
		return k, false
	}
	public, err := base64.StdEncoding.DecodeString(words[1])
	return Key{strings.Join(words[2:], " "), public}, err == nil && len(public) == ed25519.PublicKeySize
}

// find returns the signer with a public key.
func (s *Signers) find(public ed25519.PublicKey) (Key, bool) {
	for _, k := range s.Keys {
		if k.Public.Equal(public) {
			return k, true
		}
	}
	return Key{}, false
}

// read reads a regular file. Its errors do not name the path. A named pipe is an error, not a
// wait for its writer.
func read(op, path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, diag.Reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, diag.Reason(err)
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("is not a regular file")
	case info.Size() > maxKeys:
		return nil, nil, errors.New(op + ": the file is too large")
	}
	text := make([]byte, info.Size())
	n, err := f.ReadAt(text, 0)
	if n == len(text) {
		err = nil
	}
	return text[:n], info, diag.Reason(err)
}
