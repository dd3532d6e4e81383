package probe

import (
	"strings"

	"ppscript/runtime/system/kerneltype"
)

// This file adds the arguments of the kernel's functions with their names and
// types, and the types of results, from the kernel's BTF: kprobe("vfs_read") has
// file, buf, count and pos. Declared arguments (args =) replace them.

// typed adds the fields of a function from the kernel's types. Functions that are
// not in the types have only the fields for registers.
func (r *Resolver) typed(b *builder, c *convention, s *Spec, name string) {
	if r.Types == nil || c == nil || s.Args != "" || s.Ret != "" {
		return
	}
	if _, in, ok := strings.Cut(name, ":"); ok { // in a module
		name = in
	}
	f, ok := r.Types.Function(name)
	if !ok {
		return
	}
	if s.Kind.returns() {
		if d, ok := declOf("result", f.Result); ok {
			b.declared(d, c.rets[0])
		}
		return
	}
	for i, p := range f.Params {
		d, ok := declOf(p.Name, p.Type)
		if !ok || i == len(c.args) {
			return // a structure may use several registers, so the registers of later arguments are unknown
		}
		if d.name == "func" {
			d.name = "func_" // the field func is the function's name
		}
		b.namedRegister(c, d, c.args[i])
	}
}

// declOf returns the declaration of an argument that fits in one register; ok
// is false for others.
func declOf(name string, t kerneltype.Type) (d decl, ok bool) {
	d = decl{typ: t.String(), name: name, size: t.Size(), signed: t.Signed()}
	switch t.Kind() {
	case kerneltype.Pointer:
		d.ptr = true
	case kerneltype.Int, kerneltype.Char, kerneltype.Enum, kerneltype.Bool:
	default:
		return d, false
	}
	return d, name != "" && d.size > 0 && d.size <= 8
}
