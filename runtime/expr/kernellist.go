package expr

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
)

// This file makes the entries of a list of the kernel. A loop over them is unrolled: entry i is found by i+1
// reads from the head, and each of them is only evaluated if the list has not ended before.

// MostEntries bounds the entries that a loop visits: its code grows by the square of their number.
const MostEntries = 16

// A KernelList is the begin of a list of the kernel.
type KernelList struct {
	Entries []*KernelData // pointers to the structures that are in the list
	Has     []Node        // Has[i] is whether the list has entry i, if it has all before
}

// ListOf is the list whose head is a struct list_head. Its entries are structures decl, and linked by their
// member.
func (k *Kernel) ListOf(head *KernelData, decl, member string, most int) (*KernelList, error) {
	t := head.Type
	if t.Kind() == kerneltype.Pointer {
		t = t.Elem()
	}
	switch {
	case spelledStruct(t) != "struct list_head":
		return nil, diag.Errorf(diag.Run, "list_entries", head.Path, "it is a %s, want a struct list_head",
			head.Type).WithHint("give the head of the list: list_entries(task().children, " +
			`"struct task_struct", "sibling", 8)`)
	case most < 1 || most > MostEntries:
		return nil, diag.Errorf(diag.Run, "list_entries", "most", "got %d, want 1 to %d entries", most,
			MostEntries).WithHint("what comes later in the list is not visited")
	}
	entry, err := k.Types.Named(decl)
	if err != nil {
		return nil, err
	}
	at, err := k.offset(decl, member)
	if err != nil {
		return nil, err
	}
	// The first member of a list_head leads to the next entry.
	begin := head.value
	if head.Type.Kind() == kerneltype.Struct {
		begin = head.address
	}
	first, err := begin()
	if err != nil {
		return nil, err
	}
	var list KernelList
	next := Retype(first, true)
	end, err := k.address(next, head.Path)
	if err != nil {
		return nil, err
	}
	for i := range most {
		next = &KernelInt{Addr: next, Size: 8}
		name := fmt.Sprintf("%s[%d]", head.Path, i)
		here, err := k.address(next, name)
		if err != nil {
			return nil, err
		}
		has, err := NewBinary(OpNe, here, end)
		if err != nil {
			return nil, err
		}
		base, err := NewBinary(OpSub, next, NewUint(uint64(at)))
		if err != nil {
			return nil, err
		}
		list.Has = append(list.Has, has)
		list.Entries = append(list.Entries,
			&KernelData{Type: kerneltype.PointerTo(entry), Path: name, k: k, base: base})
	}
	return &list, nil
}

// address is an address that is read in the kernel's memory, as a number of the event.
func (k *Kernel) address(n Node, name string) (Node, error) {
	if !readsKernel(n) {
		return n, nil
	}
	return k.field(n, event.Field{Name: "&" + name, Type: "struct list_head *", Unit: event.AddressU,
		Size: 8})
}
