package console

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"

	"ppscript/runtime/text/diag"
)

// A Problem is the JSON form of an error, written by check and test with --format
// json.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Message string `json:"message"`          // without the place
	Excerpt string `json:"excerpt,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Problems converts an error, which may consist of several joined errors, to
// problems.
func Problems(err error) []Problem {
	var list []Problem
	for _, e := range Flatten(err) {
		p := Problem{Message: e.Error(), Excerpt: ExcerptOf(e), Hint: diag.HintOf(e)}
		if at := placeOf(e); at != "" {
			p.File, p.Line, p.Column = SplitPlace(at)
			p.Message = strings.TrimPrefix(p.Message, at+": ")
		}
		list = append(list, p)
	}
	return list
}

// placeOf returns the file:line:column of the first error in the chain that has
// one.
func placeOf(err error) string {
	var e *diag.Error
	for errors.As(err, &e) {
		if e.Pos != "" {
			return e.Pos
		}
		err = e.Cause
	}
	return ""
}

// SplitPlace splits file:line:column. The file's name may contain colons.
func SplitPlace(at string) (file string, line, column int) {
	file = at
	var numbers []int
	for range 2 {
		i := strings.LastIndexByte(file, ':')
		if i < 0 {
			break
		}
		n, err := strconv.Atoi(file[i+1:])
		if err != nil {
			break
		}
		file, numbers = file[:i], append(numbers, n)
	}
	switch len(numbers) {
	case 1:
		return file, numbers[0], 0
	case 2:
		return file, numbers[1], numbers[0]
	}
	return file, 0, 0
}

// WriteJSON writes a record as one line of JSON.
func WriteJSON(w io.Writer, record any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(record)
}

// ExcerptOf returns the source line of the first error in the chain that has
// one.
func ExcerptOf(err error) string {
	var e *diag.Error
	for errors.As(err, &e) {
		if e.Excerpt != "" {
			return e.Excerpt
		}
		err = e.Cause
	}
	return ""
}

// Flatten returns the parts of a joined error, or err itself.
func Flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, Flatten(e)...)
		}
		return all
	}
	return []error{err}
}

// hintOf returns the hint of err, also for an error about too many open files.
func hintOf(err error) string {
	hint := diag.HintOf(err)
	if hint == "" && (errors.Is(err, syscall.EMFILE) ||
		strings.Contains(err.Error(), syscall.EMFILE.Error())) {
		hint = "raise the limit with: ulimit -n 4096"
	}
	return hint
}
