package expr

import (
	"strconv"

	"ppscript/runtime/event"
)

// NameOf is the Data of a Native "name_of": the schema whose print fmt names
// the field's values.
type NameOf struct {
	Schema *event.Schema
	Field  string
}

// NewNameOf is the name of a field's value in the event's print fmt; the number if
// there is no name.
func NewNameOf(schema *event.Schema, field *Field) (Node, error) {
	return NewNative(symbolicOf(schema, field))
}

func symbolicOf(schema *event.Schema, field *Field) Native {
	name, part, unsigned := field.F.Name, field.Part, !field.F.Signed
	return Native{Name: "name_of", Traits: ReadsRecord, T: TStr, Args: []Node{field}, HostOnly: NamesHere,
		Data: &NameOf{schema, name},
		Str: func(f *Frame, args []Arg) []byte {
			e := f.part(part)
			if e == nil {
				return nil
			}
			if schema.SymbolicOf != nil {
				if s, ok := schema.SymbolicOf(name, e); ok {
					return Bytes(s)
				}
			}
			if unsigned {
				return f.Keep(strconv.AppendUint(f.Scratch(), uint64(args[0].I), 10))
			}
			return f.Keep(strconv.AppendInt(f.Scratch(), args[0].I, 10))
		}}
}

// Symbolic is the name of a number in a table, or the names of its flags.
// Values that are not in the table are printed in hex.
func Symbolic(x Node, s *event.Symbols) (Node, error) {
	if !s.Flags {
		names := make(map[uint64][]byte, len(s.Names))
		for v, n := range s.Names {
			names[v] = []byte(n)
		}
		return NewNative(Native{Name: "symbolic", T: TStr, Args: []Node{x}, Data: s, HostOnly: NamesHere,
			Str1: func(f *Frame, x int64) []byte {
				if n, ok := names[uint64(x)]; ok {
					return n
				}
				return f.Keep(strconv.AppendUint(append(f.Scratch(), "0x"...), uint64(x), 16))
			}})
	}
	type flag struct {
		mask uint64
		name string
	}
	var flags []flag
	for _, m := range s.Order {
		flags = append(flags, flag{m, s.Names[m]})
	}
	delim := s.Delim
	return NewNative(Native{Name: "flags", T: TStr, Args: []Node{x}, Data: s, HostOnly: NamesHere,
		Str1: func(f *Frame, x int64) []byte {
			b, left, first := f.Scratch(), uint64(x), true
			for _, fl := range flags {
				if left == 0 {
					break
				}
				if left&fl.mask != fl.mask {
					continue
				}
				left &^= fl.mask
				if !first {
					b = append(b, delim...)
				}
				b, first = append(b, fl.name...), false
			}
			if left != 0 {
				if !first {
					b = append(b, delim...)
				}
				b = strconv.AppendUint(append(b, "0x"...), left, 16)
			}
			return f.Keep(b)
		}})
}
