package hook

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

// This file is about probes of many functions, or tracepoints of many system calls, that one program
// serves: it tells whether what is done with their events is the same but for their names, and
// generates how the program finds the name of the one that was hit, and the number by which
// its event is sent.

// Ways are a text of where events go, which is the same for events that one program can serve.
type Ways struct {
	strings.Builder
	Places bool // programs are told where functions begin, and where they return to
	Calls  bool // the events belong to system calls: numbers of their records are in the same places
	Same   bool // others may go the same ones
}

// Columns tells expressions of a key. A text that is the same for all events of one is a name.
func (w *Ways) Columns(nodes ...expr.Node) {
	for _, n := range nodes {
		if IsText(n) {
			w.WriteString("text;")
			continue
		}
		w.Say(n)
	}
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
		w.Same = w.Same && !(w.Calls && readsMore(n))
		for _, f := range expr.UsesOf(n).Fields {
			place := f.F.Place == event.InRaw && f.F.Name != "common_pid"
			if w.Calls && place {
				w.Same = w.Same && f.F.Kind == event.Int && f.View == expr.ViewValue && f.F.Read == nil
				fmt.Fprintf(w, "at %d;", f.F.Offset)
				place = false
			}
			w.Same = w.Same && !IsName(f) && (w.Places || !place)
			fmt.Fprintf(w, "%d %d %d %d ", f.Part, f.F.Place, f.F.Member, f.F.Kind)
			fmt.Fprintf(w, "%d %t;", f.F.Size, f.F.Signed)
			if o := f.F.Operand(); o != nil {
				fmt.Fprintf(w, "%+v;", *o) // a place of USDT may have it elsewhere
			}
		}
	}
}

// readsMore reports that an expression reads more than numbers of the event: memory of the process or of
// the kernel, which waits for the end of some calls.
func readsMore(n expr.Node) bool {
	more := false
	expr.Walk(n, func(n expr.Node) bool {
		switch n.(type) {
		case *expr.Native, *expr.KernelText, *expr.ProcessArea, *expr.TraceArg, *expr.Mem:
			more = true
		}
		return !more
	})
	return more
}

// IsText reports that a column is a text that is the same for all events, such as the name of the event.
func IsText(n expr.Node) bool {
	c, ok := n.(*expr.Const)
	return ok && c.T.Kind == expr.Str
}

// IsName reports that a node is a text that is the same for all events of a probe.
func IsName(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember && f.F.Kind == event.Str &&
		f.F.Operand() != nil && f.F.Operand().Constant()
}

// NameIn is the text of a name.
func NameIn(n expr.Node) string {
	if c, ok := n.(*expr.Const); ok {
		return c.Str
	}
	return n.(*expr.Field).F.Operand().Text
}

// Named is n where the place that was hit says which of some names it is, list is their number in the
// program.
func Named(n expr.Node, names []string, list int) *expr.Field {
	computed := &event.Computed{Operand: &event.Operand{Texts: names, List: list}}
	if IsText(n) {
		return &expr.Field{F: &event.Field{Name: "event", Kind: event.Str, Place: event.InMember,
			Member: event.MemberArg, Computed: computed}}
	}
	f := *n.(*expr.Field).F
	f.Computed = computed
	return &expr.Field{F: &f, Part: n.(*expr.Field).Part}
}

// NamesRoom is the room that the longest of some names needs.
func NamesRoom(names []string) int {
	room := 0
	for _, t := range names {
		room = max(room, (len(t)+8)&^7)
	}
	return room
}

// hit leaves in R0 which place was hit, see load.Cookie. R1 to R5 are lost.
func hit(h *Hook) {
	if h.Place != 0 {
		h.Code.Load(asm.R0, h.Place)
		return
	}
	h.Code.Emit(asm.Mov.Reg(asm.R1, asm.R6))
	h.Code.Call(asm.FnGetAttachCookie)
}

// HitEvent leaves on the stack the number of the event whose place was hit.
func HitEvent(h *Hook) (at int16) {
	c := h.Code
	at = c.Alloc(8)
	hit(h)
	c.Emit(asm.RSh.Imm(asm.R0, 32))
	c.Store(at, asm.R0)
	return at
}

// HitPlace stores the number of the place that was hit, among those of the program.
func HitPlace(h *Hook, at int16) {
	hit(h)
	h.Code.Emit(asm.Mov.Reg32(asm.R0, asm.R0))
	h.Code.Store(at, asm.R0)
}

// PairNumbers are those by which events are sent that two places make: where they begin, the
// place at which the one starts, and how many there may be at which the other ends.
type PairNumbers struct{ First, Row int }

// Find leaves on the stack the number for the place that was hit, which ends what began at the
// place whose number is at start; 0 is the only one.
func (n PairNumbers) Find(h *Hook, start int16, fail assembler.Label) (at int16) {
	c := h.Code
	at = c.Alloc(8)
	c.Zero(at, 8)
	if n.Row > 1 {
		HitPlace(h, at)
	}
	c.Load(asm.R0, at)
	c.Emit(asm.Add.Imm(asm.R0, int32(n.First)))
	if start != 0 {
		c.Load(asm.R1, start)
		c.Emit(asm.Mul.Imm(asm.R1, int32(n.Row)), asm.Add.Reg(asm.R0, asm.R1))
	}
	c.Store(at, asm.R0)
	c.Get(load.NumbersMap.Of(h.Index), at, fail)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.Store(at, asm.R0)
	return at
}

// EveryNumber lists the numbers of all that start at some places, with each place at which they end;
// where there are none, it is the one beside them.
func EveryNumber(starts []int, start int, ends []int, end int, of func(start, end int) int) (list []uint64) {
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

// findName puts the name of the place that was hit at off, which has room for size bytes.
func findName(h *Hook, off int16, size int, of *event.Operand, fail assembler.Label) {
	c := h.Code
	mark := c.Stack
	key := c.Alloc(8)
	hit(h)
	c.Store(key, asm.R0) // whose lower half is looked at
	c.Get(load.NamesMap.Of(h.Index, of.List), key, fail)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	for i := 0; i < size; i += 8 {
		if i >= NamesRoom(of.Texts) {
			c.Zero(off+int16(i), 8)
			continue
		}
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(i), asm.DWord))
		c.Store(off+int16(i), asm.R0)
	}
	c.Stack = mark
}

// NameMap is the map in which a program finds names.
func NameMap(names []string) *ebpf.MapSpec {
	room := NamesRoom(names)
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
