package interpreter

import (
	"encoding/binary"
	"io"
	"regexp"
	"strings"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/result"
	"ppscript/runtime/stack/dso"
)

// This file defines the facts that are needed about a language, and functions for its readers; each
// language has a file of its own. The process runs while its memory is read, so the content may be
// anything. It is used only if the check shows that it is the object of the sample.

// A language is a language whose functions are found in stacks.
type language struct {
	name  string         // is part of the names of these files
	files *regexp.Regexp // matches names of files with its interpreter
	// carrier reads such a file; nil if its version is not supported.
	carrier func(im *dso.Image, name string) *carrier
}

var languages = []*language{python, ruby, php}

// A reader reads a function from a code object of a process; false if the object does not have that
// check.
type reader func(mem io.ReaderAt, at, check uint64) (function, bool)

// A function is a function that was read from a process.
type function interface {
	frame(mem io.ReaderAt, f interpreted.Frame) result.Frame
	bytes() int // memory of its texts and lines
}

// languageOf is the language whose interpreter is in a file, by the file's name; nil if
// there is none.
func languageOf(file string) *language {
	for _, l := range languages {
		if strings.Contains(file, l.name) && l.files.MatchString(file) {
			return l
		}
	}
	return nil
}

// unknown returns the number of the frame for functions that could not be read.
func (l *language) unknown(w *Walker) uint64 {
	return w.place(result.Frame{DSO: result.UnknownFunction(l.name)}, 0)
}

// same reports that the three pointers at an address still have that check.
func same(mem io.ReaderAt, at, check uint64) bool {
	var b [24]byte
	_, err := mem.ReadAt(b[:], int64(at))
	le := binary.LittleEndian
	return err == nil && interpreted.Check(le.Uint64(b[:]), le.Uint64(b[8:]), le.Uint64(b[16:])) == check
}

// wordAt reads a word; false if it cannot be read or is 0.
func wordAt(mem io.ReaderAt, at uint64) (uint64, bool) {
	var b [8]byte
	if _, err := mem.ReadAt(b[:], int64(at)); err != nil {
		return 0, false
	}
	v := binary.LittleEndian.Uint64(b[:])
	return v, v != 0
}

// textAt reads a text of n bytes, or its first maxText.
func textAt(mem io.ReaderAt, at, n uint64) (string, bool) {
	if n > 1<<20 {
		return "", false
	}
	b := make([]byte, min(n, maxText))
	_, err := mem.ReadAt(b, int64(at))
	return string(b), err == nil
}

// piece reads n bytes; nil if there are too many.
func piece(mem io.ReaderAt, at, n uint64) []byte {
	if n > maxLines {
		return nil
	}
	b := make([]byte, n)
	if _, err := mem.ReadAt(b, int64(at)); err != nil {
		return nil
	}
	return b
}
