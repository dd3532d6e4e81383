package frontend

import (
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file lowers operations of texts: methods, slices, characters, parts and
// formats; and the elements of arrays.

// textMethod lowers a call of a method of a text that depends on the event.
func (s *scopeOf) textMethod(e *syntax.CallExpr, x val, name string) val {
	args := make([]val, len(e.Args))
	texts := true
	for i, a := range e.Args {
		args[i] = s.expr(a)
		texts = texts && isText(args[i])
	}
	at := e.Lparen
	switch name {
	case "startswith", "endswith":
		if len(args) == 1 {
			return s.affix(at, x, args[0], name == "startswith")
		}
	case "find", "rfind", "count":
		if len(args) == 1 && texts {
			fn := expr.TextFind
			if name == "count" {
				fn = expr.TextCount
				if c, ok := args[0].c.(starlark.String); !ok || c == "" {
					break // "" would be counted once per character
				}
			}
			return s.textOp(at, fn, x, map[bool]int{true: 1}[name == "rfind"], args)
		}
	case "lower", "upper":
		if len(args) == 0 {
			fn := map[string]expr.TextFn{"lower": expr.TextLower, "upper": expr.TextUpper}[name]
			return s.textOp(at, fn, x, 0, args)
		}
	case "strip", "lstrip", "rstrip":
		if len(args) <= 1 && texts {
			sides := map[string]int{"lstrip": 1, "rstrip": 2, "strip": 3}[name]
			return s.textOp(at, expr.TextStrip, x, sides, args)
		}
	case "removeprefix", "removesuffix":
		if len(args) == 1 && texts {
			side := map[string]int{"removeprefix": 1, "removesuffix": 2}[name]
			return s.textOp(at, expr.TextTrim, x, side, args)
		}
	}
	s.refuse(at, "method %s", name)
	return val{}
}

func (l *lowerer) textOp(at syntax.Position, fn expr.TextFn, x val, i int, args []val) val {
	return l.sequenced(at, append([]val{x}, args...), func(v []val) val {
		nodes := make([]expr.Node, len(v))
		for k := range v {
			nodes[k] = l.nodeOf(at, v[k])
		}
		n, err := expr.NewTextOp(fn, nodes[0], i, nodes[1:]...)
		l.must(at, err)
		return val{node: n}
	})
}

// affix lowers x.startswith(y) or x.endswith(y), where y may be a tuple of
// texts.
func (l *lowerer) affix(at syntax.Position, x, y val, starts bool) val {
	op := expr.OpSuffix
	if starts {
		op = expr.OpPrefix
	}
	list, many := y.c.(starlark.Tuple)
	if !many {
		if !isText(y) {
			l.refuse(at, "a text that begins or ends with a %s", typeOf(y))
		}
		return l.sequenced(at, []val{x, y}, func(v []val) val {
			n, err := expr.NewBinary(op, l.nodeOf(at, v[0]), l.nodeOf(at, v[1]))
			l.must(at, err)
			return val{node: n}
		})
	}
	if x.node == nil || !stable(x.node) {
		l.refuse(at, "a text that is computed, with several beginnings or ends")
	}
	any := expr.NewBool(false)
	for _, c := range list {
		one := l.affix(at, x, val{c: c}, starts)
		var err error
		any, err = expr.PyBinary("or", any, one.node)
		l.must(at, err)
	}
	return val{node: any}
}

// slice lowers text[lo:hi].
func (s *scopeOf) slice(e *syntax.SliceExpr) val {
	x := s.expr(e.X)
	if e.Step != nil || !isText(x) {
		s.refuse(e.Lbrack, "a slice of a %s", typeOf(x))
	}
	lo, loGiven := s.bound(e, e.Lo)
	hi, hiGiven := s.bound(e, e.Hi)
	if low, ok := small(lo); ok {
		if high, ok := small(hi); ok || !hiGiven {
			n, err := expr.NewSlice(s.nodeOf(e.Lbrack, x), low, high, !hiGiven)
			s.must(e.Lbrack, err)
			return val{node: n}
		}
	}
	if !loGiven {
		lo = val{c: starlark.MakeInt(0)}
	}
	args := []val{lo}
	if hiGiven {
		args = append(args, hi)
	}
	return s.textOp(e.Lbrack, expr.TextCut, x, 0, args)
}

// bound lowers one bound of a slice.
func (s *scopeOf) bound(e *syntax.SliceExpr, b syntax.Expr) (v val, given bool) {
	if b == nil {
		return val{c: starlark.MakeInt(0)}, false
	}
	if v = s.expr(b); v.c == starlark.None {
		return val{c: starlark.MakeInt(0)}, false
	}
	if !isInt(v) || unitOf(v) != event.NoUnit {
		s.refuse(e.Lbrack, "a slice with a bound that is a %s", typeOf(v))
	}
	return v, true
}

// small returns a constant bound.
func small(v val) (int, bool) {
	i, ok := v.c.(starlark.Int)
	if !ok {
		return 0, false
	}
	n, fits := i.Int64()
	return int(n), fits && n <= 1<<30 && n >= -1<<30
}

// part lowers x[i] if x is a text, a call of split(), or an array of the event; ok
// is false otherwise.
func (s *scopeOf) part(e *syntax.IndexExpr) (v val, ok bool) {
	switch x := e.X.(type) {
	case *syntax.DotExpr:
		return s.arrayElement(e, x)
	case *syntax.CallExpr:
		dot, method := x.Fn.(*syntax.DotExpr)
		if !method || dot.Name.Name != "split" || len(x.Args) != 1 || !plainArgs(x.Args) {
			return v, false
		}
		text, sep := s.expr(dot.X), s.expr(x.Args[0])
		c, constant := sep.c.(starlark.String)
		if !isText(text) || text.c != nil || !constant || c == "" {
			return v, false
		}
		i, constant := small(s.expr(e.Y))
		if !constant {
			s.refuse(e.Lbrack, "a part of a text that is chosen for each event")
		}
		return s.textOp(e.Lbrack, expr.TextSplit, text, i, []val{sep}), true
	}
	return v, false
}

// arrayElement lowers an element of an array of the event: e.args[0].
func (s *scopeOf) arrayElement(e *syntax.IndexExpr, dot *syntax.DotExpr) (v val, ok bool) {
	switch dot.X.(type) {
	case *syntax.Ident, *syntax.DotExpr:
	default:
		return v, false
	}
	x := s.expr(dot.X)
	if x.ev == nil {
		return v, false
	}
	f, schema := x.ev.array(s.sc, dot.Name.Name)
	if f == nil {
		return v, false
	}
	i, constant := small(s.expr(e.Y))
	if !constant {
		s.refuse(e.Lbrack, "an element of %s that is chosen for each event", f.Name)
	}
	if i < 0 && f.Elem > 0 {
		i += f.Size / f.Elem
	}
	element, ok := schema.Element(f, i)
	if !ok {
		s.refuse(e.Lbrack, "%s has no element %d", f.Name, i)
	}
	return val{node: expr.NewField(element, x.ev.which())}, true
}

// array returns the array with a name in the record, and its schema; nil if there
// is none.
func (ev *subject) array(sc *expr.Scope, name string) (*event.Field, *event.Schema) {
	attr, ok := ev.attribute(sc, name)
	if !ok || attr.access == nil || attr.access.Field == nil || attr.access.Field.Kind != event.Array {
		return nil, nil
	}
	return attr.access.Field, ev.schema(sc)
}

// percent lowers template % (values...), or template % value, if the template
// is a constant.
func (s *scopeOf) percent(e *syntax.BinaryExpr) (v val, ok bool) {
	lit, literal := e.X.(*syntax.Literal)
	if !literal || lit.Token != syntax.STRING {
		return v, false
	}
	args := []syntax.Expr{e.Y}
	if t, ok := e.Y.(*syntax.ParenExpr); ok {
		args[0] = t.X
	}
	if t, ok := args[0].(*syntax.TupleExpr); ok {
		args = t.List
	}
	vals := make([]val, len(args))
	constant := true
	for i, a := range args {
		vals[i] = s.expr(a)
		constant = constant && vals[i].c != nil
	}
	if constant {
		return v, false
	}
	return s.format(e.OpPos, lit.Value.(string), vals), true
}

// format lowers the formatting of values by a template with formats for numbers
// and texts.
func (l *lowerer) format(at syntax.Position, template string, args []val) val {
	var parts []val
	text := func(s string) {
		if s != "" {
			parts = append(parts, val{c: starlark.String(s)})
		}
	}
	for {
		before, rest, found := strings.Cut(template, "%")
		text(before)
		if !found {
			break
		}
		if rest == "" {
			l.refuse(at, "an incomplete format")
		}
		verb := rest[0]
		template = rest[1:]
		if verb == '%' {
			text("%")
			continue
		}
		if len(args) == 0 {
			l.refuse(at, "too few values for the format")
		}
		parts = append(parts, l.formatted(at, verb, args[0]))
		args = args[1:]
	}
	if len(args) > 0 {
		l.refuse(at, "too many values for the format")
	}
	return l.concat(at, parts...)
}

// formatted lowers one value in a format.
func (l *lowerer) formatted(at syntax.Position, verb byte, v val) val {
	plain := isInt(v) && unitOf(v) == event.NoUnit
	switch {
	case verb == 's' && isText(v):
		return v
	case (verb == 's' || verb == 'd') && plain:
		return l.decimal(at, v)
	case verb == 'x' && plain && v.c == nil && !l.nodeOf(at, v).Type().Unsigned:
		n, err := expr.NewNative(expr.Native{Name: "hex", T: expr.TStr, Args: []expr.Node{l.nodeOf(at, v)},
			HostOnly: expr.TextsHere,
			Str1: func(f *expr.Frame, x int64) []byte {
				return f.Keep(strconv.AppendInt(f.Scratch(), x, 16))
			}})
		l.must(at, err)
		return val{node: n}
	}
	l.refuse(at, "a %s as %%%c", typeOf(v), verb)
	return val{}
}

// decimal converts a number to a text.
func (l *lowerer) decimal(at syntax.Position, v val) val {
	if c, ok := v.c.(starlark.Int); ok {
		return val{c: starlark.String(c.String())}
	}
	x := l.nodeOf(at, v)
	native := expr.Native{Name: "str", T: expr.TStr, Args: []expr.Node{x}, HostOnly: expr.TextsHere,
		Str1: func(f *expr.Frame, x int64) []byte {
			return f.Keep(strconv.AppendInt(f.Scratch(), x, 10))
		}}
	if x.Type().Unsigned {
		native.Data = true
		native.Str1 = func(f *expr.Frame, x int64) []byte {
			return f.Keep(strconv.AppendUint(f.Scratch(), uint64(x), 10))
		}
	}
	n, err := expr.NewNative(native)
	l.must(at, err)
	return val{node: n}
}

// textsHere is the reason why programs of the kernel cannot build texts.
const textsHere = "programs of the kernel put no texts together"

// concat lowers x + y + ... of texts.
func (l *lowerer) concat(at syntax.Position, parts ...val) val {
	if len(parts) == 0 {
		return val{c: starlark.String("")}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return l.sequenced(at, parts, func(v []val) val {
		nodes := make([]expr.Node, len(v))
		for i := range v {
			nodes[i] = l.nodeOf(at, v[i])
		}
		n, err := expr.NewNative(expr.Native{Name: "concat", T: expr.TStr, Args: nodes, HostOnly: textsHere,
			Str: func(f *expr.Frame, a []expr.Arg) []byte {
				text := f.Scratch()
				for i := range a {
					text = append(text, a[i].S...)
				}
				return f.Keep(text)
			}})
		l.must(at, err)
		return val{node: n}
	})
}
