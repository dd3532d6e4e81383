package session

import (
	"cmp"
	"debug/elf"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/symbol"
	"ppscript/runtime/task"
	"ppscript/runtime/unwind"
)

// This file connects the stacks of samples with their names: a Reader in front
// of each stream's decoder numbers them, and the numbers are turned into frames
// when a result is shown.

// A stackWorld is what a run knows of stacks; nil if no event has any.
type stackWorld struct {
	table   *stack.Table
	maps    *task.Mappings // nil without user stacks
	symbols *symbol.Symbolizer
	show    [][]*event.Field // by stream: the stacks that a log shows, the event's own first
	frames  map[frameKey][]*result.Frame
	settled map[*plan.StacksRun]*settled
	// nameless are the addresses in frames that have no name yet.
	nameless []frameKey
	evicted  uint64 // of table, at the last tick
	// settledOut are the samples of rare stacks that gave way in files, since
	// the last tick.
	settledOut uint64
	forgot     bool // there were stacks that are let go
	line       []*result.Frame
	unwind     *unwind.Unwinder // made at the first need
	named      namedPlaces
	// generation grows when numbers of stacks are given up: they may be used
	// again for others.
	generation int
	world      *world
	lines      bool // frames have source lines
	foreign    bool // the kernel is not the one that runs: it has no names here
}

// frameKey is an address as the frames of results need it: two processes may
// have one function at two addresses.
type frameKey struct {
	addr  uint64
	pid   int32
	image uint32
	exact bool
}

// maxFrames bounds the frames that are remembered: addresses of processes that
// ended are among them, and what is forgotten is made again from what the
// Symbolizer remembers of files.
const maxFrames = 1 << 14

// openStacks prepares for the stacks of the plan's events, before they are
// opened: the mappings of processes are wanted from the first record on.
func (r *run) openStacks() {
	if !r.plan.HasStacks {
		for _, src := range r.world.others() {
			src.Stacks.Ignore()
		}
	}
	if !r.plan.HasStacks && !r.plan.Mappings {
		return
	}
	lines := r.cfg.Options.lines()
	foreign := r.world.foreignKernel()
	if foreign && r.cachedKernel() {
		foreign = false
	}
	w := &stackWorld{world: r.world, lines: lines, foreign: foreign, frames: map[frameKey][]*result.Frame{},
		settled: map[*plan.StacksRun]*settled{}}
	o, so := symbol.Options{Kernel: r.world.symbols, Lines: lines, Inlines: lines}, stack.Options{}
	if r.plan.Mappings {
		mo := r.mappings(w.foreign)
		if plan.Has[*plan.JoinRun](r.plan) {
			// An event may wait for a long time until its stack is asked for.
			mo.MaxEnded = math.MaxInt
		}
		w.maps = task.NewMappings(mo)
		o.Maps = w.maps
		so.Fresh = w.maps.Hold
	}
	w.table = stack.New(so)
	w.symbols = symbol.New(o)
	r.stacks = w
	r.world.place = w.place
}

