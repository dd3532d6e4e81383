package symbol

import (
	"cmp"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// Unknown is the name of code that has none.
const Unknown = "[unknown]"

// KernelDSO is where kernel functions outside of modules are.
const KernelDSO = "[kernel.kallsyms]"

// A Frame is one function of a stack.
type Frame struct {
	Symbol string // demangled; Unknown if there is no name
	Offset uint64 // of the address from the start of the symbol; from the start of the file if unknown

	// The path as the process sees it, "[kernel.kallsyms]", "[module]", "[vdso]", "[jit]", "//anon".
	DSO string

	BuildID string // of the DSO, in hex; empty if it has none
	File    string // source file, if lines were asked for and are known
	Line    int
	Inline  bool // the compiler put it into the frame behind it
	Kernel  bool
	// FileAddr is the address as DSO counts, and Segment the part of it that the
	// address is in; zero if DSO is no file.
	FileAddr uint64
	Segment  dso.Segment
	// Since is not 0 if the address has this name since that time only; equal ones are of one
	// function.
	Since int64
}

// Options of a Symbolizer. The zero value knows the running kernel and no
// process.
type Options struct {
	Kernel *Kernel        // of the addresses; nil for none
	Maps   *task.Mappings // of the processes; nil for none
	// Lines asks for source file and line, Inlines for the functions that
	// were inlined at an address; both read DWARF, which may take seconds
	// for a large program.
	Lines, Inlines bool
	// Later leaves functions of files without names: frames tell file, build-id and offset.
	Later bool
	// Mangled leaves C++ and Rust names as the linker has them.
	Mangled bool
	// Memory bounds the tables made of files; nil is one of DefaultMemory bytes.
	Memory *dso.Memory
	// Live says that the processes run here, now, and Monotonic that times of events are on
	// CLOCK_MONOTONIC, as live ones are.
	Live, Monotonic bool
	// MaxFrames bounds the addresses that are remembered; 0 is 1<<15, with
	// lines 1<<16.
	MaxFrames int
}

func (o *Options) lines() bool { return o.Lines || o.Inlines }

// Stats counts the work of a Symbolizer.
type Stats struct {
	Addresses int    // distinct addresses remembered
	Tables    int    // files whose functions were read
	Unnamed   uint64 // distinct addresses without a name
	Forgotten uint64 // remembered addresses given up to stay in the bound
}

// A Symbolizer turns addresses into frames. Each distinct address is worked
// out once. It is used by one goroutine.
type Symbolizer struct {
	opt      Options
	kernel   map[uint64][]Frame
	user     map[place][]Frame
	nowhere  map[nowhere][]Frame
	tables   *dso.Cache[*dso.File, *Table]
	lines    *dso.Cache[*dso.File, *lineInfo]
	jit      *dso.Cache[*task.Space, *jitMap]
	dumps    *dso.Cache[*task.Space, *spaceDump]
	heldMaps heldMaps
	jitRound int               // of Refresh: maps of before may have changed
	loaded   []kernelPiece     // kernel code that came since
	modules  map[string]string // "kvm" to "[kvm]"
	now      event.Time        // of the last event of which a file was looked at
	stats    Stats
}

// place is an address in a file: the same in every process. call tells an
// address that a call returns to from one where code stopped.
type place struct {
	file  *dso.File
	off   uint64
	call  bool
	plain bool // without lines
}

// nowhere is an address without a file.
type nowhere struct {
	space *task.Space
	addr  uint64
	call  bool
}

// New makes a Symbolizer.
func New(o Options) *Symbolizer {
	if o.MaxFrames <= 0 {
		if o.MaxFrames = 1 << 15; o.lines() {
			o.MaxFrames = 1 << 16 // it takes long to read them again
		}
	}
	if o.Memory == nil {
		o.Memory = dso.NewMemory(DefaultMemory)
	}
	s := &Symbolizer{opt: o, modules: map[string]string{},
		tables: dso.NewCache[*dso.File, *Table](o.Memory, littleTables),
		lines:  dso.NewCache[*dso.File, *lineInfo](o.Memory, littleDebug),
		jit:    dso.NewCache[*task.Space, *jitMap](o.Memory, littleJIT),
		dumps:  dso.NewCache[*task.Space, *spaceDump](o.Memory, littleDumps)}
	s.forget()
	return s
}

func (s *Symbolizer) forget() {
	s.kernel, s.user, s.nowhere = map[uint64][]Frame{}, map[place][]Frame{}, map[nowhere][]Frame{}
}

// Stats returns the counts so far.
func (s *Symbolizer) Stats() Stats {
	s.stats.Addresses, s.stats.Tables = len(s.kernel)+len(s.user)+len(s.nowhere), s.tables.Len()
	return s.stats
}

// Refresh forgets facts that may have changed since: the maps of JIT compilers,
// which grow, and addresses that had no name. Call it between intervals.
func (s *Symbolizer) Refresh() {
	s.jitRound++
	clear(s.nowhere)
}

// Resolve returns the frames of an address where code was interrupted: one, or
// with Inlines the inlined functions in front of the one that contains them,
// innermost first. It is never empty. The slice is shared and must not be
// changed.
func (s *Symbolizer) Resolve(pid, tid int32, addr uint64, when event.Time) []Frame {
	return s.resolve(pid, addr, when, false, false)
}

// Function is the function that has code at an address where it was interrupted,
// without line and inlined functions: cheaper than Resolve.
func (s *Symbolizer) Function(pid, tid int32, addr uint64, when event.Time) Frame {
	return s.resolve(pid, addr, when, false, true)[0]
}

// ResolveReturn is Resolve for an address that a call returns to: all but the
// innermost of a stack. The frame is the frame of the call, which may be the last
// instruction of its function; the offset is the offset of addr.
func (s *Symbolizer) ResolveReturn(pid, tid int32, addr uint64, when event.Time) []Frame {
	return s.resolve(pid, addr, when, true, false)
}

// An Address is one to be named: of a process at that time, where code was or, with
// Call, where a call returns to.
type Address struct {
	PID  int32
	Addr uint64
	When event.Time
	Call bool
}

// Prepare names addresses, so that Resolve and ResolveReturn know them: those of one
// file after another. Of several large files the debug information is then read
// once, and only one of them is held.
func (s *Symbolizer) Prepare(list []Address) {
	if s.opt.Maps == nil || !s.opt.lines() {
		return
	}
	number := map[*dso.File]int{}
	in := make([]int, len(list)) // number of the file of each
	order := make([]int, len(list))
	for i, a := range list {
		order[i] = i
		if a.Addr >= kernelHalf {
			continue
		}
		if r, ok := s.opt.Maps.Find(a.PID, a.Addr, a.When); ok && r.File != nil {
			n, known := number[r.File]
			if !known {
				n = len(number) + 1
				number[r.File] = n
			}
			in[i] = n
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(in[a], in[b]) })
	for _, i := range order {
		if in[i] > 0 {
			s.resolve(list[i].PID, list[i].Addr, list[i].When, list[i].Call, false)
		}
	}
	read := s.lines.Bytes()
	s.lines.Clear() // until the next time
	if read > littleDebug/4 {
		// The lines are garbage now, several times the memory that the run needs
		// otherwise, and the collector would let as much garbage come together again.
		debug.FreeOSMemory()
	}
}

func (s *Symbolizer) resolve(pid int32, addr uint64, when event.Time, call, plain bool) []Frame {
	if s.full() {
		s.stats.Forgotten += uint64(len(s.kernel) + len(s.user) + len(s.nowhere))
		s.forget()
	}
	if addr >= kernelHalf {
		if len(s.loaded) > 0 {
			// Slow path: names that depend on the time are not remembered.
			if p := s.loadedAt(addr-back(call), when); p != nil {
				return []Frame{{Symbol: p.name, Offset: addr - p.addr, DSO: p.dso, Kernel: true}}
			}
		}
		if f, ok := s.kernel[addr]; ok {
			return f
		}
		f := []Frame{s.kernelFrame(addr, call)}
		s.kernel[addr] = f
		return f
	}
	var space *task.Space
	var region *task.Region
	if s.opt.Maps != nil {
		if r, ok := s.opt.Maps.Find(pid, addr, when); ok {
			region = r
		}
		space = s.opt.Maps.Space(pid, when)
	}
	if region != nil && region.File != nil {
		at := place{region.File, region.Offset(addr), call, plain && s.opt.lines()}
		if f, ok := s.user[at]; ok {
			return f
		}
		s.now = when
		f := s.fileFrames(at)
		s.user[at] = f
		return f
	}
	if space != nil && space.Marked() {
		s.now = max(s.now, when)
		if f, ok := s.dumped(space, addr, when, call, plain); ok {
			return []Frame{f}
		}
	}
	at := nowhere{space, addr, call}
	if f, ok := s.nowhere[at]; ok {
		return f
	}
	s.now = when
	f := []Frame{s.jitFrame(space, region, addr, call)}
	s.nowhere[at] = f
	return f
}

func (s *Symbolizer) full() bool {
	return len(s.kernel)+len(s.user)+len(s.nowhere) >= s.opt.MaxFrames
}

func (s *Symbolizer) kernelFrame(addr uint64, call bool) Frame {
	f := Frame{Symbol: Unknown, Offset: addr, DSO: KernelDSO, Kernel: true}
	if s.opt.Kernel != nil {
		name, off, _, module, ok := s.opt.Kernel.Lookup(addr - back(call))
		if ok {
			f.Symbol, f.Offset = name, off+back(call)
			if module != "" {
				f.DSO = s.module(module)
			}
			return f
		}
	}
	s.stats.Unnamed++
	return f
}

// Kernel has the kernel's functions named by k from now on.
func (s *Symbolizer) Kernel(k *Kernel) {
	s.opt.Kernel = k
	clear(s.kernel)
}

func (s *Symbolizer) module(name string) string {
	if m, ok := s.modules[name]; ok {
		return m
	}
	m := "[" + name + "]"
	s.modules[name] = m
	return m
}

// back is how far a return address is moved into its call.
func back(call bool) uint64 {
	if call {
		return 1
	}
	return 0
}

// fileFrames is the slow path for an address in a file.
func (s *Symbolizer) fileFrames(at place) []Frame {
	f := Frame{Symbol: Unknown, Offset: at.off, DSO: at.file.Name(), BuildID: at.file.BuildID}
	if s.opt.Later {
		return []Frame{f}
	}
	im, err := at.file.Image()
	if err != nil {
		s.stats.Unnamed++
		return []Frame{f}
	}
	f.BuildID = at.file.BuildID // it may be known only now
	addr, ok := im.Addr(at.off - back(at.call))
	if !ok {
		s.stats.Unnamed++
		return []Frame{f}
	}
	f.FileAddr, f.Segment = addr+back(at.call), im.Segment(addr)
	t := s.Table(at.file)
	if i, ok := t.Find(addr + back(at.call)); ok && at.call && t.addr[i] == addr+1 &&
		handlerReturn(string(t.nameOf(i))) {
		f.Symbol, f.Offset = string(t.nameOf(i)), 0
		return []Frame{f}
	}
	if i, ok := t.Find(addr); ok {
		f.Symbol, f.Offset = s.plain(string(t.nameOf(i))), addr+back(at.call)-t.addr[i]
	} else {
		s.stats.Unnamed++
	}
	if s.opt.lines() && !at.plain {
		return s.withLines(f, at.file, addr)
	}
	return []Frame{f}
}

// handlerReturn tells the functions that signal handlers return to. Nobody
// calls them: the kernel or the C library leaves the address of their first
// instruction where a return address would be.
func handlerReturn(name string) bool {
	switch strings.TrimSuffix(name, ".abi0") {
	case "__restore_rt", "__kernel_rt_sigreturn", "runtime.sigreturn__sigaction", "runtime.sigreturn":
		return true
	}
	return false
}

// plain demangles unless the user wants the linker's names.
func (s *Symbolizer) plain(name string) string {
	if s.opt.Mangled {
		return name
	}
	return Demangle(name)
}

// Table is the functions of a file, read at the first use; empty if there are
// none.
func (s *Symbolizer) Table(f *dso.File) *Table {
	if t, ok := s.tables.Of(f, s.now); ok {
		return t
	}
	var store *dso.Store
	if s.opt.Maps != nil {
		store = s.opt.Maps.Files()
	}
	t, err := ReadTable(store, f)
	if err != nil {
		t = &Table{}
	}
	s.tables.Hold(f, t, t.Bytes(), s.now)
	return t
}

// DefaultMemory bounds the tables made of files, in bytes: functions, source lines and
// maps of compilers.
const DefaultMemory = 192 << 20

// littleTables is how many bytes of functions may be idle.
const littleTables = 8 << 20

// jitFrame names an address in memory without a file.
func (s *Symbolizer) jitFrame(space *task.Space, r *task.Region, addr uint64, call bool) Frame {
	f := Frame{Symbol: Unknown, Offset: addr}
	if r != nil {
		f.DSO = r.Name
		if strings.HasPrefix(r.Name, "/") && !strings.HasPrefix(r.Name, "//") {
			f.DSO = filepath.Clean(r.Name)
		}
	}
	if space != nil {
		if t := s.jitTable(space); t != nil {
			if i, ok := t.Find(addr - back(call)); ok {
				f.Symbol, f.DSO = s.compilerName(string(t.nameOf(i)))
				f.Offset = addr - t.addr[i]
				return f
			}
		}
	}
	s.stats.Unnamed++
	return f
}
