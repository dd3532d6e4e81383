package render

import (
	"bufio"
	"bytes"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// This file writes and reads folded stacks, the text format that tools for
// flame graphs exchange: a line for each stack, the outermost frame first, and
// the number of its samples.
//
//	comm;main;work;page_fault 12
//
// The last blank of a line precedes the count, so names may contain blanks. A ;
// inside a name would end it, and is written as :, like in other tools. Bytes of
// invisible characters are written as \x0a, the backslash as \x5c.

// appendFolded appends an escaped name.
func appendFolded(dst []byte, name string) []byte {
	if name == "" {
		return append(dst, result.Unknown...)
	}
	for i, r := range name {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, n = utf8.DecodeRuneInString(name[i:])
		}
		if r == ';' {
			dst = append(dst, ':')
			continue
		}
		if r != '\\' && unicode.IsGraphic(r) && (r == ' ' || !unicode.IsSpace(r)) &&
			(r != utf8.RuneError || n > 1) {
			dst = append(dst, name[i:i+n]...)
			continue
		}
		for _, c := range []byte(name[i : i+n]) {
			dst = append(dst, '\\', 'x', plain.Hex[c>>4], plain.Hex[c&15])
		}
	}
	return dst
}

// AppendFolded appends the samples as folded stacks. Equal lines are added up,
// and lines are sorted. If start is not zero, each line begins with
// "2006-01-02;15:04:05;": the begin of the period.
func AppendFolded(dst []byte, s *result.Stacks, start time.Time) []byte {
	sums := map[string]int64{}
	var line []byte
	for i := range s.Samples {
		line = appendFoldedPath(line[:0], s, &s.Samples[i])
		sums[string(line)] += s.Weight(&s.Samples[i])
	}
	lines := make([]string, 0, len(sums))
	for l := range sums {
		lines = append(lines, l)
	}
	sort.Strings(lines)
	for _, l := range lines {
		if !start.IsZero() {
			dst = start.AppendFormat(dst, "2006-01-02;15:04:05;")
		}
		dst = strconv.AppendInt(append(append(dst, l...), ' '), sums[l], 10)
		dst = append(dst, '\n')
	}
	return dst
}

// appendFoldedPath appends the keys and frames of a sample.
func appendFoldedPath(dst []byte, s *result.Stacks, x *result.StackSample) []byte {
	for i, name := range pathOf(s, x) {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = appendFolded(dst, name)
	}
	return dst
}

// pathOf returns the names of a sample, outermost first: its keys, then its
// frames.
func pathOf(s *result.Stacks, x *result.StackSample) []string {
	names := keyNames(s, x)
	for i := len(x.Frames) - 1; i >= 0; i-- {
		names = append(names, x.Frames[i].Name())
	}
	return names
}

// keyNames returns the keys of a sample as names of frames; they are the outermost
// frames of pictures.
func keyNames(s *result.Stacks, x *result.StackSample) []string {
	names := make([]string, 0, len(x.Key)+len(x.Frames))
	for k, v := range x.Key {
		name := v.String()
		if k < len(s.Keys) {
			var o lineOptions
			name = strings.TrimSpace(string(appendCell(nil, &s.Keys[k], v, event.Value{}, &o)))
			if v.Numeric() {
				name = s.Keys[k].Name + "=" + name
			}
		}
		names = append(names, name)
	}
	return names
}

// maxFoldedLine bounds a line of folded text, in bytes.
const maxFoldedLine = 1 << 20

// ParseFolded reads folded stacks, also of other tools, whose names may contain
// blanks. Time stamps at the begin of lines become outermost frames like the
// name of the process.
func ParseFolded(r io.Reader) (*result.Stacks, error) {
	s := &result.Stacks{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxFoldedLine)
	n := 0
	for in.Scan() {
		n++
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		at := bytes.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, foldedError(n, "no count after the stack")
		}
		count, err := strconv.ParseUint(string(line[at+1:]), 10, 62)
		if err != nil {
			return nil, foldedError(n, "count: got "+strconv.Quote(string(line[at+1:]))+", want a number")
		}
		path := strings.Split(string(bytes.TrimSpace(line[:at])), ";")
		x := result.StackSample{PID: -1, Count: count}
		for i := len(path) - 1; i >= 0; i-- {
			x.Frames = append(x.Frames, &result.Frame{Symbol: unfold(path[i])})
		}
		s.Samples = append(s.Samples, x)
	}
	if err := in.Err(); err != nil {
		return nil, foldedError(n+1, err.Error())
	}
	return s, nil
}

func foldedError(line int, cause string) error {
	return diag.Errorf(diag.Run, "line", strconv.Itoa(line), "%s", cause).
		WithHint("give a file with lines such as: comm;main;work 12")
}

// unfold undoes appendFolded.
func unfold(name string) string {
	if !strings.Contains(name, `\x`) {
		return name
	}
	var b []byte
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) && name[i+1] == 'x' {
			if v, err := strconv.ParseUint(name[i+2:i+4], 16, 8); err == nil {
				b = append(b, byte(v))
				i += 3
				continue
			}
		}
		b = append(b, name[i])
	}
	return string(b)
}
