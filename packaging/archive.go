package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// nfpm is the program that makes .deb and .rpm packages, with its version.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// tarball writes a tar file with the files for an architecture, at their paths
// below /.
func (d *distribution) tarball(arch, name string, files []file) error {
	var packed []file
	for _, f := range files {
		packed = append(packed, file{d.base(arch, name) + f.Path, f.Source, f.Mode})
	}
	b, err := d.tar(packed)
	if err != nil {
		return err
	}
	return os.WriteFile(d.path(d.base(arch, name)+".tar.gz"), squeezed(b), 0o644)
}

// tree installs the files for an architecture below the output directory, with the prefix in place
// of /usr.
func (d *distribution) tree(files []file) error {
	for _, f := range files {
		path := filepath.Join(d.out, d.prefix, strings.TrimPrefix(f.Path, "/usr"))
		text, err := os.ReadFile(f.Source)
		if err != nil {
			return err
		}
		// The kernel refuses to write to a running program, but a new file can
		// replace it.
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path+".new", text, f.Mode)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			return err
		}
	}
	say("installed %d files below %s", len(files), filepath.Join(d.out, d.prefix))
	return nil
}

// tar packs files and their directories.
func (d *distribution) tar(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	seen := map[string]bool{}
	for _, f := range files {
		path := strings.TrimPrefix(f.Path, "/")
		for i, c := range path {
			if c == '/' && !seen[path[:i]] {
				seen[path[:i]] = true
				err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path[:i] + "/", Mode: 0o755,
					ModTime: d.time, Format: tar.FormatPAX})
				if err != nil {
					return nil, err
				}
			}
		}
		text, err := os.ReadFile(f.Source)
		if err != nil {
			return nil, err
		}
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: int64(f.Mode),
			Size: int64(len(text)), ModTime: d.time, Format: tar.FormatPAX})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// descriptions has the descriptions of packages, by name.
var descriptions = map[string]string{
	"ppscript": `Scripts that observe the Linux kernel
  ppscript makes the kernel's events scriptable: a script says what to
  observe and how events relate, compiled code does what happens per event.`,
	hubName: `The server at which a fleet's hosts and askers meet
  ppscript hub runs this program. Only the host of a hub needs it.`,
}

// packed makes a .deb or an .rpm package.
func (d *distribution) packed(arch, kind, name string, files []file) error {
	var c strings.Builder
	depends := ""
	if name == hubName {
		depends = "depends: [ppscript]\n"
	}
	fmt.Fprintf(&c, `name: %s
arch: %s
platform: linux
version: %q
version_schema: none
release: "1"
section: utils
priority: optional
maintainer: The ppscript authors <ppscript@localhost>
description: |-
  %s
license: Apache-2.0
mtime: %q
rpm:
  buildhost: localhost
%scontents:
`, name, arch, d.version, descriptions[name], d.time.Format("2006-01-02T15:04:05Z"), depends)
	for _, f := range files {
		source, err := filepath.Abs(f.Source)
		if err != nil {
			return err
		}
		fmt.Fprintf(&c, "  - src: %q\n    dst: %q\n    file_info: {mode: 0%o, mtime: %q}\n", source, f.Path,
			f.Mode, d.time.Format("2006-01-02T15:04:05Z"))
	}
	config := filepath.Join(d.work, "nfpm-"+name+"-"+arch+".yaml")
	if err := os.WriteFile(config, []byte(c.String()), 0o644); err != nil {
		return err
	}
	say("packing the %s of %s for %s", kind, name, arch)
	cmd := exec.Command("go", "run", nfpm, "package", "-f", config, "-p", kind, "-t",
		d.path(d.base(arch, name)+"."+kind))
	cmd.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", d.time.Unix()))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nfpm %s: %w\n%s", kind, err, text)
	}
	return nil
}

// sums writes the hash of each file, in the form for sha256sum -c.
func (d *distribution) sums() error {
	entries, err := os.ReadDir(d.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		if e.IsDir() || !strings.Contains(e.Name(), "-"+d.version) {
			continue
		}
		b, err := os.ReadFile(d.path(e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(b), e.Name()))
	}
	slices.Sort(lines)
	return os.WriteFile(d.path("SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
