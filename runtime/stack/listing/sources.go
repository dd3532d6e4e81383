package listing

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/plain"
)

// mostSource bounds a source file in bytes, mostSources the number of files
// that are kept.
const (
	mostSource  = 16 << 20
	mostSources = 64
)

// Sources finds the source files of programs.
type Sources struct {
	// Dirs are directories with the tree of files from the compilation: for /build/src/a.c, a
	// directory may have src/a.c or a.c. They are searched before the path recorded in the program.
	Dirs  []string
	files map[string][]string // lines of files by the path in the program; nil if a file cannot be read
}

// Line is the text of a line of a file, "" if it is not found. Lines count from 1.
func (s *Sources) Line(path string, line int) string {
	lines, known := s.files[path]
	if !known {
		lines = s.read(path)
		if s.files == nil || len(s.files) >= mostSources {
			s.files = map[string][]string{}
		}
		s.files[path] = lines
	}
	if line < 1 || line > len(lines) {
		return ""
	}
	return lines[line-1]
}

// read reads the lines of a file from the first directory that has it.
func (s *Sources) read(path string) []string {
	var places []string
	for _, dir := range s.Dirs {
		for rest := strings.TrimPrefix(path, "/"); rest != ""; {
			places = append(places, filepath.Join(dir, filepath.Clean("/"+rest)))
			_, after, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = after
		}
	}
	if filepath.IsAbs(path) {
		places = append(places, path)
	}
	for _, p := range places {
		if lines := readLines(p); lines != nil {
			return lines
		}
	}
	return nil
}

func readLines(path string) []string {
	f, err := infile.Open(path, mostSource)
	if err != nil {
		return nil
	}
	defer f.Close()
	var b bytes.Buffer
	// Only a regular file is read: reading a pipe would wait.
	if !f.Regular() || f.CopyTo(context.Background(), &b) != nil {
		return nil
	}
	text := strings.Split(b.String(), "\n")
	for i := range text {
		text[i] = plain.Line(strings.ReplaceAll(strings.TrimRight(text[i], "\r"), "\t", "    "))
	}
	return text
}
