package sshlink

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"

	"ppscript/runtime/text/diag"
)

// A program is an executable to copy: this one, or one for another
// architecture.
type program struct {
	path string
	size int64
	hash string // SHA-256 of the file
}

// machines has the names of architectures in uname and in Go.
var machines = map[elf.Machine][2]string{
	elf.EM_X86_64: {"x86_64", "amd64"}, elf.EM_AARCH64: {"aarch64", "arm64"},
}

// readProgram reads an executable and returns the machine that it is for. path may be
// /proc/self/exe, even if the file was deleted.
func readProgram(path string) (machine string, p *program, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, diag.FileError("copy", path, err).
			OrHint("give a ppscript that was built for those hosts")
	}
	defer f.Close()
	refuse := func(format string, args ...any) error {
		return diag.Errorf(diag.Usage, "copy", path, format, args...).
			WithHint("give a ppscript for Linux on amd64 or arm64, such as: GOARCH=arm64 make build")
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return "", nil, refuse("it is no program for Linux: %w", err)
	}
	names, ok := machines[e.Machine]
	if !ok {
		return "", nil, refuse("it is for %s", e.Machine)
	}
	all := sha256.New()
	p = &program{path: path}
	if p.size, err = f.WriteTo(all); err != nil {
		return "", nil, diag.FileError("copy", path, err).OrHint("look: ls -l %s", path)
	}
	p.hash = hex.EncodeToString(all.Sum(nil))
	return names[0], p, nil
}

// goName returns Go's name for a machine name of uname.
func goName(machine string) string {
	for _, names := range machines {
		if names[0] == machine {
			return names[1]
		}
	}
	return machine
}

// RemoveSelf removes the executable of this process and the directory dir, if the executable is in
// dir: then it is a copy for one run. The running process keeps the file's content.
func RemoveSelf(dir string) error {
	path, err := os.Executable()
	if err != nil || filepath.Dir(path) != filepath.Clean(dir) {
		return nil // not a copy for one run
	}
	if err := os.Remove(path); err != nil {
		return diag.FileError("remove", path, err).OrHint("remove it: rm -r %s", dir)
	}
	if err := os.Remove(dir); err != nil {
		return diag.FileError("remove", dir, err).OrHint("remove it: rm -r %s", dir)
	}
	return nil
}
