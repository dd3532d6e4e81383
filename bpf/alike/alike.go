// Package alike is about probes of many functions that one program serves: it tells whether
// what is done with their events is the same but for the names of the functions, and
// generates how the program finds the name of the one that was hit, and the number by which
// its event is sent. Package bpf calls it.
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
	Places bool // programs are told where functions begin, and where they return to
	Same   bool // others may go the same ones
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
			place := f.F.Place == event.InRaw && f.F.Name != "common_pid"
			w.Same = w.Same && !IsName(f) && (w.Places || !place)
			fmt.Fprintf(w, "%d %d %d %d ", f.Part, f.F.Place, f.F.Member, f.F.Kind)
			fmt.Fprintf(w, "%d %t;", f.F.Size, f.F.Signed)
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

// Hit leaves in R0 which place was hit: its number among those of the program in the lower
// half, and that of its event in the upper one. R1 to R5 are lost.
func Hit(c *assembler.Code) {
	c.Emit(asm.Mov.Reg(asm.R1, asm.R6))
	c.Call(asm.FnGetAttachCookie)
}

// Event leaves on the stack the number of the event whose place was hit.
func Event(c *assembler.Code) (at int16) {
	at = c.Alloc(8)
	Hit(c)
	c.Emit(asm.RSh.Imm(asm.R0, 32))
	c.Store(at, asm.R0)
	return at
}

// Place stores the number of the place that was hit, among those of the program.
func Place(c *assembler.Code, at int16) {
	Hit(c)
	c.Emit(asm.Mov.Reg32(asm.R0, asm.R0))
	c.Store(at, asm.R0)
}

// Numbers are those by which events are sent that two places make: where they begin, the
// place at which the one starts, and how many there may be at which the other ends.
type Numbers struct{ First, Row int }

// Find leaves on the stack the number for the place that was hit, which ends what began at the
// place whose number is at start; 0 is the only one.
func (n Numbers) Find(c *assembler.Code, start int16, program int, fail assembler.Label) (at int16) {
	at = c.Alloc(8)
	c.Zero(at, 8)
	if n.Row > 1 {
		Place(c, at)
	}
	c.Load(asm.R0, at)
	c.Emit(asm.Add.Imm(asm.R0, int32(n.First)))
	if start != 0 {
		c.Load(asm.R1, start)
		c.Emit(asm.Mul.Imm(asm.R1, int32(n.Row)), asm.Add.Reg(asm.R0, asm.R1))
	}
	c.Store(at, asm.R0)
	c.Get(load.NumbersMap.Of(program), at, fail)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.Store(at, asm.R0)
	return at
}

// Every lists the numbers of all that start at some places, with each place at which they end;
// where there are none, it is the one beside them.
func Every(starts []int, start int, ends []int, end int, of func(start, end int) int) (list []uint64) {
	if len(starts) == 0 {
		starts = []int{start}
	}
	if len(ends) == 0 {
		ends = []int{end}
	}
	for _, s := range starts {
		for _, e := range ends {
			list = append(list, uint64(of(s, e)))
		}
	}
	return list
}

// NumberMap is the map in which a program finds these numbers.
func NumberMap(numbers []uint64) *ebpf.MapSpec {
	spec := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: uint32(len(numbers))}
	for k, n := range numbers {
		spec.Contents = append(spec.Contents, ebpf.MapKV{Key: uint32(k), Value: n})
	}
	return spec
}

// Find puts the name of the place that was hit at off, which has room for size bytes. program
// is the number of the program, whose context is in R6.
func Find(c *assembler.Code, off int16, size int, names []string, program int, fail assembler.Label) {
	mark := c.Stack
	key := c.Alloc(8)
	Hit(c)
	c.Store(key, asm.R0) // whose lower half is looked at
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
