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
	// Kernel has the symbols of the kernel that runs.
	Kernel *symbol.Kernel
	// Recording is where the events come from; nil is this machine, now.
	Recording *perfdata.Info
	// User says that stacks have a user part, or that single user addresses are
	// named. The Namer follows the mappings of processes then.
	User bool
	// Interpreters tells what interpreters run, nil does not. The Namer closes it.
	Interpreters *interpreter.Walker
	// Patient says that a long time may pass between an event and the look at its stack.
	Patient bool
	// Lines asks for source lines and inlined functions.
	Lines bool
	// Memory bounds stacks, names and what is read of files; nil leaves each its own bound.
	Memory *memory.Budget

	// SymRoot and DebugDirs are where files are found, Servers where they come from.
	SymRoot   string
	DebugDirs []string
	Servers   Servers
	// Later leaves functions of files without names: these are given to what was saved.
	Later bool
	// Expired and Note go to dso.Options.
	Expired func() bool
	Note    func(f *dso.File, err error)
	// Say tells the user why names are missing. It may be told the same again.
	Say func(text string)
}

// A Namer names the stacks of a run. It is used by one goroutine.
type Namer struct {
	opt    Options
	kernel *symbol.Kernel // of the events
	origin
	table   *stack.Table
	maps    *task.Mappings // nil without user stacks
	symbols *symbol.Symbolizer
	unwind  *unwind.Unwinder // made at the first need
	memory  *dso.Memory      // bounds the tables that symbols and unwind make of files
	frameCache
	fetching
	places  places
	evicted uint64 // of table and places, at the last call of Loss
	forgot  bool   // stacks have been forgotten
	// generation grows when numbers of stacks are given up: they may be used
	// again for others.
	generation int
}

// frameCache holds the frames that were made.
type frameCache struct {
	// changes tells when addresses begin to mean something else.
	changes *symbol.Changes
	frames  map[frameKey][]*result.Frame
	// nameless are the addresses in frames that have no name yet.
	nameless []frameKey
}

// fetching is what servers are asked with; fetch is nil if none is.
type fetching struct {
	fetch  *debuginfod.Client
	ending bool // the results to come are the last
}

// maxMemory bounds the tables that were made of files, in bytes.
const maxMemory = 192 << 20

// New makes a Namer. It is wanted before events are opened: the mappings of
// processes count from the first record on.
func New(o Options) *Namer {
	n := &Namer{opt: o, kernel: o.Kernel, frameCache: frameCache{frames: map[frameKey][]*result.Frame{}},
		memory: dso.NewMemory(o.Memory.Share(3, 1, maxMemory))}
	if n.foreign = o.foreignKernel(); o.Recording != nil {
		n.id, _ = recordedID(o.Recording)
	}
	if o.Recording != nil && o.Recording.Kallsyms != "" {
		// trace-cmd brings the symbols along.
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

// Kernel has the symbols of the kernel that the events are of.
func (n *Namer) Kernel() *symbol.Kernel { return n.kernel }

// mappings are the options for following the mappings of processes and for finding the
// mapped files: those of a recording are looked for by path and build-id.
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

// Record takes a record that is not a sample.
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

// Look looks at a process that may end before its first stack is named.
func (n *Namer) Look(pid int32) {
	if n.maps != nil {
		n.opt.Interpreters.Look(n.maps.Space(pid, 0))
	}
}

// Hold looks at a process that had a stack at that time, and keeps its mappings until
// stacks are forgotten.
func (n *Namer) Hold(pid int32, when event.Time) {
	if n.maps != nil {
		if s := n.maps.Hold(pid, when); s != nil {
			n.symbols.Keep(s)
			n.opt.Interpreters.Look(s)
		}
	}
}

// Reader numbers the stacks in front of a decoder of samples. With dwarf, user stacks are
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
				n.table.Exec(pid) // its addresses mean something else
			}
		}
	}
	return stack.NewReader(m, n.table, spec)
}

// UnwindRegs are the registers that the kernel must sample for stacks to be unwound.
func UnwindRegs() uint64 { return unwind.Mask(elf.EM_NONE) }

// Number numbers a stack whose kernel and user part come separately: see stack.Table.Number.
// interpreted is the hash of the interpreted functions that ran, see interpreter.Walker.Weave.
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

// Fresh looks at what interpreters ran first since the last call; some says that there was something.
func (n *Namer) Fresh() (some bool, err error) { return n.opt.Interpreters.Fresh() }

// Unwound says that the user part of a stack was found by unwind tables.
func (n *Namer) Unwound(id stack.ID) { n.table.Unwound(id) }

// Stackless reports that events came, and none of them had a stack.
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

// Generation is another number as soon as the number of a stack may mean another stack.
func (n *Namer) Generation() int { return n.generation }

// Crowded reports that there are so many stacks that forgetting some is worth its time.
func (n *Namer) Crowded() bool { return n.table.Crowded() || n.places.crowded() }

// Forget drops all stacks but the held ones, and the ended processes that no held stack
// needs: each new process brings stacks and mappings of its own, and a run that lasts for
// days sees millions of them. The text that it returns tells people what was dropped.
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
	// A process with the number of another has frames of its own.
	n.clearFrames()
	n.symbols.Refresh()
	return fmt.Sprintf("stacks: %d are let go, %d are held", before-n.table.Len(), n.table.Len())
}

// Refresh forgets names that may have changed: code that a compiler makes at run
// time has one as soon as the compiler says it.
func (n *Namer) Refresh() {
	n.symbols.Refresh()
	n.absorb()
	for _, k := range n.nameless {
		delete(n.frames, k)
	}
	n.nameless = n.nameless[:0]
}
