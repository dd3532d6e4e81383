package tracefs

import (
	"fmt"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// perfTypeTracepoint is PERF_TYPE_TRACEPOINT of linux/perf_event.h.
const perfTypeTracepoint = 2

// maxRecord bounds offsets and sizes in a format. A trace record is smaller
// than 64 KiB, since the size of a perf record and the offsets of dynamic
// fields have 16 bits.
const maxRecord = 1 << 16

// ParseFormat parses a tracepoint's format file, this kernel's or the copy in a
// recording. Schema.Text prints addresses in hex; see Options for symbols.
func ParseFormat(system string, text []byte) (*event.Schema, error) {
	return new(Options).parseFormat(system, text)
}

// parseFormat parses a format file. Schema.Text uses o, not a copy of it.
func (o *Options) parseFormat(system string, text []byte) (*event.Schema, error) {
	s := &event.Schema{System: system, Type: perfTypeTracepoint}
	fail := func(line int, format string, args ...any) error {
		e := diag.Errorf(diag.Run, "parse format of", s.FullName(), "line %d: %w", line,
			fmt.Errorf(format, args...))
		return e.WithHint("compare with the event's format file in tracefs; a recording may be damaged")
	}
	haveID := false
	for n, rest := 1, string(text); rest != ""; n++ {
		line, after, _ := strings.Cut(rest, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "name:"):
			s.Name = strings.TrimSpace(trimmed[len("name:"):])
		case strings.HasPrefix(trimmed, "ID:"):
			id, err := strconv.ParseUint(strings.TrimSpace(trimmed[len("ID:"):]), 10, 32)
			if err != nil {
				return nil, fail(n, "ID: got %q, want a number", trimmed[len("ID:"):])
			}
			s.ID, haveID = id, true
		case strings.HasPrefix(trimmed, "field:"):
			f, err := parseField(trimmed[len("field:"):])
			if err != nil {
				return nil, fail(n, "%w", err)
			}
			s.Fields = append(s.Fields, f)
			s.Size = max(s.Size, f.Offset+f.Size)
		case strings.HasPrefix(trimmed, "print fmt:"):
			// All text up to the end, since a string in it may have a line
			// break.
			s.PrintFmt = strings.Trim(rest[strings.Index(rest, "print fmt:")+len("print fmt:"):],
				" \t\r\n\x00")
			after = ""
		}
		rest = after
	}
	switch {
	case s.Name == "":
		return nil, fail(1, "no name")
	case !haveID:
		return nil, fail(1, "no ID")
	case len(s.Fields) == 0:
		return nil, fail(1, "no fields")
	}
	markBitmasks(s)
	o.attach(s)
	if s.System == "syscalls" {
		asDeclared(s)
	}
	return s, nil
}

// asDeclared sets the sizes and signs of a system call's parameters by their C types. In the
// format, each is an unsigned register of 8 bytes. But a call with an int parameter uses only the
// lower half of the register, and the upper half may have any value.
func asDeclared(s *event.Schema) {
	for i := range s.Fields {
		f := &s.Fields[i]
		register := f.Place == event.InRaw && f.Kind == event.Int && f.Size == 8 && !f.Signed
		if !register || f.Unit == event.AddressU {
			continue
		}
		t, known := c.TypeNamed(bareType(f.Type))
		if !known || !t.Integer() || t.Size > 8 {
			continue
		}
		if f.Signed, f.Filtered = !t.Unsigned, !t.Unsigned; t.Size < 8 {
			f.Size, f.Wide = t.Size, 8
		}
	}
}

// parseField parses "unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;".
func parseField(text string) (event.Field, error) {
	var f event.Field
	// The declaration ends where the attributes begin, not at the first
	// semicolon: a function pointer or a nested type could have a semicolon of
	// its own.
	i := strings.Index(text, "offset:")
	if i < 0 {
		return f, fmt.Errorf("field without an offset")
	}
	decl := strings.TrimRight(text[:i], "; \t")
	offset, size, sign := -1, -1, 0
	for _, part := range strings.Split(text[i:], ";") {
		key, val, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			continue
		}
		v, err := strconv.Atoi(strings.TrimSpace(val))
		if err != nil || v < 0 || v > maxRecord {
			return f, fmt.Errorf("field %q: %s: got %q, want a number up to %d", decl, key, val, maxRecord)
		}
		switch key {
		case "offset":
			offset = v
		case "size":
			size = v
		case "signed":
			sign = v
		}
	}
	if offset < 0 || size < 0 {
		return f, fmt.Errorf("field %q: want offset and size", decl)
	}
	f = event.Field{Offset: offset, Size: size, Signed: sign != 0}
	return f, classify(&f, decl)
}

