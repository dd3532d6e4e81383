package frontend

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/script"
	"ppscript/runtime/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file finds operations that fail for each event, whatever its values are: an operator, a
// method, a call that has no meaning for the kinds of its operands. It has no table of what
// Starlark allows: it tries the operation with sample values of these kinds, and only if all of
// them fail is that an error. A kind that is not known has no samples, and an operand that may be
// None is one of several kinds, so that code behind a test such as "if o.limit" is not judged.

// samplesOf are values of the kind of r that an operation is tried with; nil if that is not known.
func samplesOf(r role) []starlark.Value {
	if r.ev != nil || r.state || r.list != nil || r.weak || r.unsure || r.pointer != nil {
		return nil
	}
	if r.kind == kindText && r.c != nil {
		return []starlark.Value{r.c}
	}
	if r.kind.state != typed {
		return nil
	}
	switch r.kind {
	case kindText:
		return []starlark.Value{starlark.String("a"), starlark.String("1")}
	case kindBool:
		return []starlark.Value{starlark.True}
	case kindFloat:
		return []starlark.Value{starlark.Float(1)}
	case kindNanos:
		return []starlark.Value{value.Duration(1)}
	case kindMoment:
		return []starlark.Value{value.Time(1)}
	case kindSize:
		return []starlark.Value{value.Size(1)}
	case kindInt, kindUint:
		return []starlark.Value{starlark.MakeInt(1)}
	}
	return nil
}

// tried is the error that an operation has for all samples of its operands; nil if it can succeed, or if
// the kind of one of them is not known.
func tried(op func(args []starlark.Value) error, operands ...role) error {
	args := make([]starlark.Value, len(operands))
	var failed error
	var next func(i int) bool // reports that it can succeed
	next = func(i int) bool {
		if i == len(operands) {
			failed = op(args)
			return failed == nil
		}
		samples := samplesOf(operands[i])
		for _, v := range samples {
			args[i] = v
			if next(i + 1) {
				return true
			}
		}
		return samples == nil
	}
	if next(0) {
		return nil
	}
	return failed
}

// refused notes that the expression at a place can only fail.
func (s *scan) refused(at syntax.Node, err error) {
	if err == nil || s.passing > 0 {
		return
	}
	d, ok := errors.AsType[*diag.Error](err)
	if !ok {
		d = &diag.Error{Class: diag.Run, Cause: err, Hint: script.HintFor(err.Error())}
	}
	s.note(at, d)
}

// compared finds comparisons that cannot be meant: of texts with numbers, of times with sizes. A
// plain number beside a duration or a size is in its base unit.
func (s *scan) compared(e *syntax.BinaryExpr, x, y role) {
	if samplesOf(x) == nil || samplesOf(y) == nil || comparable(x.kind, y.kind) {
		return
	}
	d := diag.Errorf(diag.Run, "", "", "%s is compared with %s",
		withArticle(x.kind.String()), withArticle(y.kind.String()))
	u, v := x.kind.Unit, y.kind.Unit
	switch {
	case x.kind == kindText || y.kind == kindText:
		d.Hint = "compare texts with texts, numbers with numbers: int(text), str(number)"
	case x.kind == kindBool || y.kind == kindBool:
		d.Hint = "a bool is a condition itself: write it, or not in front of it"
	case u != event.NoUnit && v != event.NoUnit:
		d.Hint = "subtract two times to get a duration"
	default:
		d.Hint = "ask whether a time was set with: if s.name; or take the number: t.ns"
	}
	s.refused(e, d)
}

// comparable reports kinds whose values can be equal.
func comparable(x, y Kind) bool {
	same := func(k Kind) Kind {
		switch k {
		case kindUint, kindFloat:
			return kindInt
		}
		return k
	}
	x, y = same(x), same(y)
	measures := func(k Kind) bool { return k == kindNanos || k == kindSize }
	return x == y || x == kindInt && measures(y) || y == kindInt && measures(x)
}

// equal reports kinds of which "in" may find one among values of the other: it knows no units.
func equal(x, y Kind) bool { return comparable(x, y) && x.Unit == y.Unit }

// sought finds members of lists, and parts of texts, that are never found.
func (s *scan) sought(e *syntax.BinaryExpr, x, y role) {
	if samplesOf(x) == nil {
		return
	}
	if y.kind != kindOther {
		s.refused(e, tried(func(v []starlark.Value) error {
			_, err := starlark.Binary(syntax.IN, v[0], v[1])
			return err
		}, x, y))
		return
	}
	members, ok := membersOf(y)
	if !ok || len(members) == 0 {
		return
	}
	for _, m := range members {
		if samplesOf(m) == nil || equal(x.kind, m.kind) {
			return
		}
	}
	s.refused(e, diag.Errorf(diag.Run, "", "", "%s is looked for among values that are %s each",
		withArticle(x.kind.String()), withArticle(members[0].kind.String())).
		WithHint("look for a value of the same type, with the same unit"))
}

