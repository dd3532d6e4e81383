package expr

import "ppscript/runtime/event"

// Uses lists the inputs of the evaluation of a node and all nodes below it. It
// is computed once, when a Program is built; planners and generators of
// programs use it instead of walking the tree.
type Uses struct {
	// Fields are the fields that are read, each once, in the order of the tree.
	Fields []*Field
	// Natives are the calls of Natives, in the same order.
	Natives []*Native
	// Memory says that bytes of the record are read at computed offsets:
	// elements of arrays, members of structures.
	Memory bool
	// State says that members of a fold's state are read.
	State bool
}

// UsesOf finds the Uses of n, which may be nil.
func UsesOf(n Node) Uses {
	var u Uses
	Walk(n, func(n Node) bool {
		switch n := n.(type) {
		case *Field:
			u.field(n)
		case *Native:
			n.check()
			u.Natives = append(u.Natives, n)
		case *Mem, *CStr, *MemBytes:
			u.Memory = true
		case *LoadState, *LoadElem:
			u.State = true
		}
		return true
	})
	return u
}

func (u *Uses) field(f *Field) {
	for _, have := range u.Fields {
		if have.F == f.F && have.Part == f.Part && have.View == f.View {
			return
		}
	}
	u.Fields = append(u.Fields, f)
}

// Any reports whether one of the calls has one of the traits.
func (u *Uses) Any(traits Trait) bool {
	for _, n := range u.Natives {
		if n.Is(traits) {
			return true
		}
	}
	return false
}

// Member reports whether a sample member is read, in any part.
func (u *Uses) Member(member event.Member) bool {
	for _, f := range u.Fields {
		if f.Is(member) {
			return true
		}
	}
	return false
}

// Is reports that the field is a sample member.
func (n *Field) Is(member event.Member) bool {
	return n.F.Place == event.InMember && n.F.Member == member
}
