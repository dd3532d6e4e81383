package hookcost

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// This file finds BPF programs that hide events of a tracepoint from perf.
//
// The kernel calls the programs at a tracepoint first, and perf's events of all observers get the hit only
// if none of the programs returned 0 (perf_trace_run_bpf_submit of kernel/events/core.c). Many tools have
// programs that return 0, bcc's among them. The kernel does not count the hidden hits, and does not tell
// what a program returned. So the instructions of the program are read: on each path to its end, the value
// is a constant other than 0, or the program is taken to hide events. Programs get all hits, whatever
// value other programs return.

// A Hiding finds the programs that hide events of tracepoints. It remembers what it found.
type Hiding struct {
	none bool // no program at any tracepoint exists
	at   map[uint64]string
}

// FindHiding returns a Hiding for the programs that exist now.
func FindHiding() *Hiding { return &Hiding{none: !hasTracepointPrograms(), at: map[uint64]string{}} }

// At names the programs that hide events of a tracepoint, by its number in tracefs; "" if there are none,
// or if the rights to see them are missing.
func (h *Hiding) At(tracepoint uint64) string {
	if h.none {
		return ""
	}
	names, known := h.at[tracepoint]
	if !known {
		names = hidingAt(tracepoint)
		h.at[tracepoint] = names
	}
	return names
}

// hasTracepointPrograms reports that some program of a type exists that can be attached to tracepoints. To
// ask a tracepoint costs the kernel some ms each time, since it opens an event there.
func hasTracepointPrograms() bool {
	id := ebpf.ProgramID(0)
	for {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return false // that was the last one, or it is not permitted
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}
		kind := p.Type()
		p.Close()
		if kind == ebpf.TracePoint {
			return true
		}
	}
}

// hidingAt opens an event of a tracepoint, which counts nothing, and asks for the programs there.
func hidingAt(tracepoint uint64) string {
	a := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: tracepoint, Bits: unix.PerfBitDisabled,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(&a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	ids, err := hangingAt(fd)
	if err != nil {
		return ""
	}
	var names []string
	for _, id := range ids {
		p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
		if err != nil {
			continue
		}
		if name := hides(p, id); name != "" {
			names = append(names, name)
		}
		p.Close()
	}
	return strings.Join(names, ", ")
}

// hides names a program that may return 0; "" if it does not, or cannot be read.
func hides(p *ebpf.Program, id uint32) string {
	info, err := p.Info()
	if err != nil {
		return ""
	}
	code, err := info.Instructions()
	if err != nil || !mayReturn0(code) {
		return ""
	}
	return fmt.Sprintf("%s (program %d)", info.Name, id)
}

// mayReturn0 reports that a program returns something else than a constant other than 0 on some path. It
// follows all paths through the main function, and does not ask which of them can be taken.
func mayReturn0(code asm.Instructions) bool {
	at := map[int]int{} // places of instructions, which jumps count, to their indices
	var places []int
	for it := code.Iterate(); it.Next(); {
		at[int(it.Offset)] = len(places)
		places = append(places, int(it.Offset))
	}
	type state struct {
		index int
		sure  bool // R0 is a constant other than 0
	}
	seen := map[state]bool{}
	list := []state{{}}
	for len(list) > 0 {
		s := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[s] || s.index >= len(code) {
			continue
		}
		seen[s] = true
		in := &code[s.index]
		next := state{s.index + 1, s.sure}
		class := in.OpCode.Class()
		if !class.IsJump() {
			exchanges := class == asm.StXClass && in.OpCode.Mode() == asm.AtomicMode // may set R0
			if in.Dst == asm.R0 && !class.IsStore() || exchanges {
				move := class.IsALU() && in.OpCode.ALUOp() == asm.Mov && in.OpCode.Source() == asm.ImmSource
				next.sure = move && in.Constant != 0
			}
			list = append(list, next)
			continue
		}
		switch in.OpCode.JumpOp() {
		case asm.Exit:
			if !s.sure {
				return true
			}
			continue
		case asm.Call:
			next.sure = false
			list = append(list, next)
			continue
		}
		if in.OpCode.JumpOp() != asm.Ja {
			list = append(list, next)
		}
		by := int(in.Offset)
		if in.OpCode.JumpOp() == asm.Ja && class == asm.Jump32Class {
			by = int(in.Constant) // a long jump
		}
		to, ok := at[places[s.index]+1+by]
		if !ok {
			return true // it is not understood
		}
		list = append(list, state{to, s.sure})
	}
	return false
}

// newHiding returns the names of hiding programs that the user was not told before.
func (w *Misses) newHiding() (names []string) {
	for _, at := range w.events {
		for _, p := range at.programs {
			if p.hides != "" && !slices.Contains(w.told, p.hides) {
				names, w.told = append(names, p.hides), append(w.told, p.hides)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TellHiding names to the user the programs that hide events, each once.
func (w *Misses) TellHiding(say func(format string, args ...any), hint string) {
	if w == nil {
		return
	}
	if names := w.newHiding(); len(names) > 0 {
		say("events may be missing: another tool's BPF program hides each event for which it returns 0 from "+
			"perf: %s%s", strings.Join(names, ", "), hint)
	}
}

// Unread names the programs at the tracepoints that could not be read: they came after the run gave up the
// right to do so. They may hide events. It is "" if there are none.
func (w *Misses) Unread() string {
	if w == nil {
		return ""
	}
	var names []string
	for _, at := range w.events {
		for id := range at.unread {
			if name := fmt.Sprintf("program %d", id); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
