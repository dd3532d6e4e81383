package eventtext

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

var le = binary.LittleEndian

// blank makes the raw data of an event without values: the common fields,
// zeros, and empty dynamic texts.
func (s *schema) blank(id int, tid int32) []byte {
	raw := make([]byte, s.size)
	le.PutUint16(raw, uint16(id))
	le.PutUint32(raw[4:], uint32(tid)) // common_pid, which is a thread's number
	for i := range s.fields {
		if f := &s.fields[i]; f.dynamic {
			raw = f.place(raw, "")
		}
	}
	return raw
}

// place appends a dynamic text and sets the field to its offset and length.
func (f *field) place(raw []byte, text string) []byte {
	le.PutUint32(raw[f.offset:], uint32(len(text)+1)<<16|uint32(len(raw)))
	return append(append(raw, text...), 0)
}

// set writes field=value.
func (s *schema) set(raw []byte, word string) ([]byte, error) {
	name, text, ok := strings.Cut(word, "=")
	if !ok {
		return nil, fmt.Errorf("got %s, want field=value", word)
	}
	f, known := s.find(name)
	if !known {
		var names []string
		for i := range s.fields {
			names = append(names, s.fields[i].name)
		}
		return nil, fmt.Errorf("event %s: no field %s%s", s.name, name, diag.DidYouMean(name, names))
	}
	if f.text {
		if strings.HasPrefix(text, `"`) {
			u, err := strconv.Unquote(text)
			if err != nil || strings.ContainsRune(u, 0) {
				return nil, fmt.Errorf("%s: got %s, want a text", name, text)
			}
			text = u
		}
		if f.dynamic {
			if len(text) >= maxText || len(raw)+len(text) > 1<<15 {
				return nil, fmt.Errorf("%s: longer than %d bytes", name, maxText-1)
			}
			return f.place(raw, text), nil
		}
		if len(text) > f.size {
			return nil, fmt.Errorf("%s: longer than %d bytes", name, f.size)
		}
		b := raw[f.offset : f.offset+f.size]
		clear(b)
		copy(b, text)
		return raw, nil
	}
	parts := []string{text}
	if f.count > 1 {
		parts = strings.Split(text, ",")
	}
	if len(parts) > f.count {
		return nil, fmt.Errorf("%s: got %d numbers, want at most %d", name, len(parts), f.count)
	}
	for i, p := range parts {
		if err := f.number(raw[f.offset+i*f.size:][:f.size], p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return raw, nil
}

// number stores one number; a duration is stored in nanoseconds.
func (f *field) number(b []byte, text string) error {
	var bits uint64
	n, err := strconv.ParseInt(text, 0, 64)
	bits = uint64(n)
	if err != nil && !f.signed {
		bits, err = strconv.ParseUint(text, 0, 64)
		n = int64(bits)
	} else if n < 0 && !f.signed {
		return fmt.Errorf("got %s, want at least 0", text)
	}
	if err != nil && f.size == 8 {
		n, err = unit.ParseDuration(text, 1)
		bits = uint64(n)
	}
	if err != nil {
		return fmt.Errorf("got %s, want a number", text)
	}
	if w := 8 * f.size; w < 64 {
		if f.signed && (n < -1<<(w-1) || n >= 1<<(w-1)) || !f.signed && bits >= 1<<w {
			return fmt.Errorf("%s does not fit %s", text, f.typ)
		}
	}
	var all [8]byte
	le.PutUint64(all[:], bits)
	copy(b, all[:])
	return nil
}

// format returns the schema in the form of the kernel's format files.
func (s *schema) format(id int) string {
	var w, print, args strings.Builder
	fmt.Fprintf(&w, "name: %s\nID: %d\nformat:\n", s.name, id)
	line := func(decl string, offset, size int, signed bool) {
		sign := 0
		if signed {
			sign = 1
		}
		fmt.Fprintf(&w, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", decl, offset, size, sign)
	}
	line("unsigned short common_type", 0, 2, false)
	line("unsigned char common_flags", 2, 1, false)
	line("unsigned char common_preempt_count", 3, 1, false)
	line("int common_pid", 4, 4, true)
	w.WriteString("\n")
	for i := range s.fields {
		f := &s.fields[i]
		decl, verb, arg := f.declaration()
		line(decl, f.offset, f.size*f.count, f.signed)
		if verb != "" {
			fmt.Fprintf(&print, " %s=%s", f.name, verb)
			args.WriteString(", " + arg)
		}
	}
	fmt.Fprintf(&w, "\nprint fmt: \"%s\"%s\n", strings.TrimPrefix(print.String(), " "), args.String())
	return w.String()
}

func (f *field) declaration() (decl, verb, arg string) {
	typ := map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}[f.size]
	if !f.signed {
		typ = "unsigned " + typ
	}
	switch {
	case f.dynamic:
		return "__data_loc char[] " + f.name, "%s", "__get_str(" + f.name + ")"
	case f.text:
		return fmt.Sprintf("char %s[%d]", f.name, f.size), "%s", "REC->" + f.name
	case f.count > 1:
		return fmt.Sprintf("%s %s[%d]", typ, f.name, f.count), "", ""
	case f.size == 1 && f.signed:
		return "signed char " + f.name, "%d", "REC->" + f.name
	case f.size == 8 && f.signed:
		return typ + " " + f.name, "%ld", "REC->" + f.name
	case f.size == 8:
		return typ + " " + f.name, "%lu", "REC->" + f.name
	case f.signed:
		return typ + " " + f.name, "%d", "REC->" + f.name
	}
	return typ + " " + f.name, "%u", "REC->" + f.name
}
