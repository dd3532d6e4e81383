package cexpr

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// lowerUserText is user_string(address[, instead]). A text, such as an argument
// of a probe, is returned unchanged.
func lowerUserText(k *Call) (expr.Node, error) {
	addr, err := k.Node(0)
	if err != nil {
		return nil, err
	}
	if f, ok := addr.(*expr.Field); ok && f.F.Kind == event.Str && f.View == expr.ViewValue {
		return f, nil
	}
	if addr, err = k.IntAs(0, c.TULong); err != nil {
		return nil, err
	}
	var instead *expr.Const
	if len(k.Args) == 2 {
		text, err := k.ConstStr(1)
		if err != nil {
			return nil, err
		}
		instead = &expr.Const{T: expr.TStr, Str: text}
	}
	n, err := expr.NewUserText(addr, instead)
	if err != nil {
		return nil, k.Errorf(0, "%v",
			err).(*diag.Error).WithHint("name a pointer of the record: %s(filename)", expr.UserText)
	}
	return n, nil
}
