package unwind

import (
	"debug/elf"
	"runtime"

	"ppscript/runtime/event"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// A Stop says why a stack ends where it does.
type Stop uint8

const (
	// End is the outermost function: the stack is whole.
	End Stop = iota
	// Truncated says that the copy of the stack was too short.
	Truncated
	// NoCFI says that the code has no call frame information, and no frame
	// pointer that leads on.
	NoCFI
	// NoCode says that an address is in no executable mapping that is known.
	NoCode
	// Bad says that the information led nowhere: not up the stack.
	Bad
	// TooDeep says that Options.Max addresses were found.
	TooDeep
	// OtherStack says that the callers are on another stack, which was not
	// copied: Go's runtime leaves a goroutine's stack for that of the
	// thread, handlers may have their own. Frame pointers lead on, where the
	// kernel followed them.
	OtherStack
	// NoRegs says that there was nothing to begin with: a kernel thread, or
	// a sample without registers.
	NoRegs
	numStops
)

func (s Stop) String() string {
	return [...]string{"end", "stack copy too short", "no call frame information", "not in a known mapping",
		"damaged", "too deep", "continues on another stack", "no user registers", ""}[min(s, numStops)]
}

// How says how a stack was obtained.
type How struct {
	Stop    Stop
	Tables  int // addresses that were found with tables
	Pointer int // addresses that were found by frame pointer, for want of tables
}

// Whole reports whether the outermost function was reached.
func (h How) Whole() bool { return h.Stop == End }

// Options of an Unwinder. Maps is needed.
type Options struct {
	Maps *task.Mappings
	// Machine is the architecture of the samples; 0 is our own.
	Machine elf.Machine
	// Max bounds the addresses of a stack; 0 is 1024.
	Max int
	// Memory bounds the tables; nil is one of DefaultMemory bytes. Beyond it those
	// of the file that was walked through least recently go; beyond 8 MiB those
	// that are idle.
	Memory *dso.Memory
}

// DefaultMemory bounds the tables, in bytes, littleTables is how many of them may
// be idle.
const (
	DefaultMemory = 128 << 20
	littleTables  = 8 << 20
)

// Stats counts the work of an Unwinder.
type Stats struct {
	Stacks  uint64
	Stops   [numStops]uint64 // by Stop
	Modules int              // files whose tables are held
	Bytes   int              // memory of tables
	Dropped uint64           // tables given up to stay in the bound
}

// An Unwinder walks stacks. It is used by one goroutine.
type Unwinder struct {
	opt     Options
	arch    *arch
	modules *dso.Cache[*dso.File, *module]
	absent  module // of files that are not found
	stats   Stats
	walk    walk
}

// New makes an Unwinder.
func New(o Options) *Unwinder {
	if o.Machine == elf.EM_NONE {
		o.Machine = ownMachine()
	}
	if o.Max <= 0 {
		o.Max = 1024
	}
	if o.Memory == nil {
		o.Memory = dso.NewMemory(DefaultMemory)
	}
	return &Unwinder{
		opt:     o,
		arch:    archOf(o.Machine),
		modules: dso.NewCache[*dso.File, *module](o.Memory, littleTables),
	}
}

// ownMachine is the machine that runs this.
func ownMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// Stats returns the counts so far.
func (u *Unwinder) Stats() Stats {
	u.stats.Modules, u.stats.Bytes, u.stats.Dropped = u.modules.Len(), u.modules.Bytes(), u.modules.Dropped()
	return u.stats
}

// sampled is the state of user code in a sample, as perf.Layout decodes it.
type sampled interface {
	UserMask() uint64
	UserRegs(e *event.Event) []uint64
	UserStack(e *event.Event) []byte
}

// Sample appends the user stack of a sample to dst, innermost first: the
// addresses that calls return to, after the one where the code was.
func (u *Unwinder) Sample(dst []uint64, e *event.Event) ([]uint64, How) {
	if e.Stream != nil {
		if l, ok := e.Stream.Members.(sampled); ok {
			return u.Walk(dst, e.PID, e.Time, l.UserMask(), l.UserRegs(e), l.UserStack(e))
		}
	}
	return u.Walk(dst, e.PID, e.Time, 0, nil, nil)
}

// Unwind is Walk for callers that only want to know whether outer functions are
// missing.
func (u *Unwinder) Unwind(dst []uint64, pid int32, when event.Time, mask uint64, regs []uint64,
	stack []byte) (addrs []uint64, cut bool) {
	addrs, h := u.Walk(dst, pid, when, mask, regs, stack)
	return addrs, !h.Whole()
}

// Walk is Sample for its parts: the registers that mask (of
// PERF_SAMPLE_REGS_USER) selects, and the copy of the stack, which begins at
// the stack pointer.
//
// Fast path: after the tables of the files are read it allocates only when
// dst has to grow.
func (u *Unwinder) Walk(dst []uint64, pid int32, when event.Time, mask uint64, regs []uint64,
	stack []byte) ([]uint64, How) {
	w := &u.walk
	u.stats.Stacks++
	var h How
	if u.arch == nil || !w.begin(u.arch, mask, regs, stack) {
		h.Stop = NoRegs
	} else {
		dst, h = u.up(dst, pid, when)
	}
	u.stats.Stops[h.Stop]++
	w.stack = nil
	return dst, h
}

// up is the walk.
func (u *Unwinder) up(dst []uint64, pid int32, when event.Time) ([]uint64, How) {
	w := &u.walk
	var h How
	most := len(dst) + u.opt.Max
	for called := uint64(0); ; {
		dst = append(dst, w.pc)
		if len(dst) >= most {
			h.Stop = TooDeep
			return dst, h
		}
		// A return address may be behind the end of its function.
		at := w.pc - called
		region, ok := u.opt.Maps.Find(pid, at, when)
		if !ok {
			if len(dst) > 1 && h.Tables+h.Pointer > 0 {
				dst = dst[:len(dst)-1] // no code: not an address of this stack
			}
			h.Stop = NoCode
			return dst, h
		}
		var step step
		byTable := false
		if region.File == nil {
			step = w.byPointer(w.pc)
		} else {
			m := u.module(region.File, when)
			addr, ok := m.addr(region.Offset(at))
			switch {
			case !ok:
				step = w.byPointer(w.pc)
			case in(m.ends, addr):
				step = stepEnd
			case in(m.switches, addr):
				h.Stop = OtherStack
				return dst, h
			case in(m.signal, addr+called): // nobody called it: its first instruction
				step, byTable = w.bySignal(), true
			default:
				t, r := m.rules(addr)
				if r == nil {
					if called == 0 && in(m.stubs, addr) {
						step = w.byStub()
					} else {
						step = w.byPointer(w.pc)
					}
					break
				}
				step, byTable = w.byRules(t, r, called == 0), true
			}
		}
		switch step {
		case stepOn:
			called = 1
		case stepSignal:
			called = 0
		case stepEnd:
			h.Stop = End
			return dst, h
		case stepShort:
			h.Stop = Truncated
			return dst, h
		case stepAway:
			h.Stop = OtherStack
			return dst, h
		case stepNone:
			h.Stop = NoCFI
			return dst, h
		default:
			h.Stop = Bad
			return dst, h
		}
		if byTable {
			h.Tables++
		} else {
			h.Pointer++
		}
	}
}

// module returns the tables of a file, read at the first use.
func (u *Unwinder) module(f *dso.File, when event.Time) *module {
	if m, ok := u.modules.Of(f, when); ok {
		return m
	}
	if _, err := f.Image(); err != nil && !f.Opened() {
		return &u.absent // it may turn up with another process
	}
	m := loadModule(u.opt.Maps.Files(), f)
	u.modules.Hold(f, m, m.bytes, when)
	return m
}