// membersOf are the members of a list, tuple or set, and the keys of a dict, if they are known.
func membersOf(r role) (members []role, ok bool) {
	if r.items != nil {
		return r.items, true
	}
	switch c := r.c.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Set, *starlark.Dict:
		const most = 256
		for v := range starlark.Elements(c.(starlark.Iterable)) {
			if len(members) == most {
				return nil, false
			}
			members = append(members, role{kind: kindOf(v)})
		}
		return members, true
	}
	return nil, false
}

// keyed finds look-ups of keys that a dictionary cannot have.
func (s *scan) keyed(at syntax.Node, dict *starlark.Dict, key role) {
	members, ok := membersOf(role{c: dict})
	if !ok || len(members) == 0 || samplesOf(key) == nil {
		return
	}
	for _, m := range members {
		if samplesOf(m) == nil || equal(key.kind, m.kind) {
			return
		}
	}
	s.refused(at, diag.Errorf(diag.Run, "", "", "%s is looked up in a dict whose keys are %s each",
		withArticle(key.kind.String()), withArticle(members[0].kind.String())).
		WithHint("look up a value of the keys' type, with the same unit"))
}

// operated finds arithmetic that can only fail.
func (s *scan) operated(at syntax.Node, op syntax.Token, x, y role) {
	if op == syntax.PERCENT && x.kind == kindText {
		s.formatted(at, x, y)
		return
	}
	s.refused(at, tried(func(v []starlark.Value) error {
		_, err := starlark.Binary(op, v[0], v[1])
		return err
	}, x, y))
}

// formatted finds texts that cannot be formatted so: "%d" of a text.
func (s *scan) formatted(at syntax.Node, format, values role) {
	if format.c == nil {
		return
	}
	operands := values.items
	if operands == nil {
		operands = []role{values}
	}
	s.refused(at, tried(func(v []starlark.Value) error {
		_, err := starlark.Binary(syntax.PERCENT, format.c, append(starlark.Tuple{}, v...))
		return err
	}, operands...))
}

// negated finds signs of values that have none.
func (s *scan) negated(e *syntax.UnaryExpr, x role) {
	if e.Op == syntax.NOT || e.Op == syntax.STAR || e.Op == syntax.STARSTAR {
		return
	}
	s.refused(e, tried(func(v []starlark.Value) error {
		_, err := starlark.Unary(e.Op, v[0])
		return err
	}, x))
}

// attributed is the kind of an attribute of a value; it notes one that the value cannot have.
func (s *scan) attributed(e *syntax.DotExpr, x role) Kind {
	samples := samplesOf(x)
	if samples == nil {
		return kindUnknown
	}
	if a, ok := samples[0].(starlark.HasAttrs); ok {
		if v, err := a.Attr(e.Name.Name); err == nil && v != nil {
			return kindOf(v)
		}
	}
	s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no .%s", withArticle(x.kind.String()), e.Name.Name).
		WithHint("only quantities and texts have attributes: d.ns, n.bytes, t.upper()"))
	return kindUnknown
}

// invoked finds methods of texts whose arguments can only be wrong.
func (s *scan) invoked(e *syntax.CallExpr, x role, name string, args []role) {
	if !plainArgs(e.Args) || samplesOf(x) == nil {
		return
	}
	s.refused(e, tried(func(v []starlark.Value) error {
		a, ok := v[0].(starlark.HasAttrs)
		if !ok {
			return nil // attributed said so
		}
		m, err := a.Attr(name)
		if m == nil || err != nil {
			return nil
		}
		_, err = starlark.Call(&starlark.Thread{Name: name}, m, append(starlark.Tuple{}, v[1:]...), nil)
		return err
	}, append([]role{x}, args...)...))
}

// indexedBy finds indices that can only be wrong.
func (s *scan) indexedBy(e *syntax.IndexExpr, x, index role) {
	if d, ok := x.c.(*starlark.Dict); ok {
		s.keyed(e, d, index)
		return
	}
	samples := samplesOf(x)
	switch {
	case samples == nil:
	case x.kind != kindText:
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no elements", withArticle(x.kind.String())).
			WithHint("only texts, lists, dicts and arrays have elements"))
	case samplesOf(index) != nil && index.kind != kindInt && index.kind != kindUint:
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s is the index of a text, want an int",
			withArticle(index.kind.String())).WithHint("write the number of the byte: name[0]"))
	}
}

// iterated finds loops over values that have no elements.
func (s *scan) iterated(e syntax.Expr, r role) {
	if samplesOf(r) != nil {
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no elements to go through",
			withArticle(r.kind.String())).WithHint("write range(n), or text.elems()"))
	}
}

