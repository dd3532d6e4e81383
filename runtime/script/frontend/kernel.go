package frontend

import (
	"errors"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/native"
	"ppscript/runtime/script"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file handles reads of the kernel's memory in functions: task().comm,
// e.page.flags. A place in that memory has a type, whose members and elements
// are further places; the number or text is read only where a value is needed.
// Wrong names are found when the function is walked, before anything is opened.

// KernelData makes the place in the kernel's memory that a call of a builtin
// returns.
type KernelData = func(k *native.MemoryCall) (*expr.KernelData, error)

// errNoMemory says that the kernel's memory cannot be read.
var errNoMemory = errors.New("the kernel's memory can only be read where the kernel runs: not of a recording")

// errKernelArgs is the error for wrong arguments of a KernelData.
var errKernelArgs = errors.New(
	"an address is wanted, and this is a text; names of types and members are constants")

// constant adds a constant text argument; false if it is not a constant text.
func constant(k *native.MemoryCall, c starlark.Value) bool {
	text, ok := c.(starlark.String)
	if ok {
		k.Texts = append(k.Texts, string(text))
	}
	return ok
}

// pointerField returns the field that a node reads, if its type in the kernel's
// format is a pointer to a structure.
func pointerField(n expr.Node) *event.Field {
	if u, ok := n.(*expr.Unary); ok && u.Op == expr.OpSigned {
		n = u.X
	}
	f, ok := n.(*expr.Field)
	if !ok || !isPointer(f.F) {
		return nil
	}
	return f.F
}

func isPointer(f *event.Field) bool {
	return f.Kind == event.Int && f.Size == 8 && f.Read == nil && strings.HasSuffix(f.Type, "*") &&
		(strings.Contains(f.Type, "struct ") || strings.Contains(f.Type, "union "))
}

// kernelOf returns x as a place in the kernel's memory; nil if it is not one.
func (l *lowerer) kernelOf(at syntax.Position, x val) *expr.KernelData {
	if x.data != nil {
		return x.data
	}
	f := pointerField(x.node)
	if f == nil {
		return nil
	}
	k := l.sc.Services.Kernel
	if k == nil {
		l.refuse(at, "%v", errNoMemory)
	}
	d, err := k.Cast(x.node, f.Type, f.Name)
	l.must(at, err)
	return d
}

// pointedTo is the structure at an address that the field f holds; nil if f is nil or points to no structure
// of the kernel's types.
func pointedTo(k *expr.Kernel, address expr.Node, f *event.Field) *expr.KernelData {
	if f == nil {
		return nil
	}
	d, err := k.Cast(address, f.Type, f.Name)
	if err != nil {
		return nil
	}
	return d
}

// place lowers an expression that is followed by a member or an index. The result
// may be a place in the kernel's memory that is not read yet.
func (s *scopeOf) place(e syntax.Expr) val {
	switch e := script.Unparen(e).(type) {
	case *syntax.DotExpr:
		return s.dot(e)
	case *syntax.IndexExpr:
		return s.index(e)
	case *syntax.CallExpr:
		return s.call(e)
	}
	return s.expr(e)
}

// settled reads the value if v is a place in the kernel's memory.
func (l *lowerer) settled(at syntax.Position, v val) val {
	if v.data == nil || v.node != nil {
		return v
	}
	n, err := v.data.Node()
	l.must(at, err)
	v.node = n
	if v.data.Type.Kind() == kerneltype.Bool {
		v.node = l.truth(at, v)
	}
	return v
}

// kernelCall lowers a call that returns a place in the kernel's memory.
func (s *scopeOf) kernelCall(e *syntax.CallExpr, make KernelData) val {
	k := s.sc.Services.Kernel
	if k == nil {
		s.refuse(e.Lparen, "%v", errNoMemory)
	}
	args := native.MemoryCall{Kernel: k, Schema: s.sc.Schema}
	for _, x := range e.Args {
		v := s.place(x)
		var err error
		if args.Data = v.data; args.Data == nil {
			args.Data = pointedTo(k, v.node, pointerField(v.node))
		}
		switch {
		case v.c != nil && constant(&args, v.c):
		case v.data != nil && v.data.Type.Kind() == kerneltype.Struct: // a structure: its address
			args.Addr, err = v.data.Address()
		default:
			args.Addr = s.nodeOf(e.Lparen, s.settled(e.Lparen, v))
		}
		s.must(e.Lparen, err)
	}
	d, err := make(&args)
	s.must(e.Lparen, err)
	return val{data: d}
}

// kernelMaker returns the KernelData of f; nil if f has none.
func kernelMaker(h *script.Host, f starlark.Value) KernelData {
	if f, ok := f.(starlark.Callable); ok {
		if n := nativeOf(h, f); n != nil {
			return n.Data
		}
	}
	return nil
}

// kernel returns the memory of the kernel; nil if it cannot be read.
func (s *scan) kernel() *expr.Kernel {
	if services := s.m.host.Session.Services; services != nil {
		return services.Kernel
	}
	return nil
}

// wrong records an error in a read of the kernel's memory.
func (s *scan) wrong(at syntax.Node, err error) {
	d := &diag.Error{Cause: err, Class: diag.Run}
	if from, ok := errors.AsType[*diag.Error](err); ok {
		d = from
	}
	s.note(at, d)
}

// dataRole is the role of a place in the kernel's memory.
func (in *inference) dataRole(d *expr.KernelData) role {
	in.memory = d.Path
	r := role{data: d, kind: kindOther}
	switch k := d.Type.Kind(); {
	case d.Type.Text():
		r.kind = kindText
	case k == kerneltype.Bool:
		r.kind = kindBool
	case k == kerneltype.Pointer, !d.Type.Signed() && d.Type.Size() == 8 && k == kerneltype.Int:
		r.kind = kindUint
	case k == kerneltype.Int, k == kerneltype.Char, k == kerneltype.Enum:
		r.kind = kindInt
	}
	return r
}

// dataOf returns the place of x in the kernel's memory; nil if it is not there.
func (s *scan) dataOf(at syntax.Node, x role) *expr.KernelData {
	if x.data != nil || x.pointer == nil {
		return x.data
	}
	k := s.kernel()
	if k == nil {
		return nil
	}
	d, err := k.Cast(expr.NewField(x.pointer, expr.Self), x.pointer.Type, x.pointer.Name)
	if err != nil {
		s.wrong(at, err)
		return nil
	}
	return d
}

// kernelCall returns the role of a call that returns a place in the kernel's
// memory. The address does not matter here.
func (s *scan) kernelCall(e *syntax.CallExpr, of HasNative, make KernelData) role {
	args := native.MemoryCall{Kernel: s.kernel(), Schema: s.schema}
	whole := true
	var roles []role
	for _, x := range e.Args {
		r := s.expr(x)
		roles = append(roles, r)
		s.escaped = s.escaped || r.ev != nil
		if _, text := r.c.(starlark.String); text {
			constant(&args, r.c)
			continue
		}
		whole = whole && r.kind != kindText
		args.Addr = expr.NewUint(0)
		if args.Data = r.data; args.Data == nil && args.Kernel != nil {
			args.Data = pointedTo(args.Kernel, expr.NewUint(0), r.pointer)
		}
	}
	if types, ok := s.argTypes(e, roles); ok && plainArgs(e.Args) {
		s.refused(e, of.Refuses(types))
	}
	if args.Kernel == nil {
		return role{}
	}
	if !whole {
		s.wrong(e, errKernelArgs)
		return role{}
	}
	d, err := make(&args)
	if err != nil {
		s.wrong(e, err)
		return role{}
	}
	return s.dataRole(d)
}

// indexNode returns the node for an index, a constant if it is known.
func indexNode(c starlark.Value) expr.Node {
	if n, ok := c.(starlark.Int); ok {
		if i, ok := n.Int64(); ok {
			return expr.NewInt(i)
		}
	}
	return expr.NewInt(0)
}

// mustCompile returns the error for a function that reads the kernel's memory but
// cannot be compiled, since only programs of the kernel can read it. It returns err
// if the function does not read it.
func (f *Func) mustCompile(err error) error {
	not, ok := errors.AsType[*notLowered](err)
	if !ok || f.memory == "" {
		return err
	}
	d := diag.Errorf(diag.Run, "function", f.Name(),
		"it reads %s, of the kernel's memory, which only a compiled function can, and it cannot be compiled: %s",
		f.memory, not.Reason).
		WithHint("read it in a let() of its own, in front of the function: .let(value = lambda e: %s)",
			f.memory)
	d.Pos = not.Pos
	return d
}
