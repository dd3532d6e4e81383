package main

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"ppscript/runtime/diag"
)

// A problem is an error as programs read it: of check and test, with --format json.
type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Message string `json:"message"`          // without the place
	Excerpt string `json:"excerpt,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// problemsOf lists the problems of an error, which may be several joined ones.
func problemsOf(err error) []problem {
	var list []problem
	for _, e := range flatten(err) {
		p := problem{Message: e.Error(), Excerpt: excerptOf(e), Hint: diag.HintOf(e)}
		if at := placeOf(e); at != "" {
			p.File, p.Line, p.Column = splitPlace(at)
			p.Message = strings.TrimPrefix(p.Message, at+": ")
		}
		list = append(list, p)
	}
	return list
}

// placeOf is the file:line:column of the first error in the chain that has one.
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

// splitPlace takes file:line:column apart; a file's name may have colons.
func splitPlace(at string) (file string, line, column int) {
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

// writeJSON writes a record, a line of its own.
func writeJSON(w io.Writer, record any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(record)
}
