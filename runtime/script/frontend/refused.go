package frontend

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/eventview"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file finds operations that fail for every event, because an operator, a method or a
// function does not support the kinds of its operands. It has no table of Starlark's rules.
// Instead it tries the operation with sample values of these kinds; if all attempts fail, that is
// an error. An unknown kind has no samples, and an operand that may be None has several kinds, so
// code after a test such as "if o.limit" is not checked.

// samplesOf returns sample values of the kind of r; nil if the kind is unknown.
func samplesOf(r role) []starlark.Value {
	if r.ev != nil && !r.ev.silent {
		return []starlark.Value{anEvent}
	}
	if r.ev != nil || r.state || r.list != nil || r.weak || r.unsure || r.pointer != nil {
		return nil
	}
	if (r.kind == kindText || r.kind == kindOther) && r.c != nil {
		return []starlark.Value{r.c}
	}
	if r.sample != nil {
		return []starlark.Value{r.sample}
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

// anEvent is the sample for events: an invalid View.
var anEvent = eventview.New()

// someFunction is the sample for functions.
var someFunction = starlark.NewBuiltin("function",
	func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.None, nil
	})

// sampleOfEach returns a sample of each value; ok is false if the kind of one is
// unknown.
func sampleOfEach(list []role) (values []starlark.Value, ok bool) {
	for _, r := range list {
		samples := samplesOf(r)
		if samples == nil {
			return nil, false
		}
		values = append(values, samples[0])
	}
	return values, true
}

// displayed is the role of a list or tuple display.
func displayed(items []role, tuple bool) role {
	r := role{kind: kindOther, items: items, tuple: tuple}
	if values, ok := sampleOfEach(items); ok && tuple {
		r.sample = starlark.Tuple(values)
	} else if ok {
		r.sample = starlark.NewList(values)
	}
	return r
}

// nameOf is the Starlark type of a value that has samples.
func nameOf(r role) string {
	if r.kind != kindOther {
		return r.kind.String()
	}
	if t := samplesOf(r)[0].Type(); t != "builtin_function_or_method" {
		return t
	}
	return "function"
}

// tried returns the error of an operation if it fails for all samples of its operands; nil if it
// can succeed, or if the kind of an operand is unknown.
func tried(op func(args []starlark.Value) error, operands ...role) error {
	args := make([]starlark.Value, len(operands))
	var failed error
	const most = 256 // calls with more arguments are not checked
	tries := 0
	var next func(i int) bool // reports that it can succeed
	next = func(i int) bool {
		if i == len(operands) {
			failed = op(args)
			tries++
			return failed == nil || tries > most
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

// refused records the error that the expression at a position can only fail.
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

// compared finds comparisons that make no sense: texts with numbers, times with sizes. A plain
// number compared with a duration or a size is in its base unit.
func (s *scan) compared(e *syntax.BinaryExpr, x, y role) {
	if samplesOf(x) == nil || samplesOf(y) == nil || x.kind != kindOther && comparable(x.kind, y.kind) {
		return
	}
	if x.kind == kindOther || y.kind == kindOther {
		if nameOf(x) == "int" && x.kind == kindOther || nameOf(y) == "int" && y.kind == kindOther {
			return // a number of more than 64 bits
		}
		if nameOf(x) == nameOf(y) {
			s.refused(e, tried(func(v []starlark.Value) error {
				_, err := starlark.Compare(e.Op, v[0], v[1])
				return err
			}, x, y))
			return
		}
	}
	d := diag.Errorf(diag.Run, "", "", "%s is compared with %s",
		withArticle(nameOf(x)), withArticle(nameOf(y)))
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

// comparable reports that values of two kinds can be equal.
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

// equal reports that "in" can find a value of one kind among values of the other; it ignores
// units.
func equal(x, y Kind) bool { return comparable(x, y) && x.Unit == y.Unit }

// sought finds uses of "in" that can never be true.
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
	if !ok {
		s.refused(e, tried(func(v []starlark.Value) error {
			_, err := starlark.Binary(syntax.IN, v[0], v[1])
			return err
		}, x, y))
	}
	if !ok || len(members) == 0 {
		return
	}
	for _, m := range members {
		if samplesOf(m) == nil || equal(x.kind, m.kind) {
			return
		}
	}
	s.refused(e, diag.Errorf(diag.Run, "", "", "%s is looked for among values that are %s each",
		withArticle(nameOf(x)), withArticle(nameOf(members[0]))).
		WithHint("look for a value of the same type, with the same unit"))
}

// membersOf returns the elements of a list, tuple or set, or the keys of a dict, if they are
// known.
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
		withArticle(nameOf(key)), withArticle(nameOf(members[0]))).
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

// formatted finds formats that do not fit their values: "%d" of a text.
func (s *scan) formatted(at syntax.Node, format, values role) {
	if format.c == nil {
		return
	}
	operands := []role{values}
	if values.tuple {
		operands = values.items
	}
	s.refused(at, tried(func(v []starlark.Value) error {
		_, err := starlark.Binary(syntax.PERCENT, format.c, append(starlark.Tuple{}, v...))
		return err
	}, operands...))
}

// negated finds unary operators on values that do not support them.
func (s *scan) negated(e *syntax.UnaryExpr, x role) {
	if e.Op == syntax.NOT || e.Op == syntax.STAR || e.Op == syntax.STARSTAR {
		return
	}
	s.refused(e, tried(func(v []starlark.Value) error {
		_, err := starlark.Unary(e.Op, v[0])
		return err
	}, x))
}

// attributed returns the role of an attribute of a value, and records an error if the value
// cannot have it.
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
	s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no .%s", withArticle(nameOf(x)), e.Name.Name).
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
			return nil // attributed reports the error
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
	samples := samplesOf(x)
	if samples == nil {
		return
	}
	if d, ok := samples[0].(*starlark.Dict); ok {
		s.keyed(e, d, index)
		return
	}
	_, indexable := samples[0].(starlark.Indexable)
	_, mapping := samples[0].(starlark.Mapping)
	switch {
	case mapping: // another type, which has its own message
	case !indexable:
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no elements", withArticle(nameOf(x))).
			WithHint("only texts, lists, dicts and arrays have elements"))
	case samplesOf(index) != nil && index.kind != kindInt && index.kind != kindUint:
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s is the index of a %s, want an int",
			withArticle(nameOf(index)), nameOf(x)).WithHint("write a number: name[0]"))
	}
}

