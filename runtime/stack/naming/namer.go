package naming

import (
	"debug/elf"
	"errors"
	"fmt"
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack"
	"ppscript/runtime/stack/debuginfod"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/interpreter"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/stack/unwind"
	"ppscript/runtime/system/memory"
	"ppscript/runtime/target/task"
)

// Options of a Namer.
type Options struct {
	// Kernel has the symbols of the running kernel.
	Kernel *symbol.Kernel
	// Recording describes the recording of the events; nil in a live run.
	Recording *perfdata.Info
	// User says that stacks have a user part, or that single user addresses are
	// named. The Namer then follows the mappings of processes.
	User bool
	// Interpreters finds interpreted functions; may be nil. The Namer closes it.
	Interpreters *interpreter.Walker
	// Patient says that a long time may pass between an event and the use of its stack.
	Patient bool
	// Lines asks for source lines and inlined functions.
	Lines bool
	// Memory bounds stacks, names and tables of files; with nil each has its own bound.
	Memory *memory.Budget

	// SymRoot and DebugDirs are directories to search for files, Servers the servers
	// to fetch them from.
	SymRoot   string
	DebugDirs []string
	Servers   Servers
	// Later leaves functions of files without names: the names are added later to the
	// saved result.
	Later bool
	// Expired and Note are passed to dso.Options.
	Expired func() bool
	Note    func(f *dso.File, err error)
	// Say tells the user why names are missing. It may be called with the same
	// text again.
	Say func(text string)
}

// A Namer names the stacks of a run. It is used by one goroutine.
type Namer struct {
	opt    Options
	kernel *symbol.Kernel // kernel of the events
	origin
	table   *stack.Table
	maps    *task.Mappings // nil without user stacks
	symbols *symbol.Symbolizer
	unwind  *unwind.Unwinder // made when it is first needed
	memory  *dso.Memory      // bounds the tables that packages symbol and unwind make from files
	frameCache
	fetching
	places  places
	evicted uint64 // evicted stacks of table and places at the last call of Loss
	forgot  bool   // some stacks have been forgotten
	// generation grows when numbers of stacks are freed, since they may be used
	// again for other stacks.
	generation int
}

// frameCache holds the frames that were made.
type frameCache struct {
	// changes finds out when the code at addresses changes.
	changes *symbol.Changes
	frames  map[frameKey][]*result.Frame
	// nameless are the addresses in frames without a name so far.
	nameless []frameKey
}

// fetching has the client for servers; fetch is nil if there are none.
type fetching struct {
	fetch  *debuginfod.Client
	ending bool // the next results are the last
}

// maxMemory bounds the tables made from files, in bytes.
const maxMemory = 192 << 20

// New makes a Namer. It must be made before events are opened, since the
// mappings of processes are needed from the first record on.
func New(o Options) *Namer {
	n := &Namer{opt: o, kernel: o.Kernel, frameCache: frameCache{frames: map[frameKey][]*result.Frame{}},
		memory: dso.NewMemory(o.Memory.Share(3, 1, maxMemory))}
	if n.foreign = o.foreignKernel(); o.Recording != nil {
		n.id, _ = recordedID(o.Recording)
	}
	if o.Recording != nil && o.Recording.Kallsyms != "" {
		// Recordings of trace-cmd contain the symbols.
		n.kernel, n.foreign = symbol.ParseKernel(o.Recording.Kallsyms), false
	} else if n.foreign {
		if k := o.cachedKernel(); k != nil {
			n.kernel, n.foreign = k, false
		}
	}
	so := symbol.Options{Live: o.Recording == nil, Monotonic: o.monotonic(), Kernel: n.kernel,
		Lines: o.Lines, Inlines: o.Lines, Memory: n.memory, Later: o.Later}
	to := stack.Options{
		Stacks: o.Memory.Share(4, 64, stack.DefaultStacks), Words: o.Memory.Share(4, 8, stack.DefaultWords),
	}
	var elsewhere dso.Elsewhere
	if (o.User || o.Recording != nil) && !o.Later {
		elsewhere, n.fetch = o.elsewhere()
	}
	if o.User {
		mo, files := o.mappings(n.foreign)
		mo.Ending = func(s *task.Space) { n.symbols.Keep(s) }
		files.Elsewhere = elsewhere
		mo.Files = dso.NewStore(files)
		n.maps = task.NewMappings(mo)
		so.Maps = n.maps
		to.Fresh = n.Hold
	}
	n.table = stack.New(to)
	n.symbols = symbol.New(so)
	n.changes = n.symbols.NewChanges()
	return n
}

// monotonic reports that times of events are on CLOCK_MONOTONIC.
func (o *Options) monotonic() bool {
	return o.Recording == nil || o.Recording.Clock.Monotonic()
}

// Close closes the files.
func (n *Namer) Close() error {
	if n.maps == nil {
		return n.fetch.Close()
	}
	n.symbols.Close()
	if n.opt.Interpreters != nil {
		defer n.opt.Interpreters.Close()
	}
	if n.fetch != nil {
		return errors.Join(n.fetch.Close(), n.maps.Close())
	}
	return n.maps.Close()
}

// Kernel returns the symbols of the events' kernel.
func (n *Namer) Kernel() *symbol.Kernel { return n.kernel }

