package walk

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// This file reads the tables of a program that will be started, and of the libraries that it will
// map, so that its first stacks need only its mappings. It guesses where the dynamic linker will
// find a library; tables that are missing are read when a program asks for them.

// libraryDirs lists the directories that are searched for libraries, after the directories
// that a program names.
var libraryDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
	"/usr/local/lib",
}

// maxLibraries bounds the libraries that are read for a program.
const maxLibraries = 256

// program reads the tables of a program and its libraries, until the time end.
func (l *Loader) program(path string, end time.Time) {
	path, err := exec.LookPath(path)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	dirs := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	for queue := []string{path}; len(queue) > 0 && len(seen) < maxLibraries && time.Now().Before(end); {
		path, queue = queue[0], queue[1:]
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		f, err := l.files.Open(nil, path)
		if err != nil {
			continue
		}
		l.tables.file(l.files, f, &l.full)
		queue = append(queue, needed(path, dirs)...)
	}
}

// needed lists the libraries and the dynamic linker that a program names, if they exist.
func needed(path string, dirs []string) (paths []string) {
	file, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err == nil {
				paths = append(paths, strings.TrimRight(string(name), "\x00"))
			}
		}
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		lists, _ := file.DynString(tag)
		for _, list := range lists {
			for _, dir := range filepath.SplitList(list) {
				dirs = append(dirs, strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}",
					filepath.Dir(path)).Replace(dir))
			}
		}
	}
	names, _ := file.ImportedLibraries()
	for _, name := range names {
		for _, dir := range append(dirs, libraryDirs...) {
			at := filepath.Join(dir, name)
			if _, err := os.Stat(at); err == nil {
				paths = append(paths, at)
				break
			}
		}
	}
	return paths
}
