package cexpr

import (
	"errors"
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/expr/native"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
)

// This file lowers expressions that read the kernel's memory: members of
// structures that a pointer points to, task(), casts. The kernel's types (BTF)
// have the offsets.

// addKernel adds the functions that read the kernel's memory and are not in package native.
func addKernel(m map[string]Builtin) {
	m["command_line"] = Builtin{"command_line()", 0, 0, lowerCommandLine}
	m["kernel_string"] = Builtin{"kernel_string(address)", 1, 1, lowerKernelText}
}

// errNoMemory says that the kernel's memory cannot be read.
var errNoMemory = errors.New("the kernel's memory can only be read where the kernel runs: not of a recording")

// memoryCall lowers a call whose result is a place in the kernel's memory.
func (k *Call) memoryCall(f *native.Function) (expr.Node, error) {
	call := native.MemoryCall{Kernel: k.l.sc.Services.Kernel, Schema: k.l.sc.Schema, Path: k.At.String()}
	for i := range k.Args {
		var err error
		if f.Params[i].Kind == native.Name {
			var text string
			text, err = k.ConstStr(i)
			call.Texts = append(call.Texts, text)
		} else if call.Data = k.place(i); call.Data == nil || f.Params[i].Kind != native.Typed {
			call.Addr, err = k.Int(i)
		}
		if err != nil {
			return nil, err
		}
	}
	if call.Kernel == nil {
		return nil, k.Errorf(-1, "%v", errNoMemory)
	}
	d, err := f.Memory(&call)
	if err != nil {
		return nil, k.l.kernelError(k.At, err)
	}
	k.kernel = d
	return nil, nil
}

// place returns argument i as a place in the kernel's memory; nil if it is none.
func (k *Call) place(i int) *expr.KernelData {
	v, err := k.l.expr(k.Args[i])
	if err != nil {
		return nil
	}
	d, _, err := k.l.inKernel(k.Args[i], v)
	if err != nil {
		return nil
	}
	return d
}

// lowerCommandLine is command_line().
func lowerCommandLine(k *Call) (expr.Node, error) {
	m := k.l.sc.Services.Kernel
	if m == nil {
		return nil, k.Errorf(-1, "%v", errNoMemory)
	}
	n, err := m.CommandLine()
	if err != nil {
		return nil, k.l.kernelError(k.At, err)
	}
	return n, nil
}

// lowerKernelText is kernel_string(address).
func lowerKernelText(k *Call) (expr.Node, error) {
	v, err := k.l.expr(k.Args[0])
	if err != nil {
		return nil, err
	}
	if v.text != nil {
		return v.text, nil
	}
	m := k.l.sc.Services.Kernel
	if m == nil {
		return nil, k.Errorf(-1, "%v", errNoMemory)
	}
	addr, err := k.Int(0)
	if err != nil {
		return nil, err
	}
	n, err := m.TextAt(addr, k.At.String())
	if err != nil {
		return nil, k.l.kernelError(k.At, err)
	}
	return n, nil
}

// inKernel returns x as a place in the kernel's memory; ok is false for
// numbers, events and other values.
func (l *lowerer) inKernel(at c.Node, x value) (d *expr.KernelData, ok bool, err error) {
	switch k := l.sc.Services.Kernel; {
	case x.kernel != nil:
		return x.kernel, true, nil
	case x.record != nil || x.t.Kind != c.Ptr || x.t.Elem.Kind != c.Record || x.n == nil:
		return nil, false, nil
	case k == nil:
		return nil, true, errNoMemory
	default:
		d, err = k.Cast(x.n, x.t.String(), at.String())
		return d, true, err
	}
}

// kernelValue returns a place in the kernel's memory as a value with its C
// type.
func (l *lowerer) kernelValue(at c.Node, d *expr.KernelData, err error) (value, error) {
	if err != nil {
		return value{}, l.kernelError(at, err)
	}
	v := value{kernel: d, t: kernelCType(d.Type)}
	if kind := d.Type.Kind(); kind == kerneltype.Struct || kind == kerneltype.Void ||
		kind == kerneltype.Array && !d.Type.Text() {
		return v, nil
	}
	n, err := d.Node()
	if err != nil {
		return v, l.kernelError(at, err)
	}
	if n.Type().Kind == expr.Str {
		v.text = n
	} else {
		v.n = n
	}
	return v, nil
}

// kernelCType returns a type of the kernel as a C type, for conversions.
func kernelCType(t kerneltype.Type) *c.Type {
	switch t.Kind() {
	case kerneltype.Int, kerneltype.Char, kerneltype.Enum:
		return c.Basic(t.Size(), !t.Signed())
	case kerneltype.Bool:
		return c.TBool
	case kerneltype.Pointer, kerneltype.Array:
		if t.Text() {
			return tCharPtr
		}
		return c.PtrTo(&c.Type{Kind: c.Record, Name: t.Elem().String()})
	}
	return &c.Type{Kind: c.Record, Name: t.String()}
}

// kernelError adds the position in the expression to an error, and keeps its
// hint.
func (l *lowerer) kernelError(at c.Node, err error) error {
	if err == nil {
		return nil
	}
	e := l.errorf(at, "%w", err)
	var d, from *diag.Error
	if errors.As(e, &d) && errors.As(err, &from) {
		d.Cause = from.Cause
		if from.Hint != "" {
			return d.WithHint("%s", from.Hint)
		}
	}
	return e
}

// enumerator returns the value of an enumerator of the kernel. Their names have capital
// letters, so other names are not searched. err suggests a similar name.
func (l *lowerer) enumerator(name string) (n int64, ok bool, err error) {
	k := l.sc.Services.Kernel
	if k == nil || strings.ToUpper(name[:1]) != name[:1] || name[0] == '_' {
		return 0, false, nil
	}
	n, err = k.Types.Enumerator(name)
	return n, err == nil, err
}