// mappings returns the options for following the mappings of processes and for finding
// the mapped files. Files of a recording are searched by path and build-id.
func (o *Options) mappings(foreign bool) (task.MappingsOptions, dso.Options) {
	oo := dso.Options{SysRoot: o.SymRoot, DebugDirs: o.debugDirs(), Expired: o.Expired, Fits: o.Memory.Fits,
		Note: o.Note}
	mo := task.MappingsOptions{}
	if o.Patient {
		mo.MaxEnded = math.MaxInt
	}
	if o.Recording != nil {
		mo.NoProc, oo.NoProc = true, true
		oo.SameKernel, oo.BuildIDs = !foreign, o.fileIDs()
	}
	return mo, oo
}

// Record handles a record that is not a sample.
func (n *Namer) Record(e *event.Event) {
	if n.maps != nil {
		n.maps.Record(e)
		n.interpreted(e)
	}
	n.symbols.Record(e)
	if e.Kind == event.Mmap && n.opt.Recording != nil {
		n.moved(e)
	}
	if e.Kind == event.Comm {
		if c, ok := perf.DecodeComm(e); ok && c.Exec {
			n.table.Exec(c.PID)
		}
	}
}

// Look reads the mappings of a process that may end before its first stack is
// named.
func (n *Namer) Look(pid int32) {
	if n.maps != nil {
		n.opt.Interpreters.Look(n.maps.Space(pid, 0))
	}
}

// Hold reads the mappings of a process that had a stack at a time, and keeps them
// until stacks are forgotten.
func (n *Namer) Hold(pid int32, when event.Time) {
	if n.maps != nil {
		if s := n.maps.Hold(pid, when); s != nil {
			n.symbols.Keep(s)
			n.opt.Interpreters.Look(s)
		}
	}
}

// Reader wraps a decoder of samples and numbers their stacks. With dwarf, user stacks are
// unwound from registers and a copy of the stack's memory.
func (n *Namer) Reader(m event.Members, spec stack.Spec, dwarf bool) event.Members {
	if dwarf {
		if n.unwind == nil {
			n.unwind = unwind.New(unwind.Options{Maps: n.maps, Memory: n.memory})
		}
		spec.Unwinder = n.unwind
	}
	if n.maps != nil && spec.User {
		if n.opt.Interpreters != nil {
			spec.Interpret = n.opt.Interpreters.Rewrite
		}
		spec.Observe = func(pid int32, when event.Time, chain []uint64) {
			if n.changes.See(pid, when, chain) {
				n.table.Exec(pid) // the code at its addresses has changed
			}
		}
	}
	return stack.NewReader(m, n.table, spec)
}

// UnwindRegs are the registers that the kernel must sample to unwind stacks.
func UnwindRegs() uint64 { return unwind.Mask(elf.EM_NONE) }

// Number numbers a stack whose kernel and user part are separate: see stack.Table.Number.
// interpreted is the hash of its interpreted functions, see interpreter.Walker.Weave.
func (n *Namer) Number(pid int32, image uint32, when event.Time, kernel, user []uint64, most int,
	interpreted uint64,
) stack.ID {
	if interpreted == 0 {
		return n.table.Number(pid, image, when, kernel, user, most)
	}
	weave := func(dst, chain []uint64) ([]uint64, bool) {
		return n.opt.Interpreters.Weave(dst, pid, interpreted, chain)
	}
	return n.table.NumberWoven(pid, image, when, kernel, user, most, weave)
}

// Fresh reads the interpreted functions that are new since the last call; some says that there were
// any.
func (n *Namer) Fresh() (some bool, err error) { return n.opt.Interpreters.Fresh() }

// Unwound records that the user part of a stack was found by unwind tables.
func (n *Namer) Unwound(id stack.ID) { n.table.Unwound(id) }

// Stackless reports that events came, but none had a stack.
func (n *Namer) Stackless() bool {
	return n.table.Len() == 0 && !n.forgot && n.table.Without() > 0
}

// Loss counts the stacks that found no room since the last call.
func (n *Namer) Loss() event.Loss {
	now := n.table.Evicted() + n.places.full + n.places.forgotten
	l := event.Loss{Evicted: now - n.evicted}
	n.evicted = now
	return l
}

// Generation changes when the number of a stack may stand for another stack.
func (n *Namer) Generation() int { return n.generation }

// Crowded reports that there are so many stacks that it is worth forgetting some.
func (n *Namer) Crowded() bool { return n.table.Crowded() || n.places.crowded() }

// Forget drops all stacks except the held ones, and the ended processes that no held
// stack needs. Each new process has stacks and mappings of its own, and a run of days has
// millions of processes. It returns a message about the dropped data.
func (n *Namer) Forget(held map[stack.ID]bool) string {
	before := n.table.Len()
	n.forgot = true
	n.generation++
	retain := func() {
		n.table.Retain(held)
		n.places.retain(n.table, held)
	}
	if n.maps == nil {
		retain()
	} else {
		n.maps.Release(retain)
	}
	// A new process with the same number has other frames.
	n.clearFrames()
	n.symbols.Refresh()
	return fmt.Sprintf("stacks: %d are let go, %d are held", before-n.table.Len(), n.table.Len())
}

// Refresh forgets names that may have changed: code of a JIT compiler gets its
// name when the compiler writes it.
func (n *Namer) Refresh() {
	n.symbols.Refresh()
	n.absorb()
	for _, k := range n.nameless {
		delete(n.frames, k)
	}
	n.nameless = n.nameless[:0]
}
