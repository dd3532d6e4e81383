package stack

import (
	"slices"

	"ppscript/runtime/event"
)

// A Spec says which parts of a stream's stacks are wanted.
type Spec struct {
	Kernel, User bool
	// Max is the largest number of addresses in a chain: a chain with as many
	// counts as cut. 0 means unknown.
	Max int
	// Innermost has a sample without a chain stand for the function that ran, as with a Max of 1.
	Innermost bool
	// Unwinder finds the user part from registers and a copy of the stack; with
	// nil, the frames found by frame pointers are kept.
	Unwinder Unwinder
	// Interpret, if not nil, appends to dst the chain with interpreted functions; false if there
	// are none.
	Interpret func(dst []uint64, e *event.Event, chain []uint64) ([]uint64, bool)
	// Observe, if not nil, is called with each chain before it is numbered.
	Observe func(pid int32, when event.Time, chain []uint64)
}

// An Unwinder finds the callers of user code without frame pointers.
type Unwinder interface {
	// Unwind appends the addresses of a user stack, innermost first. regs are
	// the registers in mask, in the order of the kernel's enum
	// perf_event_*_regs, and stack is the copied part of the stack. cut says
	// that outer frames could not be found.
	Unwind(dst []uint64, pid int32, when event.Time, mask uint64, regs []uint64,
		stack []byte) (addrs []uint64, cut bool)
}

// state is implemented by decoders of samples with registers and the user
// stack.
type state interface {
	UserMask() uint64
	UserRegs(e *event.Event) []uint64
	UserStack(e *event.Event) []byte
}

// A Reader decodes the samples of a stream. It wraps another event.Members, and
// numbers the stacks.
type Reader struct {
	event.Members
	table   *Table
	spec    Spec
	state   state
	scratch []uint64
	woven   []uint64 // memory for Interpret
}

// NewReader returns a Reader that wraps m.
func NewReader(m event.Members, t *Table, s Spec) *Reader {
	r := &Reader{Members: m, table: t, spec: s}
	if s.Unwinder != nil {
		r.state, _ = m.(state)
	}
	return r
}

// Member implements event.Members: MemberCallchain is the number of the stack.
func (r *Reader) Member(e *event.Event, f event.Member) (uint64, bool) {
	if f == event.MemberCallchain {
		return uint64(r.id(e)), true
	}
	return r.Members.Member(e, f)
}

// id is the number of e's stack.
//
// Fast path: the chain is hashed in place unless parts of it are not
// wanted or the user part is unwound.
func (r *Reader) id(e *event.Event) ID {
	chain := r.Members.Callchain(e)
	var fl flags
	if len(chain) == 0 && (r.spec.Max == 1 || r.spec.Innermost) {
		chain = r.innermost(e)
	}
	if r.spec.Max > 0 && len(chain) >= r.spec.Max && addresses(chain) >= r.spec.Max {
		fl = cut
	}
	switch {
	case r.state != nil && r.spec.User:
		chain, fl = r.unwind(e, chain, fl)
	case !r.spec.User || !r.spec.Kernel:
		chain = r.parts(chain)
	}
	if r.spec.Interpret != nil {
		var ok bool
		if r.woven, ok = r.spec.Interpret(r.woven[:0], e, chain); ok {
			chain = r.woven
		}
	}
	if r.spec.Observe != nil {
		r.spec.Observe(e.PID, e.Time, chain)
	}
	return r.table.intern(e.PID, e.Time, chain, fl)
}

// Chained reports that the sample itself has a chain, and more than the innermost function is wanted of it.
func (r *Reader) Chained(e *event.Event) bool {
	return r.spec.Max != 1 && len(r.Members.Callchain(e)) > 0
}

// innermost makes a chain of a sample that has none, for callers that need only the innermost
// function, where code was interrupted. A recording without call stacks has only that.
func (r *Reader) innermost(e *event.Event) []uint64 {
	ip, ok := r.Members.Member(e, event.MemberIP)
	kernel := ip >= 1<<63
	if !ok || kernel && !r.spec.Kernel || !kernel && !r.spec.User {
		return nil
	}
	mark := uint64(markUser)
	if kernel {
		mark = markKernel
	}
	r.scratch = append(r.scratch[:0], mark, ip)
	return r.scratch
}

// Argument implements event.Arguments, for samples that have some.
func (r *Reader) Argument(e *event.Event, f event.Member) (v uint64, ok, sent bool) {
	if m, has := r.Members.(event.Arguments); has {
		return m.Argument(e, f)
	}
	return 0, false, false
}

