package cexpr

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// lowerIPAddress is ip_address(bytes).
func lowerIPAddress(k *Call) (expr.Node, error) {
	x, err := k.Node(0)
	if err != nil {
		return nil, err
	}
	if x.Type().Kind != expr.Str {
		return nil, k.Errorf(0, "want an array of bytes that the event has")
	}
	return expr.NewIPAddress(x)
}

// lowerNameOf is symbolic(field): the name of the field's value in the event's
// own print fmt, which is right for every kernel and every variant of the
// event; the number if there is no name.
func lowerNameOf(k *Call) (expr.Node, error) {
	x, err := k.Node(0)
	if err != nil {
		return nil, err
	}
	field, ok := x.(*expr.Field)
	if !ok || field.View != expr.ViewValue || field.F.Kind != event.Int {
		return nil, k.Errorf(0, "want a numeric field of the event")
	}
	return expr.NewNameOf(k.Scope().Part(field.Part.Name()), field)
}
