package unwind

import (
	"debug/elf"
	"runtime"

	"ppscript/runtime/event"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// A Stop is the reason why a walk ended.
type Stop uint8

const (
	// End says that the outermost function was reached: the stack is complete.
	End Stop = iota
	// Truncated says that the copy of the stack was too short.
	Truncated
	// NoCFI says that the code has no call frame information, and no frame
	// pointer that leads further.
	NoCFI
	// NoCode says that an address is in no known executable mapping.
	NoCode
	// Bad says that the information did not lead up the stack.
	Bad
	// TooDeep says that Options.Max addresses were found.
	TooDeep
	// OtherStack says that the callers are on another stack, which was not
	// copied: Go's runtime switches from a goroutine's stack to the thread's
	// stack, and signal handlers may have their own. Frame pointers may lead
	// further if the kernel followed them.
	OtherStack
	// NoRegs says that there are no user registers: the sample is of a kernel
	// thread, or has no registers.
	NoRegs
	numStops
)

func (s Stop) String() string {
	return [...]string{"end", "stack copy too short", "no call frame information", "not in a known mapping",
		"damaged", "too deep", "continues on another stack", "no user registers", ""}[min(s, numStops)]
}

// How says how a stack was found.
type How struct {
	Stop    Stop
	Tables  int // addresses found with tables
	Pointer int // addresses found by frame pointer, for lack of tables
}

// Whole reports whether the outermost function was reached.
func (h How) Whole() bool { return h.Stop == End }

// Options of an Unwinder. Maps is needed.
type Options struct {
	Maps *task.Mappings
	// Machine is the architecture of the samples; 0 means our own.
	Machine elf.Machine
	// Max bounds the addresses of a stack; 0 means 1024.
	Max int
	// Memory bounds the tables; nil means a new one with DefaultMemory bytes.
	// Beyond it, the tables of the least recently used files are dropped; beyond 8
	// MiB, idle tables.
	Memory *dso.Memory
}

// DefaultMemory bounds the tables, in bytes; littleTables is the size up to which
// idle ones are kept.
const (
	DefaultMemory = 128 << 20
	littleTables  = 8 << 20
)

// Stats counts the work of an Unwinder.
type Stats struct {
	Stacks  uint64
	Stops   [numStops]uint64 // by Stop
	Modules int              // files with tables in memory
	Bytes   int              // memory of tables
	Dropped uint64           // tables dropped since a bound was reached
}

// An Unwinder walks stacks. It is used by one goroutine.
type Unwinder struct {
	opt     Options
	arch    *arch
	modules *dso.Cache[*dso.File, *module]
	absent  module // the module for files that are not found
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

// ownMachine is the architecture of this process.
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

// sampled is implemented by decoders of the user registers and stack in a
// sample, such as perf.Layout.
type sampled interface {
	UserMask() uint64
	UserRegs(e *event.Event) []uint64
	UserStack(e *event.Event) []byte
}

// Sample appends the user stack of a sample to dst, innermost first: the
// interrupted address, then the return addresses.
func (u *Unwinder) Sample(dst []uint64, e *event.Event) ([]uint64, How) {
	if e.Stream != nil {
		if l, ok := e.Stream.Members.(sampled); ok {
			return u.Walk(dst, e.PID, e.Time, l.UserMask(), l.UserRegs(e), l.UserStack(e))
		}
	}
	return u.Walk(dst, e.PID, e.Time, 0, nil, nil)
}

// Unwind is Walk for callers that only need to know whether outer functions are
// missing.
func (u *Unwinder) Unwind(dst []uint64, pid int32, when event.Time, mask uint64, regs []uint64,
	stack []byte) (addrs []uint64, cut bool) {
	addrs, h := u.Walk(dst, pid, when, mask, regs, stack)
	return addrs, !h.Whole()
}

// Walk is Sample for the parts of a sample: the registers that mask (of
// PERF_SAMPLE_REGS_USER) selects, and the copy of the stack, which begins at
// the stack pointer.
//
// Fast path: once the tables of the files are read, it allocates only if dst
// has to grow.
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

// up walks from the current registers to the outermost function.
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
		// A return address may be after the end of its function.
		at := w.pc - called
		region, ok := u.opt.Maps.Find(pid, at, when)
		if !ok {
			if len(dst) > 1 && h.Tables+h.Pointer > 0 {
				dst = dst[:len(dst)-1] // not in code, so not a return address
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
			case in(m.signal, addr+called): // its first instruction: it was not called
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
		return &u.absent // another process may map it again
	}
	m := loadModule(u.opt.Maps.Files(), f)
	u.modules.Hold(f, m, m.bytes, when)
	return m
}
