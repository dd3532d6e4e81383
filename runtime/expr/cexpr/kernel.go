package cexpr

import (
	"errors"
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
)

// This file lowers what expressions read of the kernel's memory: members of what a
// pointer points to, task(), casts. The kernel's types say what lies where.

// addKernel adds the functions that lead into the kernel's memory. Types and
// members are written as texts, so that both languages write them alike.
func addKernel(m map[string]Builtin) {
	m["task"] = Builtin{"task()", 0, 0, func(k *Call) (expr.Node, error) {
		return k.kernelData((*expr.Kernel).Task)
	}}
	m["cgroup"] = Builtin{"cgroup()", 0, 0, func(k *Call) (expr.Node, error) {
		return k.kernelData((*expr.Kernel).Cgroup)
	}}
	m["per_cpu"] = Builtin{`per_cpu("runqueues", cpu)`, 1, 2, func(k *Call) (expr.Node, error) {
		name, err := k.ConstStr(0)
		if err != nil {
			return nil, err
		}
		var cpu expr.Node
		if len(k.Args) == 2 {
			if cpu, err = k.Int(1); err != nil {
				return nil, err
			}
		}
		return k.kernelData(func(m *expr.Kernel) (*expr.KernelData, error) { return m.PerCPU(name, cpu) })
	}}
	m["trace_arg"] = Builtin{`trace_arg("prev")`, 1, 1, func(k *Call) (expr.Node, error) {
		name, err := k.ConstStr(0)
		if err != nil {
			return nil, err
		}
		return k.kernelData(func(m *expr.Kernel) (*expr.KernelData, error) {
			return m.Argument(k.l.sc.Schema, name)
		})
	}}
	m["cast"] = Builtin{`cast(address, "struct request")`, 2, 2, lowerKernelCast}
	m["container_of"] = Builtin{`container_of(address, "struct task_struct", "se")`, 3, 3, lowerKernelCast}
	m["kernel_string"] = Builtin{"kernel_string(address)", 1, 1, lowerKernelText}
}

// errNoMemory says that nothing can be read.
var errNoMemory = errors.New("the kernel's memory can only be read where the kernel runs: not of a recording")

// kernelData has the call be something in the kernel's memory.
func (k *Call) kernelData(find func(*expr.Kernel) (*expr.KernelData, error)) (expr.Node, error) {
	m := k.l.sc.Services.Kernel
	if m == nil {
		return nil, k.Errorf(-1, "%v", errNoMemory)
	}
	d, err := find(m)
	if err != nil {
		return nil, k.l.kernelError(k.At, err)
	}
	k.kernel = d
	return nil, nil
}

// lowerKernelCast is cast or container_of.
func lowerKernelCast(k *Call) (expr.Node, error) {
	addr, err := k.Int(0)
	if err != nil {
		return nil, err
	}
	decl, err := k.ConstStr(1)
	if err != nil {
		return nil, err
	}
	member := ""
	if len(k.Args) == 3 {
		if member, err = k.ConstStr(2); err != nil {
			return nil, err
		}
	}
	return k.kernelData(func(m *expr.Kernel) (*expr.KernelData, error) {
		if member != "" {
			return m.Container(addr, decl, member, k.At.String())
		}
		return m.Cast(addr, decl, k.At.String())
	})
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

// inKernel is x as something in the kernel's memory; ok is false if it is not
// there: a number, an event.
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

// kernelValue is something in the kernel's memory as C sees it.
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

// kernelCType is a type of the kernel as C's conversions need it.
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

// kernelError puts the place in the expression on an error, and keeps its hint.
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

// enumerator is the value of an enumerator of the kernel. Their names have capital
// letters, which spares those of fields the search. err says which name was meant, perhaps.
func (l *lowerer) enumerator(name string) (n int64, ok bool, err error) {
	k := l.sc.Services.Kernel
	if k == nil || strings.ToUpper(name[:1]) != name[:1] || name[0] == '_' {
		return 0, false, nil
	}
	n, err = k.Types.Enumerator(name)
	return n, err == nil, err
}
