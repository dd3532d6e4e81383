package sql

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr/native"
	"ppscript/runtime/source/tracefs"
)

// Functions are the SQL functions that need facts from outside. Members may be nil.
type Functions struct {
	Ksymbol       func(addr uint64) string
	KsymbolOffset func(addr uint64) string
	Syscall       func(nr int64) string
	Comm          func(tid int32) string
	// Schemas are the schemas of the tables, by name: their print fmts name values.
	Schemas map[string]*event.Schema
}

// nobody and unknown are shown in place of missing names.
const (
	nobody  = "??"
	unknown = "UNKNOWN"
)

// pointers maps functions that print like a %p conversion of the kernel to the
// least number of bytes that they need.
var pointers = []struct {
	name, ext string
	size      int
}{
	{"ipv4_str", "I4", 4}, {"ipv4_hstr", "I4h", 4}, {"ipv6_str", "I6c", 16}, {"ipsa_str", "ISpc", 2}, {"ipsa_hstr", "ISpch", 2},
	{"uuid_str", "Ub", 16}, {"guid_str", "Ul", 16}, {"mac_str", "M", 6},
}

// Define adds the functions to SQL.
func (d *DB) Define(f Functions) error {
	errs := []error{
		d.define("ksymbol", 1, func(a []arg) (string, error) {
			if f.Ksymbol == nil {
				return nobody, nil
			}
			return cmp.Or(f.Ksymbol(uint64(a[0].Int)), nobody), nil
		}),
		d.define("ksymbol_offset", 1, func(a []arg) (string, error) {
			if f.KsymbolOffset == nil {
				return nobody, nil
			}
			return cmp.Or(f.KsymbolOffset(uint64(a[0].Int)), nobody), nil
		}),
		d.define("syscall", 1, func(a []arg) (string, error) {
			if f.Syscall == nil {
				return nobody, nil
			}
			return cmp.Or(f.Syscall(a[0].Int), nobody), nil
		}),
		d.define("comm", 1, func(a []arg) (string, error) {
			if f.Comm == nil {
				return nobody, nil
			}
			return cmp.Or(f.Comm(int32(a[0].Int)), nobody), nil
		}),
		d.defineFunction("log2", 1, log2),
		d.define("symbolic", -1, (&symbolics{schemas: f.Schemas}).call),
	}
	for _, p := range pointers {
		errs = append(errs, d.define(p.name, 1, func(a []arg) (string, error) {
			data := a[0].Data
			if a[0].Kind == intArg {
				// An address that the event has as a number is in the host's
				// order, whose first byte is the lowest.
				data = []byte{byte(a[0].Int), byte(a[0].Int >> 8), byte(a[0].Int >> 16), byte(a[0].Int >> 24)}
			}
			if len(data) < p.size {
				return nobody, nil
			}
			return string(tracefs.AppendPointer(nil, data, p.ext)), nil
		}))
	}
	return errors.Join(errs...)
}

// log2 is the power of two that a number reaches, -1 if the number is below 1: as in conditions and
// functions, in place of SQLite's own function, which has fractions.
func log2(a []arg) (arg, error) {
	switch a[0].Kind {
	case intArg:
		return arg{Kind: intArg, Int: native.PowerOf(a[0].Int)}, nil
	case floatArg:
		switch {
		case math.IsInf(a[0].Real, 1):
			return arg{}, errors.New("log2 of a number beyond all")
		case a[0].Real < 1:
			return arg{Kind: intArg, Int: -1}, nil
		}
		_, power := math.Frexp(a[0].Real)
		return arg{Kind: intArg, Int: int64(power) - 1}, nil
	case nullArg:
		return arg{Kind: nullArg}, nil
	}
	return arg{}, errors.New("log2 takes a number, got a text")
}

// symbolics finds the tables of print fmts by the name of their field.
type symbolics struct {
	schemas map[string]*event.Schema
	tables  map[string]*event.Symbols // by "field" and "table.field"
	fields  []string
}

// call is symbolic(value), where one field has names, symbolic(field, value).
func (s *symbolics) call(a []arg) (string, error) {
	s.prepare()
	var t *event.Symbols
	switch {
	case len(a) == 2 && a[0].Kind == textArg:
		t = s.tables[string(a[0].Data)]
		if t == nil {
			return "", fmt.Errorf("symbolic: no values of field %s have names%s", a[0].Data, s.list())
		}
	case len(a) != 1:
		return "", errors.New("symbolic takes (value) or ('field', value)")
	case len(s.fields) == 1:
		t = s.tables[s.fields[0]]
	default:
		return "", errors.New("symbolic: say which field, symbolic('field', value)" + s.list())
	}
	v := a[len(a)-1]
	if v.Kind != intArg {
		return unknown, nil
	}
	return nameOf(t, uint64(v.Int)), nil
}

func (s *symbolics) list() string {
	if len(s.fields) == 0 {
		return "; no field has any"
	}
	return "; those of " + strings.Join(s.fields, ", ") + " have"
}

// nameOf is a value's name, or the names of its bits.
func nameOf(t *event.Symbols, v uint64) string {
	if name, ok := t.Lookup(v); ok {
		return name
	}
	if !t.Flags {
		return unknown
	}
	var names []string
	for _, bits := range t.Order {
		if bits != 0 && v&bits == bits {
			names = append(names, t.Names[bits])
			v &^= bits
		}
	}
	if v != 0 {
		names = append(names, fmt.Sprintf("%#x", v))
	}
	return strings.Join(names, cmp.Or(t.Delim, "|"))
}

// prepare parses the print fmts. It is called on first use, since few queries
// need them.
func (s *symbolics) prepare() {
	if s.tables != nil {
		return
	}
	s.tables = map[string]*event.Symbols{}
	for name, schema := range s.schemas {
		for _, field := range symbolicFields(schema) {
			s.tables[field] = schema.Symbolic(field)
			s.tables[name+"."+field] = s.tables[field]
			if !slices.Contains(s.fields, field) {
				s.fields = append(s.fields, field)
			}
		}
	}
	slices.Sort(s.fields)
}

// symbolicFields lists the fields of an event whose values have names.
func symbolicFields(s *event.Schema) []string {
	if s.Symbolic == nil {
		return nil
	}
	var fields []string
	for i := range s.Fields {
		if t := s.Symbolic(s.Fields[i].Name); t != nil && len(t.Names) > 0 {
			fields = append(fields, s.Fields[i].Name)
		}
	}
	return fields
}

// Calls lists the functions that make sense of an event's fields, as its print
// fmt has them.
func Calls(s *event.Schema) []string {
	var calls []string
	for _, field := range symbolicFields(s) {
		calls = append(calls, "symbolic('"+field+"', "+field+")")
	}
	if s.System == "raw_syscalls" || s.System == "syscalls" {
		calls = append(calls, "syscall(id)")
	}
	for _, c := range []struct{ conversions, call string }{
		{"%pS %ps %pF %pf", "ksymbol(addr)"}, {"%pI4 %pi4", "ipv4_str(blob)"}, {"%pI6 %pi6", "ipv6_str(blob)"},
		{"%pIS %piS", "ipsa_str(blob)"}, {"%pUl %pUL", "guid_str(blob)"}, {"%pUb %pUB", "uuid_str(blob)"}, {"%pM %pm", "mac_str(blob)"},
	} {
		if slices.ContainsFunc(strings.Fields(c.conversions), func(p string) bool {
			return strings.Contains(s.PrintFmt, p)
		}) {
			calls = append(calls, c.call)
		}
	}
	return calls
}
