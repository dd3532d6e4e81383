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

// This file lets one program handle probes of many functions, or tracepoints of many system calls.
// It checks that their events are treated the same except for names, and generates code that finds
// the name of the function that was hit and the number under which its event is sent. Each function
// or call is a place, numbered from 0 in its program.

// Ways is a text that describes what happens with an event. It is the same for events that one
// program can handle.
type Ways struct {
	strings.Builder
	Places bool // programs can read where functions begin and return to
	Calls  bool // the events belong to system calls: their records have the numbers at the same offsets
	Same   bool // other events may share the program
}

// Columns adds the expressions of a key. A constant text is described as a name, so that it
// may differ between events.
func (w *Ways) Columns(nodes ...expr.Node) {
	for _, n := range nodes {
		if IsText(n) {
			w.WriteString("text;")
			continue
		}
		w.Say(n)
	}
}

// Say adds expressions, without the names of functions.
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
				fmt.Fprintf(w, "%+v;", *o) // another place of a USDT probe may have the argument elsewhere
			}
		}
	}
}

// readsMore reports that an expression reads more than numbers of the event, such as memory of the
// process or of the kernel: for some calls such reads must wait for the end of the call.
func readsMore(n expr.Node) bool {
	more := false
	expr.Walk(n, func(n expr.Node) bool {
		switch n.(type) {
		case *expr.Native, *expr.KernelText, *expr.ProcessArea, *expr.KernelPath, *expr.TraceArg, *expr.Mem:
			more = true
		}
		return !more
	})
	return more
}

// IsText reports that a column is a constant text, such as the name of the event.
func IsText(n expr.Node) bool {
	c, ok := n.(*expr.Const)
	return ok && c.T.Kind == expr.Str
}

// IsName reports that a node is a text field of a probe with the same value for
// all its events.
func IsName(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember && f.F.Kind == event.Str &&
		f.F.Operand() != nil && f.F.Operand().Constant()
}

// NameIn is the constant text of such a column or node.
func NameIn(n expr.Node) string {
	if c, ok := n.(*expr.Const); ok {
		return c.Str
	}
	return n.(*expr.Field).F.Operand().Text
}

// Named replaces n by a field whose value is the name of the place that was hit. list is the index
// of this list of names in the program.
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

// NamesRoom is the number of bytes that the longest of some names needs.
func NamesRoom(names []string) int {
	room := 0
	for _, t := range names {
		room = max(room, (len(t)+8)&^7)
	}
	return room
}

// hit leaves in R0 the place that was hit and its event, encoded by
// load.Cookie. It overwrites R1 to R5.
func hit(h *Hook) {
	if h.Place != 0 {
		h.Code.Load(asm.R0, h.Place)
		return
	}
	h.Code.Emit(asm.Mov.Reg(asm.R1, asm.R6))
	h.Code.Call(asm.FnGetAttachCookie)
}

// HitEvent returns the place on the stack of the number of the event that was
// hit.
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

// PairNumbers describes the numbers under which pairs of many functions are sent, in the
// program's map of numbers: First is the index of the first, Row the number of ends for each
// start.
type PairNumbers struct{ First, Row int }

// Find returns the place on the stack of the number for a pair that ends at the place that was
// hit. start has the number of the place at which it began; 0 if there is only one.
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

// EveryNumber lists the numbers of all pairs of a start of starts and an end of ends, by start. If
// a list is empty, start or end is its only element. of returns the number of a pair.
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

// NumberMap is the map of the numbers that Find reads.
func NumberMap(numbers []uint64) *ebpf.MapSpec {
	spec := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: uint32(len(numbers))}
	for k, n := range numbers {
		spec.Contents = append(spec.Contents, ebpf.MapKV{Key: uint32(k), Value: n})
	}
	return spec
}

// findName writes the name of the place that was hit to off, which has room for size
// bytes.
func findName(h *Hook, off int16, size int, of *event.Operand, fail assembler.Label) {
	c := h.Code
	mark := c.Stack
	key := c.Alloc(8)
	hit(h)
	c.Store(key, asm.R0) // the map reads the lower half only
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