// UserStack is the copied part of the user stack, for samples that have it.
func (r *Reader) UserStack(e *event.Event) []byte {
	if m, has := r.Members.(interface{ UserStack(e *event.Event) []byte }); has {
		return m.UserStack(e)
	}
	return nil
}

// MemberText implements event.MemberTexts, for samples that have some.
func (r *Reader) MemberText(e *event.Event, f event.Member) (text []byte, ok bool) {
	if m, has := r.Members.(event.MemberTexts); has {
		return m.MemberText(e, f)
	}
	return nil, false
}

// Text implements event.Texts, for samples that have some.
func (r *Reader) Text(e *event.Event, addr uint64) (text []byte, ok bool) {
	if m, has := r.Members.(event.Texts); has {
		return m.Text(e, addr)
	}
	return nil, false
}

// Callchain implements event.Members: the wanted parts of the chain.
func (r *Reader) Callchain(e *event.Event) []uint64 {
	if s, ok := r.table.At(r.id(e)); ok {
		return s.Chain
	}
	return nil
}

// parts returns the chain without unwanted parts. A live chain has none; a
// recording has all that was recorded.
func (r *Reader) parts(chain []uint64) []uint64 {
	r.scratch = r.scratch[:0]
	if r.spec.Kernel {
		r.scratch = appendPart(r.scratch, chain, Kernel)
	}
	if r.spec.User {
		r.scratch = appendPart(r.scratch, chain, User)
	}
	return r.scratch
}

// Slow path: unwinding costs microseconds.
//
// If the unwinder did not reach the outermost function, frame pointers may lead
// further: code without unwind tables (JIT) has them, and Go keeps them across
// its changes of stack and beyond the copy.
func (r *Reader) unwind(e *event.Event, chain []uint64, fl flags) ([]uint64, flags) {
	regs, copied := r.state.UserRegs(e), r.state.UserStack(e)
	if len(regs) == 0 || len(copied) == 0 {
		return r.trim(chain), fl
	}
	r.scratch = r.scratch[:0]
	if r.spec.Kernel {
		r.scratch = appendPart(r.scratch, chain, Kernel)
	}
	kernel := len(r.scratch)
	r.scratch = append(r.scratch, markUser)
	var short bool
	r.scratch, short = r.spec.Unwinder.Unwind(r.scratch, e.PID, e.Time, r.state.UserMask(), regs, copied)
	if short {
		var use part
		switch r.scratch, use = lead(r.scratch, kernel, userPart(chain)); use {
		case byPointers:
			return r.scratch, fl
		case joined:
			short = fl&cut != 0
		}
	}
	found := len(r.scratch) - kernel
	if found == 1 {
		r.scratch = r.scratch[:kernel]
	}
	fl = unwound
	if short {
		fl |= cut
	}
	return r.scratch, fl
}

func (r *Reader) trim(chain []uint64) []uint64 {
	if r.spec.Kernel && r.spec.User {
		return chain
	}
	return r.parts(chain)
}

// userPart is the user part of a chain with its marker.
func userPart(chain []uint64) []uint64 {
	for i, word := range chain {
		if word == markUser {
			return chain[i:]
		}
	}
	return nil
}

// A part says how a stack's user part was found.
type part uint8

const (
	byTables part = iota
	byPointers
	joined // outer functions by frame pointers
)

// lead continues a walk, which begins with its marker at index from, with the
// frames found by frame pointers. The two meet at the end of the walk, or a few
// frames before: frame pointers do not find a function that a signal
// interrupted. If they do not meet, the longer one is kept.
func lead(walk []uint64, from int, chain []uint64) ([]uint64, part) {
	const before = 3
	own := walk[from:]
	for k := len(own) - 1; k > max(1, len(own)-1-before); k-- {
		if j := meet(own, chain, k); j > 0 {
			if j+1 == len(chain) {
				return walk, byTables
			}
			return append(walk, chain[j+1:]...), joined
		}
	}
	if len(chain) > len(own) {
		return append(walk[:from], chain...), byPointers
	}
	return walk, byTables
}

// meet is the index in chain of the k-th word of walk, -1 if it is not there.
// In a recursion an address occurs several times: the right one is at the same
// depth or one less, since frame pointers miss the caller of a function that
// has not set up its frame yet.
func meet(walk, chain []uint64, k int) int {
	less := 0
	if len(walk) > 3 && len(chain) > 2 && chain[2] != walk[2] && chain[2] == walk[3] {
		less = 1
	}
	if j := k - less; j < len(chain) && chain[j] == walk[k] {
		return j
	}
	return slices.Index(chain, walk[k])
}