// An ArgType is what is known of an argument of a call: the Starlark type, "" if it is not known,
// and the name, "" for one that is given by its position.
type ArgType struct{ Name, Type string }

// typeName is the Starlark type of r; "" if it is not known.
func typeName(r role) string {
	switch {
	case r.ev != nil:
		return "event"
	case samplesOf(r) != nil:
		return r.kind.String()
	}
	return ""
}

// pureUniverse are functions of Starlark that can be tried.
var pureUniverse = map[string]bool{
	"abs": true, "all": true, "any": true, "bool": true, "chr": true, "enumerate": true, "float": true,
	"hash": true, "int": true, "len": true, "list": true, "max": true, "min": true, "ord": true,
	"range": true, "repr": true, "reversed": true, "set": true, "sorted": true, "str": true, "tuple": true,
	"type": true, "zip": true,
}

// called finds calls of builtins whose arguments can only be wrong.
func (s *scan) called(e *syntax.CallExpr, f starlark.Callable, args []role) {
	if b, ok := f.(HasNative); ok {
		if types, ok := s.argTypes(e, args); ok {
			s.refused(e, b.Refuses(types))
		}
		return
	}
	name := f.Name()
	if !plainArgs(e.Args) || !pureUniverse[name] || starlark.Universe[name] == nil ||
		starlark.Universe[name].Type() != f.Type() {
		return
	}
	if takesNoEvent(f) && slices.ContainsFunc(args, func(r role) bool { return r.ev != nil }) {
		s.refused(e, diag.Errorf(diag.Run, "", name, "%w", errEvent).
			WithHint("name a field of the event"))
		return
	}
	err := tried(func(v []starlark.Value) error {
		_, err := starlark.Call(&starlark.Thread{Name: name}, starlark.Universe[name],
			append(starlark.Tuple{}, v...), nil)
		return err
	}, args...)
	if err == nil {
		return
	}
	kinds := make([]string, len(args))
	for i, a := range args {
		kinds[i] = a.kind.String()
	}
	s.refused(e, diag.Errorf(diag.Run, "", "", "%s(%s): %s", name, strings.Join(kinds, ", "),
		strings.TrimPrefix(err.Error(), name+": ")).
		WithHint("give it values that it takes; read help(%s)", name))
}

// refusesEvent is the error of a builtin that is given as the function of an event, and takes none.
func refusesEvent(f starlark.Callable) error {
	var err error
	name := f.Name()
	if b, ok := f.(HasNative); ok {
		err = b.Refuses([]ArgType{{Type: "event"}})
	} else if takesNoEvent(f) {
		err = errEvent
	}
	if err == nil {
		return nil
	}
	return (&diag.Error{Op: "function", Subject: name, Class: diag.Run,
		Cause: fmt.Errorf("is called with the event: %w", err)}).WithHint(
		"for a field of that name write it in quotes: %q; else call it: lambda e: %s(e.pid)", name, name)
}

var errEvent = errors.New("got event, want a value")

// takesNoEvent reports a function of Starlark that fails if it is given an event.
func takesNoEvent(f starlark.Callable) bool {
	switch name := f.Name(); name {
	case "bool", "hash", "repr", "str", "type":
		return false
	default:
		return pureUniverse[name] && starlark.Universe[name] != nil &&
			starlark.Universe[name].Type() == f.Type()
	}
}

// argTypes are the types of the arguments of a call; ok is false if there may be others.
func (s *scan) argTypes(e *syntax.CallExpr, args []role) (types []ArgType, ok bool) {
	for _, a := range e.Args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				types = append(types, ArgType{a.X.(*syntax.Ident).Name, typeName(s.byName[a])})
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				return nil, false
			}
		}
		types = append(types, ArgType{"", typeName(args[0])})
		args = args[1:]
	}
	return types, true
}

// uncallable notes a call of a value that is no function.
func (s *scan) uncallable(e *syntax.CallExpr, fn role) {
	if samplesOf(fn) != nil {
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s is called, want a function",
			withArticle(fn.kind.String())).WithHint("write the value without ()"))
	}
}

// counted notes a call of a function of the script with too few or too many arguments.
func (s *scan) counted(e *syntax.CallExpr, f *starlark.Function) {
	n := len(e.Args)
	most := f.NumParams() - f.NumKwonlyParams()
	if f.HasKwargs() {
		most--
	}
	least := required1(f)
	if n >= least && (n <= most || f.HasVarargs()) {
		return
	}
	s.refused(e, diag.Errorf(diag.Run, "", "", "function %s: got %d arguments, want %s", f.Name(), n,
		fmt.Sprint(least)).WithHint("look at its definition: %s", f.Position()))
}