// classify fills in name, type, place and kind from the C declaration.
func classify(f *event.Field, decl string) error {
	typ, name, dims, isArray := splitDecl(decl)
	if name == "" {
		return fmt.Errorf("field %q: no name", decl)
	}
	f.Name, f.Type = name, typ
	if isArray {
		f.Type += "[" + dims + "]"
	}
	for prefix, place := range map[string]event.Place{
		"__data_loc ": event.DataLoc,
		"__rel_loc ":  event.RelLoc,
	} {
		if !strings.HasPrefix(typ, prefix) {
			continue
		}
		if f.Size != 4 {
			// For example __data_loc char[][2] of a probe's argument +0(%di):string[2]: the
			// locators of two texts. Such a field is shown as bytes.
			f.Kind = event.Bytes
			return nil
		}
		f.Place = place
		elem := bareType(strings.TrimSuffix(strings.TrimSpace(typ[len(prefix):]), "[]"))
		f.Kind, f.Elem = sequence(elem, elemSize(elem))
		return nil
	}
	switch {
	case isArray:
		each := elemSize(typ)
		if n, err := strconv.Atoi(dims); err == nil && n > 0 && f.Size%n == 0 {
			each = f.Size / n
		}
		f.Kind, f.Elem = sequence(bareType(typ), each)
	case aggregate(typ):
		f.Kind = event.Bytes
	case f.Size == 1 || f.Size == 2 || f.Size == 4 || f.Size == 8:
		f.Kind = event.Int
		if strings.Contains(typ, "*") {
			f.Signed, f.Unit = false, event.AddressU
		}
	default:
		f.Kind = event.Bytes
	}
	return nil
}

// sequence classifies an array of elements of a type and size. A char array is
// text, whether signed or not: kernels from 6.2 on are compiled with unsigned
// char, so their formats have signed:0 for every comm.
func sequence(elem string, size int) (event.Kind, int) {
	switch {
	case elem == "char" || elem == "signed char":
		return event.Str, 0
	case elem == "cpumask_t" || elem == "nodemask_t":
		return event.Bitmask, 8
	case aggregate(elem):
		return event.Bytes, 0
	case size == 1 || size == 2 || size == 4 || size == 8:
		return event.Array, size
	}
	return event.Bytes, 0
}

// splitDecl splits "const char * name", "u8 name[16]" or "__data_loc char[]
// name" into type and name. dims is the text in the brackets after the name.
func splitDecl(decl string) (typ, name, dims string, isArray bool) {
	decl = strings.TrimSpace(decl)
	if strings.HasSuffix(decl, "]") {
		if i := strings.IndexByte(decl, '['); i >= 0 {
			dims, isArray = strings.TrimSpace(decl[i+1:len(decl)-1]), true
			decl = strings.TrimSpace(decl[:i])
		}
	}
	i := len(decl)
	for i > 0 && isIdent(decl[i-1]) {
		i--
	}
	return strings.TrimSpace(decl[:i]), decl[i:], dims, isArray
}

func isIdent(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// markBitmasks changes arrays of long that the print fmt shows as a set to
// bitmasks. Their declarations do not distinguish them from other arrays.
func markBitmasks(s *event.Schema) {
	for _, call := range []string{
		"__get_bitmask(", "__get_cpumask(", "__get_rel_bitmask(", "__get_rel_cpumask(",
	} {
		for rest := s.PrintFmt; ; {
			i := strings.Index(rest, call)
			if i < 0 {
				break
			}
			rest = rest[i+len(call):]
			end := strings.IndexByte(rest, ')')
			if end < 0 {
				break
			}
			name := strings.TrimSpace(rest[:end])
			for j := range s.Fields {
				if f := &s.Fields[j]; f.Name == name && f.Place != event.InRaw {
					f.Kind, f.Elem = event.Bitmask, 8
				}
			}
		}
	}
}
