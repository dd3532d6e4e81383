package main

import (
	"bytes"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// commit reads the version and its time from git, unless -version and
// $SOURCE_DATE_EPOCH give them.
func (d *distribution) commit() error {
	seconds, err := os.Getenv("SOURCE_DATE_EPOCH"), error(nil)
	if seconds == "" {
		if seconds, err = output("git", "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}
	d.time = time.Unix(n, 0).UTC()
	if d.version != "" {
		return nil
	}
	if tag, err := output("git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		d.version = strings.TrimPrefix(tag, "v")
		return nil
	}
	revision, err := output("git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return err
	}
	// A tilde sorts before everything, so that a released version is newer than
	// this.
	d.version = fmt.Sprintf("0~%s.%s", d.time.Format("20060102150405"), revision)
	return nil
}

// mended is the oldest Go version without the known vulnerabilities that `make vulnerable` reports
// for ppscript; see docs/security.md.
const mended = "go1.26.10"

// warning returns a warning if a Go version has known vulnerabilities, else "".
func warning(goVersion string) string {
	if !version.IsValid(goVersion) || version.Compare(goVersion, mended) >= 0 {
		return ""
	}
	return "warning: the library of " + goVersion + " has known faults, which these files will have; " +
		"a newer Go mends them: GOTOOLCHAIN=" + mended + " make dist"
}

// warn prints the warning for the Go version that is used.
func warn() {
	if v, err := output("go", "env", "GOVERSION"); err == nil {
		if text := warning(v); text != "" {
			say("%s", text)
		}
	}
}

// build compiles ppscript for arch with a build tag, or "" for none, and returns the
// path of the executable.
func (d *distribution) build(arch, tag string) (string, error) {
	if d.program != "" {
		return filepath.Abs(d.program)
	}
	name := "ppscript"
	if tag == "" {
		name = hubName
	}
	say("building %s for %s", name, arch)
	program := filepath.Join(d.work, name+"-"+arch)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-tags", tag, "-ldflags=-s -w",
		"-o", program, "./cmd/ppscript")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %s: %w\n%s", arch, err, text)
	}
	return program, nil
}

// shared returns the files that are the same for all architectures.
func (d *distribution) shared(programs map[string]string) ([]file, error) {
	here := programs[runtime.GOARCH]
	if here == "" {
		return nil, fmt.Errorf("manual pages are made by the program of this machine: pack for %s as well",
			runtime.GOARCH)
	}
	say("writing manual pages and completions")
	files, err := d.manuals(here)
	if err != nil {
		return nil, err
	}
	for shell, path := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/ppscript",
		"zsh":  "/usr/share/zsh/site-functions/_ppscript",
		"fish": "/usr/share/fish/vendor_completions.d/ppscript.fish",
	} {
		text, err := output(here, "completion", shell)
		if err != nil {
			return nil, err
		}
		f, err := d.written(path, []byte(text+"\n"))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	for from, to := range map[string]string{
		"LICENSE":   "/usr/share/doc/ppscript/copyright",
		"README.md": "/usr/share/doc/ppscript/README.md",
	} {
		files = append(files, file{to, from, 0o644})
	}
	for folder, to := range map[string]string{
		"docs":              "/usr/share/doc/ppscript",
		"packaging/systemd": "/usr/lib/systemd/system",
	} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			switch ext := filepath.Ext(path); {
			case err != nil || e.IsDir():
				return err
			case path == "docs/README.md":
				files = append(files, file{to + "/book.md", path, 0o644})
			case ext == ".md" || ext == ".service" || ext == ".socket":
				files = append(files, file{to + "/" + filepath.Base(path), path, 0o644})
			case ext == ".svg":
				files = append(files, file{to + "/pictures/" + filepath.Base(path), path, 0o644})
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	return files, nil
}

// written writes text into a work file, to be packed at path.
func (d *distribution) written(path string, text []byte) (file, error) {
	source := filepath.Join(d.work, strings.ReplaceAll(path, "/", "_"))
	return file{path, source, 0o644}, os.WriteFile(source, text, 0o644)
}

// squeezed compresses text. The result has no time stamp, so that the bytes are reproducible. The
// best level would take seven times as long and save one percent.
func squeezed(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.Bytes()
}

// output returns the output of a command, without the last newline.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = io.Writer(&errs)
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err,
			errs.String())
	}
	return strings.TrimRight(string(text), "\n"), nil
}
