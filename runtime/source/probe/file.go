package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// This file finds the files that specs name.

// libraryDirs are searched for libraries given by name only.
var libraryDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
}

// open finds and reads the file of s. path is passed to the kernel, shown is
// for messages.
func (r *Resolver) open(s *Spec) (m *image, path, shown string, err error) {
	rights := r.rights(s)
	privilege.Raise(rights, func() { path, err = r.path(s) })
	if err != nil {
		return nil, "", "", err
	}
	shown = s.File
	if shown == "" {
		shown = fmt.Sprintf("the program of process %d", s.PID)
	}
	if m := r.images[path]; m != nil {
		return m, path, shown, nil
	}
	fail := func(cause error, hint string, args ...any) error {
		return (&diag.Error{
			Op: "open " + s.Kind.String(), Subject: s.in(shown), Class: diag.Attach, Cause: cause,
		}).WithHint(hint, args...)
	}
	// The type of the file is checked on the opened file, and a pipe is never opened.
	var f *os.File
	privilege.Raise(rights, func() { f, err = (*dso.Root)(nil).Open(path) })
	switch {
	case errors.Is(err, dso.ErrIrregular):
		return nil, "", "", fail(dso.ErrIrregular, "name the program or library itself")
	case errors.Is(err, fs.ErrPermission):
		return nil, "", "", fail(diag.Reason(err), "run as root, or as a user who may read the file")
	case err != nil:
		return nil, "", "", fail(diag.Reason(err), "see whether it is there with: ls -l %s", path)
	}
	// The image reads from the file later, so the file stays open as long as
	// the Resolver.
	info, err := f.Stat()
	if err == nil {
		m, err = openImage(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, "", "", fail(fmt.Errorf("not an ELF file: %w", err),
			"name the program itself, not a script: file %s", path)
	}
	m.path, m.file = path, f
	if r.images == nil {
		r.images = map[string]*image{}
	}
	r.images[path] = m
	return m, path, shown, nil
}

// Close closes the files that were read.
func (r *Resolver) Close() error {
	errs := []error{r.core.close()}
	for _, m := range r.images {
		errs = append(errs, m.file.Close(), m.signatures.Close())
	}
	r.images = nil
	return errors.Join(errs...)
}

// rights returns the rights, in addition to the caller's own, with which the
// file of s is found. The program of a running process may be read anywhere. A
// path that the caller chose is read with the caller's rights only.
func (r *Resolver) rights(s *Spec) privilege.Set {
	switch {
	case s.File == "":
		return privilege.Programs
	case s.PID > 0:
		return privilege.Processes
	}
	return 0
}

// path returns a path under which this process can open the file of s.
func (r *Resolver) path(s *Spec) (string, error) {
	root := ""
	if s.PID == 0 && s.File == "" {
		s.PID = r.PID
	}
	if s.PID > 0 {
		proc := fmt.Sprintf("%s/%d", r.proc(), s.PID)
		if _, err := os.Stat(proc); err != nil {
			return "", diag.Errorf(diag.Attach, "open "+s.Kind.String(), s.Name, "no process %d", s.PID).
				WithHint("see processes with: ps -e")
		}
		if s.File == "" {
			return proc + "/exe", nil // works even if the file was deleted
		}
		root = proc + "/root"
	}
	if s.File == "" {
		return "", diag.Errorf(diag.Usage, "open "+s.Kind.String(), s.Name, "no file given").
			WithHint("name the file, as in %s, or the process with pid = N", examples[s.Kind])
	}
	if strings.Contains(s.File, "/") {
		if root == "" {
			return filepath.Abs(s.File)
		}
		return inRoot(root, s.File), nil
	}
	if s.PID > 0 {
		if p := r.mapped(s.PID, s.File); p != "" {
			return inRoot(root, p), nil
		}
	}
	for _, dir := range append(strings.Split(os.Getenv("PATH"), ":"), libraryDirs...) {
		for _, name := range []string{s.File, s.File + ".so", s.File + ".so.[0-9]*"} {
			found, err := filepath.Glob(root + filepath.Join("/", dir, name))
			if err != nil {
				continue
			}
			for _, p := range found {
				if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && isELF(p) {
					return p, nil
				}
			}
		}
	}
	return "", diag.Errorf(diag.Attach, "open "+s.Kind.String(), s.Name,
		"no program or library %s is found", s.File).
		WithHint("give the path of the file")
}

// isELF reports that a file is a program or library, not a script, nor one of
// the linker scripts in the directories of libraries.
func isELF(path string) bool {
	f, err := (*dso.Root)(nil).Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = f.ReadAt(magic[:], 0)
	return err == nil && string(magic[:]) == "\x7fELF"
}

// mapped returns the path of a library in a process by its short name: "libc"
// is libc.so.6 or libc-2.31.so.
func (r *Resolver) mapped(pid int, name string) string {
	f, err := os.Open(fmt.Sprintf("%s/%d/maps", r.proc(), pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		parts := strings.SplitN(in.Text(), "/", 2)
		if len(parts) < 2 {
			continue
		}
		path := "/" + strings.TrimSuffix(parts[1], " (deleted)")
		base := filepath.Base(path)
		if base == name || strings.HasPrefix(base, name+".so") || strings.HasPrefix(base, name+"-") {
			return path
		}
	}
	return ""
}

// maxLinks bounds the symbolic links of one path.
const maxLinks = 40

// inRoot returns the path of file below root. Symbolic links are followed here,
// since the target of an absolute link is below root, too.
func inRoot(root, file string) string {
	rest := strings.Split(filepath.Clean("/"+file), "/")
	at, links := "", 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir("/" + at)
			if at == "/" {
				at = ""
			}
			continue
		}
		next := at + "/" + part
		target, err := os.Readlink(root + next)
		if err != nil || links >= maxLinks {
			at = next
			continue
		}
		links++
		if strings.HasPrefix(target, "/") {
			at = ""
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return root + at
}

// in names the probe and the file in errors.
func (s *Spec) in(file string) string {
	if s.Name == "" {
		return "probes of " + file
	}
	return s.Name + " in " + file
}
