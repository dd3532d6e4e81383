// Package alike is about probes of many functions that one program serves: it tells whether
// what is done with their events is the same but for the names of the functions, and
// generates how the program finds the name of the one that was hit. Package bpf calls it.
package alike

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Ways are a text of where events go, which is the same for those that one program can serve.
type Ways struct {
	strings.Builder
	User bool // they are of probes in programs
	Same bool // others may go the same ones
}

// Say tells expressions, but for the names of functions.
func (w *Ways) Say(nodes ...expr.Node) {
	for _, n := range nodes {
		switch {
		case n == nil:
			w.WriteString("-;")
			continue
		case IsName(n):
			fmt.Fprintf(w, "name %d %s;", n.(*expr.Field).Part, n.(*expr.Field).F.Name)
			continue
		}
		fmt.Fprintf(w, "%s;", n)
		for _, f := range expr.UsesOf(n).Fields {
			// With one link the kernel's registers are not those of a breakpoint.
			place := f.F.Place == event.InRaw && f.F.Name != "common_pid"
			w.Same = w.Same && !IsName(f) && (w.User || !place)
			fmt.Fprintf(w, "%d %d %d %d %t;", f.Part, f.F.Place, f.F.Member, f.F.Size, f.F.Signed)
			if o := f.F.Operand(); o != nil {
				fmt.Fprintf(w, "%+v;", *o) // a place of USDT may have it elsewhere
			}
		}
	}
}

// IsName reports that a node is a text that is the same for all events of a probe.
func IsName(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember && f.F.Kind == event.Str &&
		f.F.Operand() != nil && f.F.Operand().Constant()
}

// Name is the text of a name.
func Name(n expr.Node) string { return n.(*expr.Field).F.Operand().Text }

// Named is n where the place that was hit says which of some names it is.
func Named(n expr.Node, names []string) *expr.Field {
	f := *n.(*expr.Field).F
	f.Computed = &event.Computed{Operand: &event.Operand{Texts: names}}
	return &expr.Field{F: &f, Part: n.(*expr.Field).Part}
}

// Room is the room that the longest of some names needs.
func Room(names []string) int {
	room := 0
	for _, t := range names {
		room = max(room, (len(t)+8)&^7)
	}
	return room
}

// Find puts the name of the place that was hit at off, which has room for size bytes. program
// is the number of the program, whose context is in R6.
func Find(c *assembler.Code, off int16, size int, names []string, program int, fail assembler.Label) {
	mark := c.Stack
	key := c.Alloc(8)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R6))
	c.Call(asm.FnGetAttachCookie)
	c.Store(key, asm.R0)
	c.Get(load.NamesMap.Of(program), key, fail)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	for i := 0; i < size; i += 8 {
		if i >= Room(names) {
			c.Zero(off+int16(i), 8)
			continue
		}
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(i), asm.DWord))
		c.Store(off+int16(i), asm.R0)
	}
	c.Stack = mark
}

// Map is the map in which a program finds names.
func Map(names []string) *ebpf.MapSpec {
	room := Room(names)
	spec := &ebpf.MapSpec{
		Type: ebpf.Array, KeySize: 4, ValueSize: uint32(room), MaxEntries: uint32(len(names)),
	}
	for k, text := range names {
		value := make([]byte, room)
		copy(value, text)
		spec.Contents = append(spec.Contents, ebpf.MapKV{Key: uint32(k), Value: value})
	}
	return spec
}
