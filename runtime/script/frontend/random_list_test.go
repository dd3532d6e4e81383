package frontend

import (
	"errors"

	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file generates the lists of a fold's state for random programs.

// index is one of a list of 4, or now and then not.
func (g *gen) index() string {
	return g.pick("0", "-1", "e.cpu", "("+g.expr("int")+") % 4", "("+g.expr("int")+") % 4 - 4", g.expr("int"))
}

// listStmt changes a list of the state.
func (g *gen) listStmt(indent string) string {
	switch g.r.IntN(8) {
	case 0:
		return indent + "for x in s.c:\n" + indent + "    s.n = x + " + g.expr("int") + "\n"
	case 1:
		return indent + "s.c = " + g.pick("[0] * 4", "[1, 2, 3, LIMIT]", "s.c", "s.k") + "\n"
	case 2:
		return indent + "k = s.c\n" + indent + "k[" + g.index() + "], s.m = s.m, k[" + g.index() + "]\n"
	case 3:
		return indent + "s.d[" + g.index() + "]" + g.pick(" = ", " += ") + g.expr("dur") + "\n"
	case 4:
		return indent + "s.c[" + g.index() + "] = " + g.expr("int") + " if " + g.expr("bool") + " else 0\n"
	}
	return indent + "s.c[" + g.index() + "]" + g.pick(" = ", " += ", " += ", " -= ", " //= ") +
		g.expr("int") + "\n"
}

// testSum adds up a list of the state.
type testSum struct{ *starlark.Builtin }

func (testSum) Refuses([]ArgType) error { return nil }

func (testSum) Native() *Native {
	return &Native{Returns: AsFirst, Compile: (*NativeCall).Sum}
}

func sumOf(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, errors.New("want one list")
	}
	list, ok := args[0].(*StateList)
	if !ok {
		return nil, errors.New("want a list")
	}
	var total starlark.Value = starlark.MakeInt(0)
	for v := range starlark.Elements(list) {
		var err error
		if total, err = script.CheckedBinary(syntax.PLUS, total, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}
