package frontend

import (
	"errors"
	"fmt"
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file handles lists in a fold's state: {"counts": [0] * 8}. Their length
// is fixed and their elements are numbers of one kind, so that a list is a range
// of slots of the state. So programs of the kernel can have them too.

// maxElements bounds a list of the state.
const maxElements = 256

// newStateList makes a member of the state that is a list.
func newStateList(name string, init *starlark.List) (*stateVar, error) {
	wrong := func(hint, format string, args ...any) error {
		return diag.Errorf(diag.Run, "fold", "state "+name, format, args...).WithHint("%s", hint)
	}
	const example = `the length of a list stays: write for example "counts": [0] * 8`
	if init.Len() == 0 {
		return nil, wrong(example, "is an empty list")
	}
	if init.Len() > maxElements {
		return nil, wrong("spread it over several keys", "has %d elements, at most %d", init.Len(),
			maxElements)
	}

	v := &stateVar{name: name, init: init, kind: kindUnknown}
	for x := range starlark.Elements(init) {
		v.list = append(v.list, x)
		if isZero(x) {
			continue // 0 is an unset element of any kind
		}
		if !kindOf(x).number() {
			return nil, wrong("a list of a state holds numbers", "got a list with a %s", x.Type())
		}
		if v.kind = joinKinds(v.kind, kindOf(x)); !v.kind.number() {
			return nil, wrong("give all elements one kind", "has elements of several kinds")
		}
	}
	switch {
	case v.kind == kindUnknown:
		v.kind, v.weak = kindInt, true
	case v.kind == kindBool && strings.Contains(init.String(), "0"):
		return nil, wrong("give all elements one kind", "has elements of several kinds")
	}
	return v, nil
}

// A StateList is a list of the state as a Starlark value. It is valid during
// the call that received it, and empty afterwards.
type StateList struct {
	s *stateView
	v *stateVar
}

var (
	_ starlark.HasSetIndex = (*StateList)(nil)
	_ starlark.Sequence    = (*StateList)(nil)
)

func (l *StateList) Type() string         { return "fold state list" }
func (l *StateList) Freeze()              {}
func (l *StateList) Truth() starlark.Bool { return l.Len() > 0 }
func (l *StateList) Hash() (uint32, error) {
	return 0, errors.New("unhashable: fold state list")
}

func (l *StateList) String() string {
	return starlark.NewList(l.elements()).String()
}

func (l *StateList) elements() []starlark.Value {
	list := make([]starlark.Value, l.Len())
	for i := range list {
		list[i] = l.Index(i)
	}
	return list
}

func (l *StateList) Len() int {
	if l.s.f == nil {
		return 0
	}
	return len(l.v.list)
}

// Index implements starlark.Indexable; i is in range.
func (l *StateList) Index(i int) starlark.Value {
	return fromWord(l.v.kind, l.s.f.State[l.v.slot+i])
}

// SetIndex implements starlark.HasSetIndex; i is in range.
func (l *StateList) SetIndex(i int, val starlark.Value) error {
	n, err := l.v.word(val)
	if err == nil {
		l.s.f.State[l.v.slot+i] = n
	}
	return err
}

// assign sets all elements; if one value is wrong, it sets none.
func (l *StateList) assign(val starlark.Value) error {
	seq, ok := val.(starlark.Sequence)
	if !ok {
		return fmt.Errorf("state %s: is a list and is assigned a %s", l.v.name, val.Type())
	}
	if seq.Len() != l.Len() {
		return fmt.Errorf("state %s: got %d elements, want %d", l.v.name, seq.Len(), l.Len())
	}

	words := make([]int64, 0, maxElements)
	for x := range starlark.Elements(seq) {
		n, err := l.v.word(x)
		if err != nil {
			return err
		}
		words = append(words, n)
	}
	copy(l.s.f.State[l.v.slot:], words)
	return nil
}

// Iterate implements starlark.Iterable. An element is read when the iteration
// reaches it.
func (l *StateList) Iterate() starlark.Iterator { return &listIterator{list: l} }

type listIterator struct {
	list *StateList
	next int
}

func (it *listIterator) Next(p *starlark.Value) bool {
	if it.next >= it.list.Len() {
		return false
	}
	*p = it.list.Index(it.next)
	it.next++
	return true
}

func (it *listIterator) Done() {}

// element lowers the read of an element of a list.
func (l *lowerer) element(at syntax.Position, m *stateVar, index val) val {
	n, err := expr.NewLoadElem(m.slot, len(m.list), m.kind.Type.Plain(), l.indexNode(at, index))
	l.must(at, err)
	return val{node: n, unit: m.kind.Unit}
}

// elements lowers the read of all elements.
func (l *lowerer) elements(at syntax.Position, m *stateVar) []val {
	list := make([]val, len(m.list))
	for i := range list {
		list[i] = l.element(at, m, val{c: starlark.MakeInt(i)})
	}
	return list
}

func (l *lowerer) indexNode(at syntax.Position, index val) expr.Node {
	if !isInt(index) || unitOf(index) != 0 {
		l.refuse(at, "a list is indexed by a %s", typeOf(index))
	}
	n, err := expr.NewUnary(expr.OpSigned, l.nodeOf(at, index))
	l.must(at, err)
	return n
}

// storeElement lowers an assignment to an element of a list.
func (p *proc) storeElement(at syntax.Position, m *stateVar, index, v val) {
	n := p.stored(at, m, v)
	st, err := expr.NewStoreElem(m.slot, len(m.list), p.indexNode(at, index), n)
	p.must(at, err)
	p.add(st)
}

// changeElement lowers list[i] += v and the like; the index is evaluated once.
func (p *proc) changeElement(e *syntax.BinaryExpr, m *stateVar, index syntax.Expr) {
	if e.Op == syntax.LTLT || e.Op == syntax.GTGT {
		p.refuse(e.OpPos, "an element is shifted in place") // Starlark has other limits
	}
	at := p.keep(e.OpPos, nil, p.expr(index))
	if at.node != nil {
		at.node = p.indexNode(e.OpPos, at)
	}
	old := p.element(e.OpPos, m, at)
	p.storeElement(e.OpPos, m, at, p.operate(e, old, p.expr(e.Y)))
}

// storeList lowers an assignment of all elements from a constant or another
// list.
func (p *proc) storeList(at syntax.Position, m *stateVar, v val) {
	var list []val
	switch seq, ok := v.c.(starlark.Sequence); {
	case v.list != nil:
		list = p.elements(at, v.list)
	case ok:
		for x := range starlark.Elements(seq) {
			list = append(list, val{c: x})
		}
	default:
		p.refuse(at, "state %s is a list and is assigned a %s", m.name, typeOf(v))
	}
	if len(list) != len(m.list) {
		p.refuse(at, "state %s is assigned a list of %d elements", m.name, len(list))
	}
	for i, x := range list {
		p.storeElement(at, m, val{c: starlark.MakeInt(i)}, x)
	}
}

// elementRole is the role of an element of a list.
func (v *stateVar) elementRole() role {
	return role{kind: v.kind, weak: v.weak && v.kind == kindInt, from: v.from}
}

// storeAll records that all elements of a list are assigned.
func (s *scan) storeAll(at syntax.Node, v *stateVar, r role) {
	wrong := func(format string, args ...any) {
		s.fail(at, diag.Errorf(diag.Run, "fold", "state "+v.name, format, args...).
			WithHint("assign a list of %d numbers", len(v.list)))
	}
	seq, ok := r.c.(starlark.Sequence)
	switch {
	case r.list != nil && len(r.list.list) != len(v.list):
		wrong("has %d elements and is assigned %d", len(v.list), len(r.list.list))
	case r.list != nil:
		if x := r.list.elementRole(); !x.weak {
			s.storeOne(at, v, x)
		}
	case ok && seq.Len() != len(v.list):
		wrong("has %d elements and is assigned %d", len(v.list), seq.Len())
	case ok:
		for x := range starlark.Elements(seq) {
			s.storeOne(at, v, role{kind: kindOf(x), c: x})
		}
	case r.kind.state == typed || r.kind == kindNone:
		wrong("is a list and is assigned a %s", r.kind)
	}
}

// indexed checks an index of a list.
func (s *scan) indexed(at syntax.Node, v *stateVar, index role) {
	if k := index.kind; k.state == typed && k != kindInt && k != kindUint {
		s.fail(at, diag.Errorf(diag.Run, "fold", "state "+v.name, "is indexed by a %s", k).
			WithHint("an index is a number from 0 to %d", len(v.list)-1))
	}
}

// contents are the kinds of arguments; for a list, the kinds of its elements.
func contents(args []role) []role {
	list := make([]role, len(args))
	for i, a := range args {
		if list[i] = a; a.list != nil {
			list[i] = a.list.elementRole()
		}
	}
	return list
}