// readStacks puts the Readers in front of the decoders.
func (r *run) readStacks() {
	w := r.stacks
	if w == nil {
		return
	}
	quiet := r.cfg.Options.FlameGraph != ""
	w.show = shownStacks(r.plan.Streams(), quiet)
	if w.maps != nil && r.world.file == nil {
		// They may end before their first stack is looked at.
		for _, pid := range r.cfg.Target.PIDs {
			w.maps.Space(int32(pid), 0)
		}
	}
	limit := maxStack(r.world.file != nil)
	local := 0 // index among the events of the kernel that runs here
	for _, e := range r.plan.Events {
		i := local
		if !e.Source.Pulled() {
			local++
		}
		if e.Stack == nil || e.Stream.Members == nil {
			continue
		}
		s := stack.Spec{Kernel: e.Stack.Kernel, User: e.Stack.User, Max: limit}
		if e.Stack.Max > 0 {
			s.Max = min(limit, e.Stack.Max)
		}
		if from := r.world.carrier(e.Stream); from != nil {
			ids, ok := e.Stream.Members.(streamIDs)
			if !ok {
				panic("BUG: samples of a recording without a layout")
			}
			e.Stream.Members = &namedReader{Members: e.Stream.Members, ids: ids, stacks: from.Stacks, world: w, spec: s}
		} else if e.Source.Pulled() {
			r.world.sayStackless(e)
			continue
		} else {
			if e.Stack.Dwarf() {
				s.Unwinder = r.stacks.unwinder()
			}
			reader := stack.NewReader(e.Stream.Members, w.table, s)
			e.Stream.Members = reader
			if r.live != nil {
				// Without a map of streams, events come with the source's own.
				if st := r.live.StreamOf(i); st != nil {
					st.Members = reader
				}
			}
		}
		if own, _ := e.Stream.Schema.Field(event.StackName); e.Stack.Show && !quiet && own.Stack() {
			w.show[e.Stream.Index] = []*event.Field{own}
		}
	}
}

// unwinder is how user code is unwound from registers and a copy of its stack.
func (w *stackWorld) unwinder() stack.Unwinder {
	if w.unwind == nil {
		w.unwind = unwind.New(unwind.Options{Maps: w.maps})
	}
	return w.unwind
}

// maxStack is the most addresses that the kernel puts into a chain.
func maxStack(replay bool) int {
	const usual = 127
	if replay {
		return usual
	}
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_max_stack")
	if n, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil && n > 0 {
		return n
	}
	return usual
}

// configureStack fills in what an event's stack needs.
func configureStack(ev *perf.EventConfig, s *plan.StackSpec) {
	if s == nil {
		return
	}
	ev.Callchain, ev.MaxStack = true, s.Max
	ev.ExcludeChainKernel, ev.ExcludeChainUser = !s.Kernel, !s.User
	if s.Dwarf() {
		ev.RegsUser |= unwind.Mask(elf.EM_NONE)
		ev.StackUser = max(ev.StackUser, uint32(s.UserBytes))
	}
}

// record takes the records that are not samples.
func (w *stackWorld) record(e *event.Event) {
	if w == nil {
		return
	}
	if w.maps != nil {
		w.maps.Record(e)
	}
	w.symbols.Record(e)
	if e.Kind == event.Mmap && w.world.file != nil {
		w.moved(e)
	}
	if e.Kind == event.Comm {
		if c, ok := perf.DecodeComm(e); ok && c.Exec {
			w.table.Exec(c.PID)
		}
	}
}

// shows reports that some stream of a log has stacks to show.
func (w *stackWorld) shows() bool {
	if w == nil {
		return false
	}
	return slices.ContainsFunc(w.show, func(s []*event.Field) bool { return len(s) > 0 })
}

// shownStacks are the stacks that events made here carry, by stream.
func shownStacks(streams []*event.Stream, quiet bool) [][]*event.Field {
	show := make([][]*event.Field, len(streams))
	for i, st := range streams {
		for f := range st.Schema.Fields {
			if f := &st.Schema.Fields[f]; !quiet && f.Place == event.InSlot && f.Stack() {
				show[i] = append(show[i], f)
			}
		}
		slices.SortStableFunc(show[i], func(a, b *event.Field) int {
			return cmp.Compare(len(a.Name), len(b.Name)) // the event's own is "stack"
		})
	}
	return show
}

// result makes the result of a count by stack.
func (w *stackWorld) result(s *plan.StacksRun, m result.Meta) *result.Stacks {
	out := &result.Stacks{Meta: m, Keys: s.Keys, Value: s.Value.Name, Unit: s.Value.Unit, Periods: s.Periods, Totals: s.Spec.Totals}
	before := w.settled[s]
	if before != nil {
		out.Samples, out.Cut, out.Unwound = before.list(), before.cut, before.unwound
	}
	cut, unwound := w.counted(s, func(x *result.StackSample) {
		x.Frames = slices.Clone(x.Frames)
		out.Samples = append(out.Samples, *x)
	})
	out.Cut += cut
	out.Unwound += unwound
	if before != nil {
		out.Merge()
	}
	out.Sort()
	return out
}

