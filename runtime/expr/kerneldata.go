package expr

import (
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
)

// This file makes reads of the kernel's memory from paths like
// e.file.f_path.dentry: the address in the field file, plus the offset of
// f_path in struct file, plus the offset of dentry in struct path, is the
// address to read. Both front ends use it. A read is made only when the number
// or text at the end of a path is needed.

// A KernelData is a typed place in the kernel's memory, or the value of a
// pointer to such a place.
type KernelData struct {
	Type kerneltype.Type
	// Path is the text of the expression in the script, for messages and the
	// field's name.
	Path string

	k    *Kernel
	base Node // an address, or the value
	off  int
	lies bool // it is in memory at base + off; else base is its value
	// bits is the width of a bit field, which is shift bits above base + off.
	bits, shift int
	// text is the text if it is not at an address, as a path; nil for all others.
	text Node
}

// Task is the running task.
func (k *Kernel) Task() (*KernelData, error) {
	t, err := k.Types.Named("struct task_struct *")
	return &KernelData{Type: t, Path: "task()", k: k, base: &TaskAddr{}}, err
}

// Cgroup is the cgroup of the running task, in the hierarchy of version 2.
func (k *Kernel) Cgroup() (*KernelData, error) {
	task, err := k.Task()
	if err != nil {
		return nil, err
	}
	d, err := task.walk("cgroups", "dfl_cgrp")
	if err != nil {
		return nil, err
	}
	d.Path = "cgroup()"
	return d, nil
}