// iterated finds loops over values without elements.
func (s *scan) iterated(e syntax.Expr, r role) {
	samples := samplesOf(r)
	if samples == nil {
		return
	}
	if _, ok := samples[0].(starlark.Iterable); !ok {
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no elements to go through",
			withArticle(nameOf(r))).WithHint("write range(n), or text.elems()"))
	}
}

// sliced finds slices of values that do not support them, and bounds that are
// not numbers.
func (s *scan) sliced(e *syntax.SliceExpr, x role, bounds []role) {
	if samples := samplesOf(x); samples != nil {
		if _, ok := samples[0].(starlark.Sliceable); !ok {
			s.refused(e, diag.Errorf(diag.Run, "", "", "%s has no parts", withArticle(nameOf(x))).
				WithHint("only texts, lists and arrays have parts"))
		}
	}
	for _, b := range bounds {
		if samplesOf(b) != nil && b.kind != kindInt && b.kind != kindUint {
			s.refused(e, diag.Errorf(diag.Run, "", "", "%s is the bound of a part, want an int",
				withArticle(nameOf(b))).WithHint("write numbers: name[0:4]"))
		}
	}
}

// Gives returns an error if the result of the function can only be wrong: a dict, a function, an
// event; or a value other than a number, if numbers are needed.
func (f *Func) Gives(sc *expr.Scope, want expr.Kind) error {
	number := want == expr.Int || want == expr.Float
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		if number && builtinKind(f.fn, []role{{kind: kindOther}}) == kindText {
			return diag.Errorf(diag.Run, "function", f.fn.Name(), "gives a string, want a number").
				WithHint("give a field of the event, or what is computed of it")
		}
		return nil
	}
	in := &inference{m: &Machine{host: f.t.Host()}}
	r := in.enter(fn, []role{{ev: subjectOf([]*expr.Scope{sc}), kind: kindOther}}, true, 0)
	name, wanted := "", "a number, a text, a duration or a tuple of these"
	switch samples := samplesOf(r); {
	case r.ev != nil:
		name = "event"
	case r.kind == kindNone && !r.unsure && number:
		name, wanted = "None", "a number"
	case samples == nil:
		return nil
	case want == expr.Int && r.kind == kindFloat && !r.unsure:
		return f.t.Host().At(fn.Position(), diag.Errorf(diag.Run, "function", fn.Name(),
			"gives a float, want an integer").WithHint("divide by //, or write int(...) around it"))
	case number:
		if k := r.kind; k.number() || k == kindFloat {
			return nil
		}
		name, wanted = nameOf(r), "a number"
	default:
		if _, err := value.FromStarlark(samples[0]); err == nil {
			return nil
		}
		name = nameOf(r)
	}
	return f.t.Host().At(fn.Position(), diag.Errorf(diag.Run, "function", fn.Name(), "gives %s, want %s",
		withArticle(name), wanted).WithHint("give a field of the event, or what is computed of it"))
}

