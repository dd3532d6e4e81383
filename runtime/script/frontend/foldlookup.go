package frontend

import (
	"fmt"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file lets functions of one fold read the state of another: running.at(e.pid).since is
// the member since of the fold running's state for the key e.pid, at that moment. A key
// without a state has the initial one, as in the fold itself.

// FoldStream is a stream whose fold functions can look up. Machine is nil for other streams.
type FoldStream interface {
	starlark.Value
	Machine() *Machine
}

// at is the name of the method for such look-ups.
const at = "at"

// askedIn lists the folds whose state functions read.
func askedIn(h *script.Host, fns ...*stepFunc) (found []FoldStream) {
	seen := map[*starlark.Function]bool{}
	var look func(fn *starlark.Function)
	look = func(fn *starlark.Function) {
		tree := h.Syntax(fn)
		if tree == nil || seen[fn] {
			return
		}
		seen[fn] = true
		syntax.Walk(tree.Node, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DotExpr:
				if a := askedBy(h, fn, n); a != nil {
					found = append(found, a)
				}
			case *syntax.CallExpr:
				if id, ok := n.Fn.(*syntax.Ident); ok {
					if f, ok := h.ValueOf(fn, id).(*starlark.Function); ok {
						look(f)
					}
				}
			}
			return true
		})
	}
	for _, f := range fns {
		if f == nil {
			continue
		}
		if fn, ok := f.fn.(*starlark.Function); ok {
			look(fn)
		}
	}
	return found
}

// askedBy returns the fold's stream if e is its method at; else nil.
func askedBy(h *script.Host, fn *starlark.Function, e *syntax.DotExpr) FoldStream {
	id, ok := script.Unparen(e.X).(*syntax.Ident)
	if !ok || e.Name.Name != at {
		return nil
	}
	if a, ok := h.ValueOf(fn, id).(FoldStream); ok && a.Machine() != nil {
		return a
	}
	return nil
}

// askedMember returns the fold and the key if e has the form
// running.at(key).member; else nil.
func askedMember(h *script.Host, fn *starlark.Function, e *syntax.DotExpr) (m *Machine, key syntax.Expr) {
	call, ok := script.Unparen(e.X).(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || !plainArgs(call.Args) {
		return nil, nil
	}
	dot, ok := call.Fn.(*syntax.DotExpr)
	if !ok {
		return nil, nil
	}
	if a := askedBy(h, fn, dot); a != nil {
		return a.Machine(), call.Args[0]
	}
	return nil, nil
}

// Asks lists the streams of folds whose state the functions read.
func (m *Machine) Asks() []FoldStream {
	list := askedIn(m.host, m.step, m.flush)
	for _, a := range list {
		a.Machine().silent = true
	}
	return list
}

// askRole returns the role of a member of another fold's state.
func (s *scan) askRole(e *syntax.DotExpr, of *Machine, key syntax.Expr) role {
	s.value(key)
	if s.m.step == nil {
		s.note(e, diag.Errorf(diag.Run, at, "", "asks for a state outside of the functions of a fold").
			WithHint("ask in the step function of a fold, and emit what it tells"))
		return role{}
	}
	v := of.find(e.Name.Name)
	switch {
	case v == nil:
		s.fail(e.Name, diag.Errorf(diag.Run, at, "", "the state has no member %s%s", e.Name.Name,
			diag.DidYouMean(e.Name.Name, of.names())).
			WithHint("its members are given to its fold: state = {...}"))
		return role{}
	case v.list != nil:
		s.fail(e.Name, diag.Errorf(diag.Run, at, e.Name.Name, "is a list").
			WithHint("ask for numbers and texts"))
		return role{}
	}
	return role{kind: v.kind, unsure: v.weak}
}

// ask lowers the read of a member of another fold's state.
func (s *scopeOf) ask(e *syntax.DotExpr, of *Machine, key syntax.Expr) val {
	v := of.find(e.Name.Name)
	if s.machine == nil || v == nil || v.list != nil {
		s.refuse(e.Dot, "a state that cannot be asked for")
	}
	k := s.nodeOf(e.Dot, s.expr(key))
	n, err := expr.NewAsk(of, v.slot, v.kind.Type.Plain(), k)
	s.must(e.Dot, err)
	return val{node: n, unit: v.kind.Unit}
}

// An askedState is the state of another fold as a Starlark value, at the moment of the
// look-up.
type askedState struct {
	m       *Machine
	members []starlark.Value
}

var _ starlark.HasAttrs = (*askedState)(nil)

func (s *askedState) String() string        { return "<fold state>" }
func (s *askedState) Type() string          { return "fold state" }
func (s *askedState) Freeze()               {}
func (s *askedState) Truth() starlark.Bool  { return true }
func (s *askedState) AttrNames() []string   { return s.m.names() }
func (s *askedState) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: fold state") }

// Attr reads a member.
func (s *askedState) Attr(name string) (starlark.Value, error) {
	for i, v := range s.m.vars {
		if v.name == name {
			return s.members[i], nil
		}
	}
	return nil, nil
}

// At is the builtin at, which an interpreted function of a fold calls.
func At(t *starlark.Thread, of FoldStream, key starlark.Value) (starlark.Value, error) {
	m := of.Machine()
	s, _ := t.Local(foldKey).(*stateView)
	if m == nil {
		return nil, diag.Errorf(diag.Run, at, "", "the stream is not what a fold emits").
			WithHint("ask a fold: running = stream.fold(...), running.at(key)")
	}
	if s == nil || s.f == nil {
		return nil, diag.Errorf(diag.Run, at, "", "asks for a state outside of the functions of a fold").
			WithHint("ask in the step function of a fold, and emit what it tells")
	}
	var k expr.Arg
	if text, ok := key.(starlark.String); ok {
		k = expr.Arg{Kind: expr.Str, S: []byte(string(text))}
	} else if n, ok := toWord(key); ok {
		k = expr.Arg{Kind: expr.Int, I: n}
	} else {
		return nil, fmt.Errorf("at: got a %s as key, want a number or a text", key.Type())
	}
	numbers, texts := s.f.Ask(m, k)
	if s.f.Err != nil {
		return nil, s.f.Err
	}
	state := &askedState{m: m}
	for _, v := range m.vars {
		var x starlark.Value = starlark.None
		switch {
		case v.texts:
			x = starlark.String(string(texts[v.slot]))
		case v.list == nil:
			x = fromWord(v.kind, numbers[v.slot])
		}
		state.members = append(state.members, x)
	}
	return state, nil
}
