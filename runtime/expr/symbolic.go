package expr

import (
	"strconv"

	"ppscript/runtime/event"
)

// lowerNameOf is symbolic(field): the name that the event's own print fmt
// gives to the field's value, so that it is right for every kernel and every
// variant of the event; the number where there is no name.
func lowerNameOf(k *Call) (Node, error) {
	x, err := k.Node(0)
	if err != nil {
		return nil, err
	}
	field, ok := x.(*Field)
	if !ok || field.View != ViewValue || field.F.Kind != event.Int {
		return nil, k.Errorf(0, "want a numeric field of the event")
	}
	sc := k.Scope()
	schema := sc.Schema
	if field.Part != Self {
		schema = sc.Parts[partNames[field.Part]]
	}
	return NewNative(symbolicOf(schema, field))
}

// NameOf is the Data of a Native "name_of": whose print fmt names the field.
type NameOf struct {
	Schema *event.Schema
	Field  string
}

func symbolicOf(schema *event.Schema, field *Field) Native {
	name, part, unsigned := field.F.Name, field.Part, !field.F.Signed
	return Native{Name: "name_of", Traits: ReadsRecord, T: TStr, Args: []Node{field},
		Data: &NameOf{schema, name},
		Str: func(f *Frame, args []Arg) []byte {
			e := f.part(part)
			if e == nil {
				return nil
			}
			if schema.SymbolicOf != nil {
				if s, ok := schema.SymbolicOf(name, e); ok {
					return view(s)
				}
			}
			if unsigned {
				return f.Keep(strconv.AppendUint(f.Scratch(), uint64(args[0].I), 10))
			}
			return f.Keep(strconv.AppendInt(f.Scratch(), args[0].I, 10))
		}}
}
