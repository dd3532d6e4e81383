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

func symbolicOf(schema *event.Schema, field *Field) Native {
	name, part := field.F.Name, field.Part
	return Native{Name: "symbolic", T: TStr, Args: []Node{field}, Data: name,
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
			return f.Keep(strconv.AppendInt(f.Scratch(), args[0].I, 10))
		}}
}
