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

// This file says what has to be known of a language, a file of its own for each, and has what their
// readers share. The process goes on while its memory is read: what is read may be anything, and counts
// only if it is the object of the sample.

// A language is one whose functions are known in stacks.
type language struct {
	name  string         // is in all of these:
	files *regexp.Regexp // names of files that have its interpreter
	// carrier looks at such a file; nil if it is of no version that is known.
	carrier func(im *dso.Image, name string) *carrier
}

var languages = []*language{python, ruby, php}

// A reader reads a function from the code object of a process; false if it is not, or no longer, the one
// with that check.
type reader func(mem io.ReaderAt, at, check uint64) (function, bool)

// A function is one that was read.
type function interface {
	frame(mem io.ReaderAt, f interpreted.Frame) result.Frame
	bytes() int // of its texts and lines
}

// languageOf is the language whose interpreter a file has, by its name; nil if it has none.
func languageOf(file string) *language {
	for _, l := range languages {
		if strings.Contains(file, l.name) && l.files.MatchString(file) {
			return l
		}
	}
	return nil
}

// unknown is the number of the frame of functions that could not be read.
func (l *language) unknown(w *Walker) uint64 {
	return w.place(result.Frame{DSO: result.UnknownFunction(l.name)}, 0)
}

// same reports that the three pointers there still have that check.
func same(mem io.ReaderAt, at, check uint64) bool {
	var b [24]byte
	_, err := mem.ReadAt(b[:], int64(at))
	le := binary.LittleEndian
	return err == nil && interpreted.Check(le.Uint64(b[:]), le.Uint64(b[8:]), le.Uint64(b[16:])) == check
}

// wordAt reads a word; false if it cannot be read, or is 0.
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
