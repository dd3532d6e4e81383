package builtins

import (
	"fmt"

	"ppscript/runtime/script/frontend"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// A function is the Starlark value of a Builtin, bound to a receiver if it is a
// method.
type function struct {
	decl *Builtin
	recv starlark.Value
}

var _ frontend.HasNative = (*function)(nil)

// Native implements frontend.HasNative.
func (f *function) Native() *frontend.Native { return f.decl.Native }

func (f *function) Name() string          { return f.decl.FullName() }
func (f *function) String() string        { return "<builtin " + f.decl.FullName() + ">" }
func (f *function) Type() string          { return "builtin" }
func (f *function) Truth() starlark.Bool  { return true }
func (f *function) Hash() (uint32, error) { return starlark.String(f.decl.FullName()).Hash() }
func (f *function) Freeze() {
	if f.recv != nil {
		f.recv.Freeze()
	}
}

// CallInternal checks the arguments and runs the implementation. A panic in it
// is a bug of ppscript. It is reported with the builtin's name, not as a Go
// stack.
func (f *function) CallInternal(t *starlark.Thread, args starlark.Tuple,
	kwargs []starlark.Tuple) (v starlark.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, &diag.Error{Op: f.decl.FullName(), Cause: fmt.Errorf("BUG: %v", p),
				Hint: "this is an error of ppscript, not of the script: please report it with the script"}
		}
	}()
	c, err := f.decl.bind(t, f.recv, args, kwargs)
	if err != nil {
		return nil, err
	}
	v, err = f.decl.Impl(c)
	if v == nil && err == nil {
		v = starlark.None
	}
	return v, err
}

// A MethodSet has the methods of one Starlark type. The type's Attr and
// AttrNames call it.
type MethodSet struct {
	typ    string
	byName map[string]*Builtin
	names  []string
}

// Methods collects the declarations among decls that belong to typ.
func Methods(typ string, decls []*Builtin) *MethodSet {
	m := &MethodSet{typ: typ, byName: map[string]*Builtin{}}
	for _, b := range decls {
		if b.Type == typ {
			m.byName[b.Name] = b
			m.names = append(m.names, b.Name)
		}
	}
	return m
}

// Attr returns the method bound to recv, or the value of the attribute. It returns nil without an
// error if there is none; Starlark then makes a message with the nearest name.
func (m *MethodSet) Attr(recv starlark.Value, name string) (starlark.Value, error) {
	if b, ok := m.byName[name]; ok {
		if b.Value != nil {
			return b.Value(recv), nil
		}
		return &function{decl: b, recv: recv}, nil
	}
	return nil, nil
}

// A Step is code that makes a value with other methods, such as ".stacks()"
// after a stream. It is used in messages.
type Step struct {
	Code string
	To   *MethodSet
}

// A Habit maps names that other tools have to the code for what they mean.
type Habit map[string]string

// AttrOr is Attr; of a name that other tools have, or a method that only a later value has, it is an error
// that shows the code.
func (m *MethodSet) AttrOr(recv starlark.Value, name string, habits []Habit, steps ...Step) (
	starlark.Value, error,
) {
	if v, err := m.Attr(recv, name); v != nil || err != nil {
		return v, err
	}
	for _, h := range habits {
		if code := h[name]; code != "" {
			return nil, starlark.NoSuchAttrError(
				fmt.Sprintf("%s has no .%s field or method: write %s", m.typ, name, code))
		}
	}
	for _, s := range steps {
		if _, ok := s.To.byName[name]; ok {
			text := fmt.Sprintf("%s has no .%s field or method: write %s.%[2]s(...)", m.typ, name, s.Code)
			return nil, starlark.NoSuchAttrError(text)
		}
	}
	return nil, nil
}

// Names lists the methods, for AttrNames.
func (m *MethodSet) Names() []string { return m.names }
