package interpreter

import (
	"errors"
	"io"

	"ppscript/bpf/features"
	"ppscript/bpf/interpreted"
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// Bounds on numbered frames and the bytes of their texts, on remembered stacks, and on the bytes of
// remembered code objects of all processes. A process may have any number of objects, each with 64
// KB of lines.
const (
	maxFrames = 1 << 16
	maxTexts  = 32 << 20
	maxStacks = 1 << 15
	maxHeld   = 24 << 20
)

// Stats counts the work of a Walker.
type Stats struct {
	Samples uint64 // samples with interpreted functions
	Lost    uint64 // samples whose interpreted functions could not be read in time
	Unknown uint64 // code objects that had changed since the sample
}

// A Walker finds the interpreted functions in the stacks of a run. It is used by one
// goroutine.
type Walker struct {
	run         *interpreted.Run // nil: frames are followed when a sample is read
	binaries    map[*dso.File]*carrier
	spaces      map[*task.Space]*process // nil if a process has no interpreter
	running     map[int32]*process
	ended       []*process // ended processes, the earliest first
	cachedBytes int        // bytes of remembered code objects
	stacks      map[key]*interpretedStack
	places
	stats Stats
}

// key identifies an interpreted stack of a process.
type key struct {
	of   *process
	hash uint64
}

// interpretedStack has the frames to insert into a chain: for each call of the interpreter,
// innermost first, the numbers of its frames.
type interpretedStack struct{ calls [][]uint64 }

// places has the frames by number, from 1.
type places struct {
	list  []*result.Frame
	index map[result.Frame]uint64
	texts int // bytes of their names and files
}

// Open loads the program of the kernel. If programs must not run, host is nil; frames are then
// followed when a sample is read.
func Open(host *features.Host) (*Walker, error) {
	w := &Walker{binaries: map[*dso.File]*carrier{}, spaces: map[*task.Space]*process{},
		running: map[int32]*process{}, stacks: map[key]*interpretedStack{},
		places: places{index: map[result.Frame]uint64{}}}
	if host == nil {
		return w, nil
	}
	run, err := interpreted.Open(host)
	if err != nil {
		return nil, err
	}
	w.run = run
	return w, nil
}

// Close unloads the program.
func (w *Walker) Close() error {
	if w.run == nil {
		return nil
	}
	return w.run.Close()
}

// Late reports that frames are followed when a sample is read, so that samples
// must be read promptly.
func (w *Walker) Late() bool { return w != nil && w.run == nil }

// Stats returns the counts so far.
func (w *Walker) Stats() Stats { return w.stats }

// Observe makes the kernel call the program for the samples of an event whose stacks have a user
// part. It must be called before the event is opened. Events to which no program can be attached
// have no interpreted functions, nor do probes and system calls: a program at the tracepoint of all
// system calls would cost too much.
func (w *Walker) Observe(events []perf.EventConfig, i int, s *stack.Choice) {
	if w == nil || w.run == nil || s == nil || !s.User || i >= len(events) {
		return
	}
	switch e := &events[i]; {
	case e.Config1Text != "", e.Schema.System == "syscalls", e.Schema.System == "raw_syscalls":
	case e.Tracepoint():
		_ = w.run.Hook(e.Schema.Name)
	default:
		e.Observer = w.run.FD()
	}
}

// Program returns the program of the kernel, which can be run before other
// programs.
func (w *Walker) Program() *interpreted.Run { return w.run }

// Fresh reads the functions of the stacks that are new since the last call, while their processes
// exist; some says that there were any.
func (w *Walker) Fresh() (some bool, err error) {
	if w == nil || w.run == nil {
		return false, nil
	}
	err = w.run.Fresh(func(pid int32, hash uint64) {
		some = true
		if p := w.running[pid]; p != nil {
			w.stack(p, hash)
		}
	})
	return some, err
}

// Look finds the interpreter of a process, and gives its layout to the program;
// nil is ignored.
func (w *Walker) Look(s *task.Space) {
	if w == nil || s == nil {
		return
	}
	p, known := w.spaces[s]
	if !known {
		if len(w.spaces) >= interpreted.MaxProcesses {
			clear(w.spaces)
		}
		p = w.processOf(s)
		w.spaces[s] = p
	}
	if p == nil || w.running[s.PID] == p || len(w.running) >= interpreted.MaxProcesses {
		return
	}
	if w.run == nil || w.run.Watch(s.PID, &p.config) == nil {
		w.running[s.PID] = p
	}
}

// Mapped records that a process has mapped a file, so that it may have an interpreter
// now.
func (w *Walker) Mapped(pid int32, name string, space func() *task.Space) {
	if languageOf(name) == nil {
		return
	}
	if s := space(); s != nil && w.spaces[s] == nil {
		delete(w.spaces, s)
		w.Look(s)
	}
}

// Forked records that a process began as a copy of another.
func (w *Walker) Forked(parent int32, space func() *task.Space) {
	if w.running[parent] != nil {
		w.Look(space())
	}
}

// Forget records that a process executes another program.
func (w *Walker) Forget(pid int32) {
	if w.running[pid] != nil {
		delete(w.running, pid)
		if w.run == nil {
			return
		}
		_ = w.run.Forget(pid) // errors are ignored: the process ends anyway
	}
}

// Ended records that a process ended. Its functions are kept for samples that are not read yet.
func (w *Walker) Ended(pid int32) {
	if p := w.running[pid]; p != nil {
		w.ended = append(w.ended, p)
	}
	for len(w.ended) > maxEnded {
		if p := w.ended[0]; w.running[p.pid] == p {
			w.Forget(p.pid)
		}
		w.ended = w.ended[1:]
	}
}

// maxEnded is the number of ended processes that are kept.
const maxEnded = 64

// slack is the longest time between the run of the program and its sample: a virtual machine may be
// paused in between.
const slack = 100e6

// Rewrite appends the chain of a sample to dst, with interpreted functions in place of the
// interpreter's own function. If there are none, ok is false and nothing is appended.
//
// Fast path: samples of other processes cost one look-up.
func (w *Walker) Rewrite(dst []uint64, e *event.Event, chain []uint64) (out []uint64, ok bool) {
	p := w.running[e.PID]
	if p == nil || len(chain) == 0 {
		return dst, false
	}
	if w.run == nil {
		return w.late(dst, p, e.TID, chain)
	}
	s, ok := w.run.At(e.CPU, int64(e.Time))
	if !ok || s.TID != e.TID || s.PID != e.PID || int64(e.Time)-s.Time > slack {
		return dst, false
	}
	return w.weave(dst, p, s.Hash, chain)
}

// Weave is Rewrite for a stack that programs of the kernel counted; hash identifies the interpreted
// frames that the program found with it.
func (w *Walker) Weave(dst []uint64, pid int32, hash uint64, chain []uint64) (out []uint64, ok bool) {
	if w == nil || hash == 0 || len(chain) == 0 {
		return dst, false
	}
	p := w.running[pid]
	if p == nil {
		return dst, false
	}
	return w.weave(dst, p, hash, chain)
}

func (w *Walker) weave(dst []uint64, p *process, hash uint64, chain []uint64) (out []uint64, ok bool) {
	w.stats.Samples++
	st := w.stack(p, hash)
	if st == nil {
		return dst, false
	}
	return merge(dst, chain, st.calls, p), true
}

// stack returns the frames with a hash.
func (w *Walker) stack(p *process, hash uint64) *interpretedStack {
	k := key{p, hash}
	if st, known := w.stacks[k]; known {
		return st
	}
	read, ok := w.run.Stack(hash)
	if !ok {
		w.stats.Lost++
		return nil
	}
	var mem readable = nowhere{}
	if f, err := memory(p.pid); err == nil {
		mem = f
	}
	defer mem.Close()
	st := &interpretedStack{calls: w.callsOf(p, mem, read.Frames)}
	if len(w.stacks) >= maxStacks {
		clear(w.stacks)
	}
	w.stacks[k] = st
	return st
}

// callsOf groups the numbers of frames by the calls of the interpreter.
func (w *Walker) callsOf(p *process, mem io.ReaderAt, frames []interpreted.Frame) (calls [][]uint64) {
	var call []uint64
	for _, f := range frames {
		if f.Code != 0 {
			call = append(call, w.number(p, mem, f))
		}
		if f.Instr&interpreted.IsEntry != 0 {
			calls = append(calls, call)
			call = nil
		}
	}
	if len(call) > 0 {
		calls = append(calls, call)
	}
	return calls
}

// nowhere is the memory of an ended process.
type nowhere struct{}

func (nowhere) ReadAt([]byte, int64) (int, error) { return 0, errors.New("the process is gone") }
func (nowhere) Close() error                      { return nil }