// An ArgType has the inferred facts about an argument of a call.
type ArgType struct {
	Name  string         // "" for one that is given by its position
	Type  string         // the Starlark type, "" if it is not known
	Value starlark.Value // value of a constant text
}

// argOf returns the ArgType of an argument.
func argOf(name string, r role) ArgType {
	a := ArgType{Name: name, Type: typeName(r)}
	if r.kind == kindText && r.c != nil && a.Type != "" {
		a.Value = r.c
	}
	return a
}

// typeName is the Starlark type of r; "" if unknown.
func typeName(r role) string {
	switch {
	case r.ev != nil:
		return "event"
	case samplesOf(r) != nil:
		return nameOf(r)
	}
	return ""
}

// pureUniverse are the functions of Starlark that can be tried.
var pureUniverse = map[string]bool{
	"abs": true, "all": true, "any": true, "bool": true, "bytes": true, "chr": true, "dict": true, "dir": true,
	"enumerate": true, "float": true, "hasattr": true, "hash": true, "int": true, "len": true, "list": true,
	"max": true, "min": true, "ord": true, "range": true, "repr": true, "reversed": true, "set": true,
	"sorted": true, "str": true, "tuple": true, "type": true, "zip": true,
}

// called finds calls of builtins whose arguments can only be wrong.
func (s *scan) called(e *syntax.CallExpr, f starlark.Callable, args []role) {
	name := f.Name()
	if b, ok := f.(HasNative); ok {
		types, ok := s.argTypes(e, args)
		if !ok {
			return
		}
		err := b.Refuses(types)
		if n := b.Native(); err == nil && n != nil && n.Pure {
			err = s.triedCall(e, f, args)
		}
		s.refused(e, err)
		return
	}
	if !plainArgs(e.Args) || !pureUniverse[name] || starlark.Universe[name] == nil ||
		starlark.Universe[name].Type() != f.Type() {
		return
	}
	isEvent := func(r role) bool { return r.ev != nil && !r.ev.silent }
	if takesNoEvent(f) && slices.ContainsFunc(args, isEvent) {
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
		kinds[i] = nameOf(a)
	}
	s.refused(e, diag.Errorf(diag.Run, "", "", "%s(%s): %s", name, strings.Join(kinds, ", "),
		strings.TrimPrefix(err.Error(), name+": ")).
		WithHint("give it values that it takes; read help(%s)", name))
}

// triedCall returns the error if all calls of f with values of these kinds
// fail.
func (s *scan) triedCall(e *syntax.CallExpr, f starlark.Callable, args []role) error {
	plain := len(args)
	var names []starlark.Value
	for _, a := range e.Args {
		if a, ok := a.(*syntax.BinaryExpr); ok && a.Op == syntax.EQ {
			names = append(names, starlark.String(a.X.(*syntax.Ident).Name))
			args = append(args[:len(args):len(args)], s.byName[a])
		}
	}
	return tried(func(v []starlark.Value) error {
		var named []starlark.Tuple
		for i, name := range names {
			named = append(named, starlark.Tuple{name, v[plain+i]})
		}
		given := append(starlark.Tuple{}, v[:plain]...)
		_, err := starlark.Call(&starlark.Thread{Name: f.Name()}, f, given, named)
		return err
	}, args...)
}

// refusesEvent returns the error for a builtin that is used as a per-event function but does not
// accept events.
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

// takesNoEvent reports that a function of Starlark fails if its argument is an
// event.
func takesNoEvent(f starlark.Callable) bool {
	switch name := f.Name(); name {
	case "bool", "dir", "hasattr", "repr", "str", "type":
		return false
	default:
		return pureUniverse[name] && starlark.Universe[name] != nil &&
			starlark.Universe[name].Type() == f.Type()
	}
}

// argTypes returns the types of the arguments of a call; ok is false if there may be
// more arguments.
func (s *scan) argTypes(e *syntax.CallExpr, args []role) (types []ArgType, ok bool) {
	for _, a := range e.Args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				types = append(types, argOf(a.X.(*syntax.Ident).Name, s.byName[a]))
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				return nil, false
			}
		}
		types = append(types, argOf("", args[0]))
		args = args[1:]
	}
	return types, true
}

// uncallable records an error for a call of a value that is not a function.
func (s *scan) uncallable(e *syntax.CallExpr, fn role) {
	samples := samplesOf(fn)
	if samples == nil {
		return
	}
	if _, ok := samples[0].(starlark.Callable); !ok {
		s.refused(e, diag.Errorf(diag.Run, "", "", "%s is called, want a function",
			withArticle(nameOf(fn))).WithHint("write the value without ()"))
	}
}

// counted records an error for a call of a function of the script with too few or too
// many arguments.
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
