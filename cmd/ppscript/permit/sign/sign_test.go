package sign

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"
)

// signed is a script that loads two files, with their signature.
type signed struct {
	main, lib string
	texts     map[string]string // by name as the host has it
	keys      Signers
	secret    Secret
}

func sign(t *testing.T) signed {
	t.Helper()
	dir := t.TempDir()
	s := signed{main: filepath.Join(dir, "a.star"), lib: "git.example.com/x//b.star"}
	s.texts = map[string]string{s.main: "main", s.lib: "lib", filepath.Join(dir, "sub/c.star"): "sub"}
	key := filepath.Join(dir, "ops")
	public, err := NewKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if s.secret, err = ReadSecret(key); err != nil {
		t.Fatal(err)
	}
	if s.keys, err = ReadSigners(key + ".pub"); err != nil || len(s.keys.Keys) != 1 ||
		s.keys.Keys[0].Fingerprint() != public.Fingerprint() || s.keys.Keys[0].Name != "ops" {
		t.Fatalf("got %v, %v, want the key %v", s.keys, err, public)
	}
	sums := map[string]Sum{}
	for name, text := range s.texts {
		sums[name] = sha256.Sum256([]byte(text))
	}
	text, err := s.secret.Sign(s.main, sums)
	if err == nil {
		err = os.WriteFile(s.main+Suffix, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// vet asks about all files, the script first.
func (s *signed) vet() error {
	v := &Vetter{Signers: s.keys}
	if err := v.Vet(s.main, []byte(s.texts[s.main])); err != nil {
		return err
	}
	for name, text := range s.texts {
		if name != s.main {
			if err := v.Vet(name, []byte(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestWhatWasSignedRuns(t *testing.T) {
	s := sign(t)
	if err := s.vet(); err != nil {
		t.Error(err)
	}
}

// One byte of any file, of the signature too, is enough.
func TestChangesAreRefused(t *testing.T) {
	s := sign(t)
	refused := func(what string) {
		t.Helper()
		if err := s.vet(); err == nil || diag.HintOf(err) == "" {
			t.Errorf("%s: got %v, want an error with a hint", what, err)
		}
	}
	for name, text := range s.texts {
		s.texts[name] = text + " "
		refused(name)
		s.texts[name] = text
	}
	s.texts["/other.star"] = ""
	refused("another file")
	delete(s.texts, "/other.star")

	text, err := os.ReadFile(s.main + Suffix)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		changed := []byte(string(text))
		changed[i] ^= 1
		if err := os.WriteFile(s.main+Suffix, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		refused("byte " + string(text[i]))
	}
	if err := os.WriteFile(s.main+Suffix, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.vet(); err != nil {
		t.Errorf("as it was: %v", err)
	}
	if err := os.Rename(s.main+Suffix, s.main+"2"+Suffix); err != nil {
		t.Fatal(err)
	}
	refused("no signature")
	s.texts[s.main+"2"] = s.texts[s.main]
	s.main += "2"
	refused("the signature of another script")
}

func TestOtherKeysAreRefused(t *testing.T) {
	s, other := sign(t), sign(t)
	s.keys = other.keys
	if err := s.vet(); err == nil || !strings.Contains(err.Error(), s.secret.Fingerprint()) {
		t.Errorf("got %v, want the key that is not known", err)
	}
	v := Vetter{Signers: other.keys, Only: "somebody"}
	if err := v.Vet(other.main, []byte("main")); err == nil {
		t.Error("another key than the named one counts")
	}
	v = Vetter{Signers: other.keys, Only: other.secret.Fingerprint()}
	if err := v.Vet(other.main, []byte("main")); err != nil {
		t.Error(err)
	}
}

func TestKeysAreTheirOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	if _, err := NewKey(path); err != nil {
		t.Fatal(err)
	}
	if _, err := NewKey(path); !errors.Is(err, fs.ErrExist) && err == nil {
		t.Errorf("a key was overwritten: %v", err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v, want mode 0600", st.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(path); err == nil {
		t.Error("a key that others can read was taken")
	}
	if _, err := ReadSecret(path + ".pub"); err == nil {
		t.Error("a public key was taken for a secret one")
	}
}

func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := sign(t)
	key := s.keys.Keys[0].String() + "\n"
	none, own := filepath.Join(dir, "none"), file("own", "# mine\n"+key)
	for _, c := range []struct {
		args    string
		machine string
		want    int // keys; -1 is everybody's scripts, -2 an error
	}{
		{"a.star", none, -1},
		{"a.star --require-signed", none, -2},
		{"a.star --require-signed --signers " + own, none, 1},
		{"--require_signed a.star --signers=" + own, none, 1},
		{"a.star -- x --require-signed", none, -1},
		{"a.star --require-signed --signers " + file("bad", "nonsense\n"), none, -2},
	} {
		got, err := Policy(OptionsIn(strings.Fields(c.args)), c.machine)
		n := -1
		if err != nil {
			n = -2
			if diag.HintOf(err) == "" {
				t.Errorf("%s: no hint: %v", c.args, err)
			}
		} else if got != nil {
			n = len(got.Keys)
		}
		if n != c.want {
			t.Errorf("%s: got %d (%v), want %d", c.args, n, err, c.want)
		}
	}
	if os.Getuid() != 0 {
		return
	}
	must := file("must", "require-signed\n"+key)
	if got, err := Policy(Options{}, must); err != nil || got == nil || len(got.Keys) != 1 {
		t.Errorf("got %v, %v, want the machine's key", got, err)
	}
	if got, err := Policy(Options{Require: true, Signers: own}, must); err == nil {
		t.Errorf("got %v, want the machine's keys only", got)
	}
	if err := os.Chmod(must, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := Policy(Options{}, must); err == nil {
		t.Errorf("got %v, want an error: others can change it", got)
	}
}