// walk follows members.
func (d *KernelData) walk(names ...string) (*KernelData, error) {
	var err error
	for _, name := range names {
		if d, err = d.Member(name); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Argument is an argument of the kernel's call of the event's tracepoint.
func (k *Kernel) Argument(s *event.Schema, name string) (*KernelData, error) {
	if s == nil {
		return nil, diag.Errorf(diag.Run, "argument", name, "the event is not known here").
			WithHint("name it with let() at the tracepoint itself")
	}
	args, ok := k.Types.Tracepoint(s.Name)
	if !ok {
		return nil, diag.Errorf(diag.Run, "argument", name,
			"the kernel's types do not show how %s is called", s.FullName()).
			WithHint("use the fields of its record: ppscript -e %s help", s.FullName())
	}
	var names []string
	for i, a := range args {
		if a.Name == name {
			return &KernelData{Type: a.Type, Path: "trace_arg(" + name + ")", k: k,
				base: &TraceArg{i, a.Type.Size(), a.Type.Signed()}}, nil
		}
		names = append(names, a.Name)
	}
	return nil, diag.Errorf(diag.Run, "argument", name, "%s has no argument %s%s", s.FullName(), name,
		diag.DidYouMean(name, names)).WithHint("it has %s", strings.Join(names, ", "))
}

// PerCPU is a per-CPU variable of the kernel, of a CPU or, if cpu is nil, of the
// running CPU. Its address is computed from the address of the running task's run
// queue, which is a per-CPU variable too, and from the distance of both in the
// types.
func (k *Kernel) PerCPU(name string, cpu Node) (*KernelData, error) {
	t, at, err := k.Types.PerCPU(name)
	if err != nil {
		return nil, err
	}
	_, queue, err := k.Types.PerCPU("runqueues")
	if err != nil {
		return nil, err
	}
	task, err := k.Task()
	if err != nil {
		return nil, err
	}
	d, err := task.walk("se", "cfs_rq", "rq")
	if err != nil {
		return nil, err
	}
	base, err := d.value()
	if err != nil {
		return nil, err
	}
	path := "per_cpu(" + name + ")"
	if cpu != nil {
		path = fmt.Sprintf("per_cpu(%s, %s)", name, cpu)
		base, err = NewBinary(OpAdd, Retype(base, true), &CPUDistance{Retype(ToInt(cpu), true)})
		if err != nil {
			return nil, err
		}
	}
	return &KernelData{Type: t, Path: path, k: k, base: base, off: at - queue, lies: true}, nil
}

// Cast makes an address a pointer to a type, whose name is as in C, with or
// without the star.
func (k *Kernel) Cast(addr Node, decl, path string) (*KernelData, error) {
	t, err := k.Types.Named(decl)
	if err != nil {
		return nil, err
	}
	if t.Kind() != kerneltype.Pointer {
		t = kerneltype.PointerTo(t)
	}
	return &KernelData{Type: t, Path: path, k: k, base: Retype(addr, true)}, nil
}

// Container is the structure around a member that a pointer points to: C's
// container_of.
func (k *Kernel) Container(addr Node, decl, member, path string) (*KernelData, error) {
	d, err := k.Cast(addr, decl, path)
	if err != nil {
		return nil, err
	}
	m, err := d.Type.Elem().Member(member)
	if err != nil {
		return nil, err
	}
	if d.base, err = NewBinary(OpSub, d.base, NewUint(uint64(m.Offset))); err != nil {
		return nil, err
	}
	return d, nil
}

// Pointers reports that d is a pointer or a structure, so that a path can
// continue.
func (d *KernelData) Pointers() bool {
	k := d.Type.Kind()
	return k == kerneltype.Pointer || k == kerneltype.Struct || k == kerneltype.Array
}

// Member is a member of the structure that d is or points to.
func (d *KernelData) Member(name string) (*KernelData, error) {
	from := d
	if d.Type.Kind() == kerneltype.Pointer {
		var err error
		if from, err = d.Deref(); err != nil {
			return nil, err
		}
	}
	if from.Type.Kind() == kerneltype.Array { // of the first element, as in C
		var err error
		if from, err = from.Index(NewInt(0)); err != nil {
			return nil, err
		}
	}
	m, err := from.Type.Member(name)
	if err != nil {
		return nil, err
	}
	c := *from
	c.Type, c.off, c.bits, c.shift = m.Type, from.off+m.Offset, m.Bits, m.Shift
	c.Path = d.Path + "." + name
	return &c, nil
}

// Deref is the place that a pointer points to.
func (d *KernelData) Deref() (*KernelData, error) {
	if d.Type.Kind() != kerneltype.Pointer {
		return nil, fmt.Errorf("%s is a %s, want a pointer", d.Path, d.Type)
	}
	if d.text != nil {
		return nil, fmt.Errorf("%s is a text", d.Path)
	}
	p, err := d.value()
	if err != nil {
		return nil, err
	}
	return &KernelData{Type: d.Type.Elem(), Path: d.Path, k: d.k, base: p, lies: true}, nil
}

// Index is an element of an array, or of the array that a pointer points to.
func (d *KernelData) Index(i Node) (*KernelData, error) {
	elem := d.Type.Elem()
	size := elem.Size()
	c := *d
	switch {
	case d.Type.Kind() == kerneltype.Pointer:
		to, err := d.Deref()
		if err != nil {
			return nil, err
		}
		c = *to
	case d.Type.Kind() != kerneltype.Array:
		return nil, fmt.Errorf("%s is a %s, want an array or a pointer", d.Path, d.Type)
	}
	if size == 0 {
		return nil, fmt.Errorf("the size of a %s is not known", elem)
	}
	c.Type, c.Path = elem, fmt.Sprintf("%s[%s]", d.Path, i)
	if k, ok := i.(*Const); ok {
		if n := d.Type.Len(); k.Int < 0 || d.Type.Kind() == kerneltype.Array && n > 0 && k.Int >= int64(n) {
			return nil, fmt.Errorf("%s has %d elements, want an index below that: got %d", d.Path, n, k.Int)
		}
		c.off += int(k.Int) * size
		return &c, nil
	}
	by, err := NewBinary(OpMul, Retype(ToInt(i), true), NewUint(uint64(size)))
	if err == nil {
		c.base, err = NewBinary(OpAdd, c.base, by)
	}
	return &c, err
}

// Address returns the address of d, as a number of the event.
func (d *KernelData) Address() (Node, error) {
	if !d.lies || d.bits > 0 {
		return nil, fmt.Errorf("%s has no address", d.Path)
	}
	n, err := d.address()
	if err != nil || !readsKernel(n) {
		return n, err
	}
	return d.k.field(Retype(n, true), event.Field{Name: "&" + d.Path, Type: d.Type.String() + " *",
		Unit: event.AddressU, Size: 8})
}

// address returns the address of d.
func (d *KernelData) address() (Node, error) {
	if d.off == 0 {
		return d.base, nil
	}
	return NewBinary(OpAdd, d.base, NewInt(int64(d.off)))
}

// value returns d as a number, without the field that stands for the read.
func (d *KernelData) value() (Node, error) {
	if !d.lies {
		return d.base, nil
	}
	addr, err := d.address()
	if err != nil {
		return nil, err
	}
	addr = Retype(addr, true)
	if d.Type.Kind() == kerneltype.Array { // the address of its begin, as in C
		return addr, nil
	}
	if d.bits == 0 {
		return &KernelInt{addr, d.Type.Size(), d.Type.Signed()}, nil
	}
	size := 1
	for size*8 < d.shift+d.bits {
		size *= 2
	}
	if size > 8 {
		return nil, fmt.Errorf("%s is a bit field over more than 8 bytes", d.Path)
	}
	n, err := NewBinary(OpShl, &KernelInt{addr, size, false}, NewInt(int64(64-d.shift-d.bits)))
	if err != nil {
		return nil, err
	}
	op := OpShrU
	if d.Type.Signed() {
		op = OpShrS
	}
	return NewBinary(op, Retype(n, !d.Type.Signed()), NewInt(int64(64-d.bits)))
}

// Node reads the number or text d; the read becomes a field of the event.
func (d *KernelData) Node() (Node, error) {
	if d.Type.Text() {
		return d.Text()
	}
	f := event.Field{Name: d.Path, Type: d.Type.String(), Signed: d.Type.Signed(), Size: d.Type.Size()}
	switch d.Type.Kind() {
	case kerneltype.Int, kerneltype.Char, kerneltype.Enum, kerneltype.Bool:
	case kerneltype.Pointer:
		f.Unit = event.AddressU
	case kerneltype.Struct:
		return nil, fmt.Errorf("%s is a %s, not a number or text; name a member of it", d.Path, d.Type)
	case kerneltype.Array:
		return nil, fmt.Errorf("%s is a %s; name an element of it: %s[0]", d.Path, d.Type, d.Path)
	default:
		return nil, fmt.Errorf("%s is a %s, which cannot be read", d.Path, d.Type)
	}
	n, err := d.value()
	if err != nil {
		return nil, err
	}
	if !readsKernel(n) {
		return n, nil // a pointer that is a field of the event
	}
	return d.k.field(n, f)
}

// Text reads the text d, or the text that d points to.
func (d *KernelData) Text() (Node, error) {
	if d.text != nil {
		return d.text, nil
	}
	f := event.Field{Name: d.Path, Type: d.Type.String(), Kind: event.Str}
	read := &KernelText{Size: kernelTextLimit, Cut: true}
	if n := d.Type.Len(); d.Type.Kind() == kerneltype.Array && n > 0 {
		read.Size, read.Cut = min(n, kernelTextLimit), n > kernelTextLimit
	}
	addr, err := d.value()
	if err != nil {
		return nil, err
	}
	read.Addr, f.Size = addr, read.Size
	return d.k.field(read, f)
}

// TextAt reads the text at any address of the kernel.
func (k *Kernel) TextAt(addr Node, path string) (Node, error) {
	return k.field(&KernelText{Retype(addr, true), kernelTextLimit, true},
		event.Field{Name: path, Type: "char *", Kind: event.Str, Size: kernelTextLimit})
}

// CommandLine is the command line of the running process, with blanks between the
// arguments.
func (k *Kernel) CommandLine() (Node, error) {
	task, err := k.Task()
	if err != nil {
		return nil, err
	}
	read := &ProcessArea{Size: event.UserTextLimit}
	for _, end := range []struct {
		name string
		to   *Node
	}{{"arg_start", &read.From}, {"arg_end", &read.To}} {
		d, err := task.walk("mm", end.name)
		if err != nil {
			return nil, err
		}
		if *end.to, err = d.value(); err != nil {
			return nil, err
		}
	}
	f := event.Field{Name: "command_line()", Type: "char *", Kind: event.Str, Size: read.Size}
	return k.field(read, f)
}

// readsKernel reports that n reads the kernel's memory.
func readsKernel(n Node) bool {
	found := false
	Walk(n, func(n Node) bool {
		switch n.(type) {
		case *KernelInt, *KernelText, *ProcessArea, *KernelPath, *TaskAddr, *TraceArg, *CPUDistance:
			found = true
		}
		return !found
	})
	return found
}
