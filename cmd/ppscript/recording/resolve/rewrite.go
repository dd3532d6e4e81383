package resolve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// This file walks through a record of JSON and gives its frames to the namer. All else stays
// as it is, in its order: what another version wrote is not lost.

// A frame is one as docs/formats.md has it.
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

// A namer has the frames of one; inner is the one that it called, nil for the innermost.
type namer func(f, inner *frame) []frame

// errDeep is the reason when a record is nested as none of ours is.
var errDeep = errors.New("nested too deeply")

const mostDeep = 32

// rewrite appends a value with its frames named.
func rewrite(dst []byte, value json.RawMessage, name namer, deep int) ([]byte, error) {
	if deep > mostDeep {
		return dst, errDeep
	}
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return dst, errors.New("nothing where a value should be")
	}
	// Few parts of a record have frames, and these have addresses.
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

// frameOf reads a frame; false if the value is none.
func frameOf(raw json.RawMessage) (f frame, is bool) {
	// Their first member tells them from what has frames inside.
	if raw = bytes.TrimSpace(raw); !bytes.HasPrefix(raw, []byte(`{"addr":"0x`)) {
		return f, false
	}
	return f, json.Unmarshal(raw, &f) == nil
}

// append appends a frame with the members that a run would have written, in their order.
func (f *frame) append(dst []byte) []byte {
	text := func(name, value string) {
		if value == "" {
			return
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(value) // a text
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