// counted calls fn for what s counted since it was settled, with frames that
// are valid until it returns. It adds up the samples whose stacks lack outer
// frames, and those that were unwound.
func (w *stackWorld) counted(s *plan.StacksRun, fn func(x *result.StackSample)) (cut, unwound uint64) {
	count := len(s.Keys) + plan.StacksKey
	rows := s.Group.Rows()
	w.prepare(rows)
	for _, row := range rows {
		x := result.StackSample{PID: int32(row[plan.StacksPID].Int()), Key: row[plan.StacksKey:count], Count: row[count].Uint()}
		if s.Value.Name != "" {
			x.Value = row[count+1].Int()
		}
		var st stack.Stack
		w.line, st = w.of(w.line[:0], stack.ID(row[plan.StacksStack].Uint()))
		x.Frames, x.Cut = w.line, st.Cut
		if st.Cut {
			cut += x.Count
		}
		if st.Unwound {
			unwound += x.Count
		}
		fn(&x)
	}
	return cut, unwound
}

// tickStacks shows what was counted by stack in the interval.
func (r *run) tickStacks(t *interval) error {
	lost, final, now := t.loss, t.final, t.now
	for _, s := range plan.Of[*plan.StacksRun](r.plan) {
		if s.Spec.File {
			continue
		}
		loss := r.stacks.stacksLoss(s)
		r.total.Add(loss)
		loss.Add(lost)
		res := r.stacks.result(s, r.meta(s.Name, s.Spec.Title, loss, t))
		res.Merge()
		res.Sort()
		if s.Spec.Top > 0 {
			res.Top(s.Spec.Top)
		}
		if err := r.out.Stacks(res); err != nil {
			return err
		}
		r.stacks.clearStacks(s)
	}
	wanted := plan.Has[*plan.StacksRun](r.plan) || plan.Has[*plan.LogRun](r.plan) || plan.Has[*plan.SlowRun](r.plan)
	if w := r.stacks; final && w != nil && wanted && r.hasOwnStacks() && w.table.Len() == 0 && !w.forgot && w.table.Without() > 0 {
		r.world.sayOnce("none of the events has a call stack" + map[bool]string{true: ": record with perf record -g"}[r.world.file != nil])
	}
	if err := r.tickStackFiles(final, now); err != nil {
		return err
	}
	if !final {
		r.forgetStacks()
	}
	r.stacks.refresh()
	return nil
}

// hasOwnStacks reports that events of the kernel, or of the recording, are to
// have stacks; of others it was said at their beginning if they have none.
func (r *run) hasOwnStacks() bool {
	return slices.ContainsFunc(localEvents(r.plan), func(e *plan.Event) bool { return e.Stack != nil })
}

// loss is what found no room in the table, or in files, since the last tick.
func (w *stackWorld) loss() event.Loss {
	if w == nil {
		return event.Loss{}
	}
	n := w.table.Evicted() + w.named.full + w.named.gone
	l := event.Loss{Evicted: n - w.evicted + w.settledOut}
	w.evicted, w.settledOut = n, 0
	return l
}

// refresh forgets names that may have changed: code that a compiler makes at
// run time has one as soon as the compiler says it.
func (w *stackWorld) refresh() {
	if w == nil {
		return
	}
	w.symbols.Refresh()
	for _, k := range w.nameless {
		delete(w.frames, k)
	}
	w.nameless = w.nameless[:0]
}

func (w *stackWorld) close() error {
	if w == nil || w.maps == nil {
		return nil
	}
	return w.maps.Close()
}
