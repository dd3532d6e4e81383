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

// Unknown is the name for code without a name.
const Unknown = "[unknown]"

// KernelDSO is the DSO of kernel functions outside of modules.
const KernelDSO = "[kernel.kallsyms]"

// A Frame is one function of a stack.
type Frame struct {
	Symbol string // demangled; Unknown if there is no name
	Offset uint64 // offset of the address from the start of the symbol, of the file if the symbol is unknown

	// DSO is the path as the process sees it, "[kernel.kallsyms]", "[module]", "[vdso]", "[jit]" or
	// "//anon".
	DSO string

	BuildID string // build-id of the DSO, in hex; empty if it has none
	File    string // source file, with Options.Lines; empty if unknown
	Line    int
	Inline  bool // inlined into the frame after it
	Kernel  bool
	// FileAddr is the address in the DSO's own tables, and Segment the part of
	// the DSO with the address; zero if DSO is not a file.
	FileAddr uint64
	Segment  dso.Segment
	// Since is not 0 if the address has this name only since a certain time. Frames of one
	// function have the same Since.
	Since int64
}

// Options of a Symbolizer.
type Options struct {
	Kernel *Kernel        // symbols of the kernel; nil for none
	Maps   *task.Mappings // mappings of processes; nil for none
	// Lines adds the source file and line to frames, Inlines adds the functions
	// inlined at an address. Both read DWARF, which may take seconds for a
	// large program.
	Lines, Inlines bool
	// Later leaves functions of files without names: frames have only file, build-id and
	// offset.
	Later bool
	// Mangled keeps the linker's names of C++ and Rust functions.
	Mangled bool
	// Memory bounds the tables made from files; nil means a new one with
	// DefaultMemory bytes.
	Memory *dso.Memory
	// Live says that the processes run on this machine now, Monotonic that times of events
	// are on CLOCK_MONOTONIC, as in live runs.
	Live, Monotonic bool
	// MaxFrames bounds the remembered addresses; 0 means 1<<15, with lines
	// 1<<16.
	MaxFrames int
}

func (o *Options) lines() bool { return o.Lines || o.Inlines }

// Stats counts the work of a Symbolizer.
type Stats struct {
	Addresses int    // distinct addresses remembered
	Tables    int    // files whose functions were read
	Unnamed   uint64 // distinct addresses without a name
	Forgotten uint64 // remembered addresses dropped since a bound was reached
}

// A Symbolizer converts addresses to frames. Each distinct address is named
// once. It is used by one goroutine.
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
	jitRound int               // incremented by Refresh: maps read earlier may have changed
	loaded   []kernelPiece     // kernel code that was loaded during the run
	modules  map[string]string // "kvm" to "[kvm]"
	now      event.Time        // time of the last event that needed a file
	stats    Stats
}

// place is an address in a file, which is the same in every process. call says
// that it is a return address.
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
			o.MaxFrames = 1 << 16 // reading them again takes long
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

// Refresh forgets data that may have changed: the maps of JIT compilers, which
// grow, and addresses without a name. Call it between intervals.
func (s *Symbolizer) Refresh() {
	s.jitRound++
	clear(s.nowhere)
}

// Resolve returns the frames of an address at which code was interrupted: one
// frame or, with Inlines, also the inlined functions before it, innermost
// first. The result is never empty. The slice is shared and must not be
// changed.
func (s *Symbolizer) Resolve(pid, tid int32, addr uint64, when event.Time) []Frame {
	return s.resolve(pid, addr, when, false, false)
}

// Function is the function at an address at which code was interrupted, without
// line and inlined functions. It is cheaper than Resolve.
func (s *Symbolizer) Function(pid, tid int32, addr uint64, when event.Time) Frame {
	return s.resolve(pid, addr, when, false, true)[0]
}

// ResolveReturn is Resolve for a return address: all addresses of a stack except
// the innermost. The frame is the frame of the call, which may be the last
// instruction of its function; the offset is the offset of addr.
func (s *Symbolizer) ResolveReturn(pid, tid int32, addr uint64, when event.Time) []Frame {
	return s.resolve(pid, addr, when, true, false)
}

// An Address is an address of a process at a time, to be named. With Call it is a
// return address.
type Address struct {
	PID  int32
	Addr uint64
	When event.Time
	Call bool
}

// Prepare names addresses in advance, one file after another, so that Resolve and
// ResolveReturn find them in the cache. So the debug information of each large file
// is read only once, and only one file's is in memory.
func (s *Symbolizer) Prepare(list []Address) {
	if s.opt.Maps == nil || !s.opt.lines() {
		return
	}
	number := map[*dso.File]int{}
	in := make([]int, len(list)) // index of each address's file
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
		// The lines are garbage now, several times the other memory of the run, and
		// the collector would let as much garbage accumulate again.
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
			// Slow path: names that depend on the time are not cached.
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

// Kernel sets the symbols of the kernel.
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

// back is the number of bytes by which a return address is moved back into its
// call.
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
	f.BuildID = at.file.BuildID // it may have been found only now
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

// handlerReturn reports functions to which signal handlers return. They are
// never called: the kernel or the C library puts the address of their first
// instruction in place of a return address.
func handlerReturn(name string) bool {
	switch strings.TrimSuffix(name, ".abi0") {
	case "__restore_rt", "__kernel_rt_sigreturn", "runtime.sigreturn__sigaction", "runtime.sigreturn":
		return true
	}
	return false
}

// plain demangles a name unless Options.Mangled is set.
func (s *Symbolizer) plain(name string) string {
	if s.opt.Mangled {
		return name
	}
	return Demangle(name)
}

// Table returns the functions of a file, which are read at the first use; empty
// if there are none.
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

// DefaultMemory bounds the tables made from files, in bytes: functions, source lines
// and maps of compilers.
const DefaultMemory = 192 << 20

// littleTables is the size of tables of functions, in bytes, up to which idle
// ones are kept.
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
