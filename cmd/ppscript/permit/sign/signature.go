package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ppscript/runtime/text/diag"
)

// This file reads, writes and checks signatures. A signature file has the form:
//
//	ppscript-signature 1
//	key ppscript-ed25519 BASE64 NAME
//	script SHA256 NAME
//	file SHA256 NAME
//	...
//	ed25519 BASE64
//
// The last line is the signature of all lines before it. Names of files are relative to the
// script's directory, so that a tree of scripts can be moved as a whole. Files of libraries have
// the name by which they are loaded: LIBRARY//FILE.

// Suffix is appended to the name of a script to name its signature.
const Suffix = ".sig"

const header = "ppscript-signature 1"

// A Sum is the SHA-256 of a file.
type Sum = [sha256.Size]byte

// A Signature has the hashes of a script and its loaded files, and the key that
// signed them. The zero value has no signer.
type Signature struct {
	Key    Key
	Script string // file name of the script, without directory
	Sum    Sum
	Files  map[string]Sum // hashes of the loaded files, by name
}

// NameFor returns the name that a loaded file has in the signature of the script main. Both
// arguments are names of the script host: absolute paths, or LIBRARY//FILE.
func NameFor(main, file string) string {
	if strings.Contains(file, "//") {
		return file
	}
	if rel, err := filepath.Rel(filepath.Dir(main), file); err == nil {
		return rel
	}
	return file
}

// Sign signs a script and the files that it loads. sums has the hashes of all of them, by their
// names in the script host.
func (s Secret) Sign(main string, sums map[string]Sum) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nkey %s\n", header, s.Key)
	sum, ok := sums[main]
	if !ok || strings.Contains(main, "//") {
		return nil, diag.Errorf(diag.Usage, "sign", main, "is not a file").
			WithHint("give the path of a script: ppscript sign KEY ./disk.star")
	}
	fmt.Fprintf(&b, "script %x %s\n", sum, filepath.Base(main))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if name == main {
			continue
		}
		if short := NameFor(main, name); strings.ContainsAny(short, "\n\r") {
			return nil, diag.Errorf(diag.Usage, "sign", name, "the name has a line end").
				WithHint("rename the file")
		} else {
			fmt.Fprintf(&b, "file %x %s\n", sums[name], short)
		}
	}
	text := ed25519.Sign(s.private, b.Bytes())
	fmt.Fprintf(&b, "ed25519 %s\n", base64.StdEncoding.EncodeToString(text))
	return b.Bytes(), nil
}

// SignText signs a text that is not a script. about names its kind and is part of the signature, so
// that the signature is not valid for any other use.
func (s Secret) SignText(about string, text []byte) []byte {
	return ed25519.Sign(s.private, slices.Concat([]byte(about+"\n"), text))
}

// SignedText verifies the signature of a text and returns the signer. ok is false if
// the public key is no signer's or the signature does not match.
func (s *Signers) SignedText(about string, text, public, signature []byte) (Key, bool) {
	key, ok := s.find(public)
	return key, ok && ed25519.Verify(key.Public, slices.Concat([]byte(about+"\n"), text), signature)
}

// errForm is the error for a file that is not a signature.
var errForm = errors.New("that is no signature of a script")

// parse reads a signature and verifies it with the key that it names.
func parse(text []byte) (s Signature, err error) {
	end := bytes.LastIndex(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1
	coded, ok := strings.CutPrefix(strings.TrimSuffix(string(text[end:]), "\n"), "ed25519 ")
	by, err := base64.StdEncoding.Strict().DecodeString(coded)
	if !ok || err != nil || end == 0 {
		return s, errForm
	}
	s.Files = map[string]Sum{}
	for n, line := range strings.Split(strings.TrimSuffix(string(text[:end]), "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case n == 0 && line == header:
			continue
		case n == 1 && word == "key":
			if s.Key, ok = parseKey(strings.Fields(rest)); !ok {
				return s, errForm
			}
			continue
		}
		coded, name, _ := strings.Cut(rest, " ")
		sum, err := hex.DecodeString(coded)
		if err != nil || len(sum) != sha256.Size || name == "" {
			return s, errForm
		}
		switch {
		case n == 2 && word == "script":
			s.Script, s.Sum = name, Sum(sum)
		case n > 2 && word == "file":
			s.Files[name] = Sum(sum)
		default:
			return s, errForm
		}
	}
	if s.Script == "" {
		return s, errForm
	}
	if !ed25519.Verify(s.Key.Public, text[:end], by) {
		return s, errors.New("the signature file was changed after it was signed")
	}
	return s, nil
}

// A Vetter decides for each file of one script, when it is loaded, whether it may run. The first
// file is the script itself. A Vetter belongs to one script host.
type Vetter struct {
	Signers Signers
	// Only, if set, is the name or fingerprint of the only accepted key.
	Only string
	// By is the key that signed the script; set when the script is loaded.
	By Key

	main string
	says Signature
}

// Vet implements script.HostOptions.Vet.
func (v *Vetter) Vet(name string, src []byte) error {
	sum := sha256.Sum256(src)
	if v.main == "" {
		return v.script(name, sum)
	}
	short := NameFor(v.main, name)
	signed, ok := v.says.Files[short]
	switch {
	case !ok:
		return v.refuse(name, "the signature of %s does not cover this file; it covers %d others", v.main,
			len(v.says.Files))
	case signed != sum:
		return v.refuse(name, "it was changed after %s signed it", v.By.Name)
	}
	return nil
}

// script reads the signature beside a script and checks the script against it.
func (v *Vetter) script(name string, sum Sum) error {
	if strings.HasPrefix(name, "<") || strings.Contains(name, "//") {
		return v.refuse(name, "it has no signature: it is not a file")
	}
	text, _, err := read("read signature", name+Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return v.refuse(name, "nobody signed it: there is no %s", name+Suffix)
	}
	if err != nil {
		return v.refuse(name+Suffix, "%w", err)
	}
	says, err := parse(text)
	if err != nil {
		return v.refuse(name+Suffix, "%w", err)
	}
	key, known := v.Signers.find(says.Key.Public)
	switch {
	case !known:
		return v.refuse(name, "its key %s is not among the %d keys of %s", says.Key.Fingerprint(),
			len(v.Signers.Keys), v.Signers.Path)
	case v.Only != "" && v.Only != key.Name && v.Only != key.Fingerprint():
		return v.refuse(name, "it is signed by %s, and must be signed by %s", key.Name, v.Only)
	case says.Script != filepath.Base(name):
		return v.refuse(name, "the signature is of %s", says.Script)
	case says.Sum != sum:
		return v.refuse(name, "it was changed after %s signed it", key.Name)
	}
	v.main, v.says, v.By = name, says, key
	return nil
}

// Files returns the number of files that the signature covers.
func (v *Vetter) Files() int { return len(v.says.Files) + 1 }

func (v *Vetter) refuse(name, format string, args ...any) error {
	at := v.main
	if at == "" {
		at = strings.TrimSuffix(name, Suffix)
	}
	return diag.Errorf(diag.Run, "verify", name, format, args...).
		WithHint("read what it does, and if you trust it: ppscript sign KEY %s", at)
}
