package resolve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// This file walks through a JSON record and replaces its frames by the frames that a
// namer returns. All other members stay in place and in order, also members of other
// versions of ppscript.

// A frame is a frame of a stack in JSON; docs/formats.md describes it.
type frame struct {
	Addr       string `json:"addr"`
	Symbol     string `json:"symbol,omitempty"`
	Offset     uint64 `json:"offset,omitempty"`
	FileOffset uint64 `json:"file_offset,omitempty"`
	DSO        string `json:"dso,omitempty"`
	BuildID    string `json:"build_id,omitempty"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Inline     bool   `json:"inline,omitempty"`
	Kernel     bool   `json:"kernel,omitempty"`
}

// A namer returns the named frames for one frame, several if functions are inlined.
// inner is the frame that f called, nil if f is the innermost.
type namer func(f, inner *frame) []frame

// errDeep is the error for a record that is nested deeper than any record of
// ppscript.
var errDeep = errors.New("nested too deeply")

const mostDeep = 32

// rewrite appends a JSON value to dst, with the frames in it named. deep is the
// depth of nesting so far.
func rewrite(dst []byte, value json.RawMessage, name namer, deep int) ([]byte, error) {
	if deep > mostDeep {
		return dst, errDeep
	}
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return dst, errors.New("nothing where a value should be")
	}
	// Fast path: a value without "file_offset" has no frames to name.
	if value[0] != '{' && value[0] != '[' || !bytes.Contains(value, []byte(`"file_offset"`)) {
		return append(dst, value...), nil
	}
	if value[0] == '[' {
		return rewriteList(dst, value, name, deep)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for first := true; d.More(); first = false {
		key, err := d.Token()
		if err != nil {
			return dst, err
		}
		text, ok := key.(string)
		if !ok {
			return dst, fmt.Errorf("got %v as a name", key)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return dst, err
		}
		if !first {
			dst = append(dst, ',')
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, quoted...), ':')
		if dst, err = rewrite(dst, raw, name, deep+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func rewriteList(dst []byte, value json.RawMessage, name namer, deep int) ([]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	more := false
	add := func() {
		if more {
			dst = append(dst, ',')
		}
		more = true
	}
	var inner *frame
	for _, raw := range list {
		f, is := frameOf(raw)
		if !is {
			inner = nil
			add()
			var err error
			if dst, err = rewrite(dst, raw, name, deep+1); err != nil {
				return dst, err
			}
			continue
		}
		if f.Symbol != "" || f.BuildID == "" {
			add()
			dst = append(dst, bytes.TrimSpace(raw)...)
		} else {
			for _, named := range name(&f, inner) {
				add()
				dst = named.append(dst)
			}
		}
		inner = &f
	}
	return append(dst, ']'), nil
}

// frameOf parses a frame; is is false if the value is not a frame.
func frameOf(raw json.RawMessage) (f frame, is bool) {
	// "addr" as the first member distinguishes a frame from a value that
	// contains frames.
	if raw = bytes.TrimSpace(raw); !bytes.HasPrefix(raw, []byte(`{"addr":"0x`)) {
		return f, false
	}
	return f, json.Unmarshal(raw, &f) == nil
}

// append appends a frame as JSON, with the same members in the same order as a run
// writes them.
func (f *frame) append(dst []byte) []byte {
	text := func(name, value string) {
		if value == "" {
			return
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(value) // a string: it cannot fail
		dst = append(append(append(dst, ',', '"'), name+`":`...), bytes.TrimSpace(b.Bytes())...)
	}
	dst = fmt.Appendf(dst, `{"addr":%q`, f.Addr)
	text("symbol", f.Symbol)
	if f.Symbol != "" {
		dst = fmt.Appendf(dst, `,"offset":%d`, f.Offset)
	} else if f.BuildID != "" {
		dst = fmt.Appendf(dst, `,"file_offset":%d`, f.FileOffset)
	}
	text("dso", f.DSO)
	text("build_id", f.BuildID)
	text("file", f.File)
	if f.File != "" {
		dst = fmt.Appendf(dst, `,"line":%d`, f.Line)
	}
	if f.Inline {
		dst = append(dst, `,"inline":true`...)
	}
	return append(dst, '}')
}
