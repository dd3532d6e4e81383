package fleet

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// A Bundle is a script that is sent with a job: the text of the script and of all files that it
// loads, with their signature. Machines run exactly these bytes: the signature has the SHA-256 of
// each file, and the process that runs the script can load nothing else.
type Bundle struct {
	Main string `json:"main"`
	// Files has the texts by the names in the signature: relative to the directory of
	// Main, or LIBRARY@VERSION//FILE for files of libraries.
	Files map[string][]byte `json:"files"`
	// As maps names in load statements, such as LIBRARY//FILE, to names in Files. The asker's
	// machine has chosen the versions.
	As        map[string]string `json:"as,omitempty"`
	Signature []byte            `json:"signature"`
}

const (
	mostFiles  = 200
	mostBytes  = 8 << 20
	mostAbove  = 16 // directories above the script's directory
	bundleFile = "bundle.json"
)

// NewBundle packs the script main and the files that it loaded. sums has their hashes by their
// names in the script host, text the texts of files of libraries, and as becomes Bundle.As.
func NewBundle(main string, sums map[string]sign.Sum, text map[string][]byte, as map[string]string) (
	*Bundle, error) {
	b := &Bundle{Main: filepath.Base(main), Files: map[string][]byte{}, As: map[string]string{}}
	read := func(name string) ([]byte, error) {
		if src, ok := text[name]; ok {
			return src, nil
		}
		src, err := infile.Read(name, mostBytes)
		if err != nil {
			return nil, diag.FileError("read", name, err).OrHint("look: ls -l %s", name)
		}
		return src, nil
	}
	names := map[string]string{}
	for name, sum := range sums {
		src, err := read(name)
		if err != nil {
			return nil, err
		}
		if sha256.Sum256(src) != sum {
			return nil, diag.Errorf(diag.Run, "fleet run", name, "it changed since it was loaded").
				WithHint("ask again")
		}
		names[name] = sign.NameFor(main, name)
		b.Files[names[name]] = src
	}
	for module, name := range as {
		if short := names[name]; short != "" {
			b.As[module] = short
		}
	}
	return b, b.check()
}

// Vouch adds the signature in the file beside the script. Agents require it.
func (b *Bundle) Vouch(main string) (err error) {
	b.Signature, err = infile.Read(main+sign.Suffix, 1<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return diag.Errorf(diag.Usage, "fleet run", main,
			"nobody signed it, and agents run only signed scripts").
			WithHint("sign it: ppscript sign KEY %s; the public key goes to the signers of the agents", main)
	case err != nil:
		return diag.FileError("read", main+sign.Suffix, err).OrHint("look: ls -l %s", main+sign.Suffix)
	}
	return nil
}

// check refuses a bundle with paths that leave its directory, or with too much data, since its
// sender can be hostile.
func (b *Bundle) check() error {
	refuse := func(what, format string, args ...any) error {
		return diag.Errorf(diag.Usage, "unpack", what, format, args...).
			WithHint("a script that travels has at most %d files and %d bytes in all", mostFiles,
				mostBytes)
	}
	size := 0
	for name, src := range b.Files {
		size += len(src)
		inside := strings.TrimLeft(name, "./")
		up, _, _ := strings.Cut(name, inside)
		switch {
		case name == "" || inside == "" || strings.ContainsAny(name, "\x00\\\n\r") || len(name) > 1000:
			return refuse(name, "that is no name of a file")
		case strings.Contains(name, "//"):
		case path.IsAbs(name) || path.Clean(name) != name || !fs.ValidPath(inside) ||
			strings.Count(up, "..") > mostAbove || strings.Trim(up, "./") != "":
			return refuse(name, "it leads out of the script's tree")
		}
	}
	switch {
	case size > mostBytes || len(b.Files) > mostFiles:
		return refuse(b.Main, "got %d files of %d bytes", len(b.Files), size)
	case b.Files[b.Main] == nil || path.Base(b.Main) != b.Main || path.Ext(b.Main) != ".star":
		return refuse(b.Main, "the script itself is missing")
	}
	return nil
}

// unpack writes a bundle into a new directory, and checks that one of the signers has signed all of
// it. The caller removes the directory.
func (b *Bundle) unpack(signers string) (dir string, by sign.Key, err error) {
	if err := b.check(); err != nil {
		return "", by, err
	}
	keys, err := sign.ReadSigners(signers)
	if err != nil {
		return "", by, err
	}
	v := &sign.Vetter{Signers: keys}
	dir, err = b.write(v.Vet)
	return dir, v.By, err
}

// unpackUnsigned writes a bundle that needs no signature.
func (b *Bundle) unpackUnsigned() (dir string, err error) {
	if err := b.check(); err != nil {
		return "", err
	}
	return b.write(nil)
}

// write writes the files into a new directory, if vet permits each; nil permits
// all.
func (b *Bundle) write(vet func(name string, src []byte) error) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "ppscript-job-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	at := b.place(dir)
	main := filepath.Join(at, b.Main)
	write := func(path string, text []byte) error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
	}
	if vet == nil {
		vet = func(string, []byte) error { return nil }
	} else if err := write(main+sign.Suffix, b.Signature); err != nil {
		return dir, err
	}
	if err := vet(main, b.Files[b.Main]); err != nil {
		return dir, named(err, b.Main)
	}
	for name, src := range b.Files {
		if strings.Contains(name, "//") {
			err = vet(name, src)
		} else if path := filepath.Join(at, name); name != b.Main {
			err = vet(path, src)
		}
		if err == nil && !strings.Contains(name, "//") {
			err = write(filepath.Join(at, name), src)
		}
		if err != nil {
			return dir, named(err, name)
		}
	}
	text, err := json.Marshal(b)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, bundleFile), text, 0o600)
	}
	return dir, err
}

// named replaces the name of an unpacked file in an error by the asker's name of
// the file.
func named(err error, name string) error {
	var d *diag.Error
	if !errors.As(err, &d) {
		return err
	}
	return diag.Errorf(d.Class, d.Op, name, "%w", d.Cause).
		WithHint("have it signed as it is now, by a key that the host knows: ppscript sign KEY FILE.star")
}

// place returns the directory for the script below dir. It is nested so deep that files which the
// script loads by ../ are below dir, too.
func (b *Bundle) place(dir string) string {
	above := 0
	for name := range b.Files {
		if !strings.Contains(name, "//") {
			above = max(above, strings.Count(name, "../"))
		}
	}
	return filepath.Join(append([]string{dir, "files"}, slices.Repeat([]string{"d"}, above)...)...)
}

// OpenBundle reads an unpacked bundle. It returns the path of the script, and a function that
// resolves loads from libraries.
func OpenBundle(dir string) (main string, resolve func(module, from string) (string, []byte, error),
	err error) {
	text, err := os.ReadFile(filepath.Join(dir, bundleFile))
	var b Bundle
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return "", nil, diag.Errorf(diag.Usage, "open bundle", dir, "%w", err).
			WithHint("only agents call this: ppscript fleet run asks them")
	}
	at := b.place(dir)
	return filepath.Join(at, b.Main), func(module, _ string) (string, []byte, error) {
		name, ok := b.As[module]
		if !ok {
			name = module
		}
		src, ok := b.Files[name]
		if !ok {
			return "", nil, diag.Errorf(diag.Run, "load", module, "it did not travel with the script").
				WithHint("ask again: what a script loads must not depend on the machine")
		}
		if !strings.Contains(name, "//") {
			name = filepath.Join(at, name)
		}
		return name, src, nil
	}, nil
}
