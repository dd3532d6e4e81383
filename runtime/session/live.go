package session

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/stack/naming"
)

// spoolBytes bounds the memory for records that wait while the files of programs
// are read. It holds the samples of two CPUs for four seconds at 1 kHz, each
// with a copy of 8 KiB of its stack.
const spoolBytes = 64 << 20

// perfConfig returns the configuration of package perf with the events and
// records that the plan needs.
func (w *env) perfConfig(p *plan.Plan) perf.Config {
	o := &w.cfg.Options
	c := perf.Config{
		Target:    w.cfg.Target,
		Members:   p.SampleMembers,
		Pages:     o.Reading.Pages,
		Watermark: o.Reading.Watermark,
		Overwrite: p.Overwrite,
		SideBand: perf.SideBand{
			Comm: p.Comm || p.Mappings,
			Task: p.Comm || p.Mappings ||
				slices.ContainsFunc(plan.Of[*plan.JoinOp](p), (*plan.JoinOp).Forgets),
			Mmap:     p.Mappings,
			Ksymbol:  p.HasStacks || p.TellsOfKernel(),
			BPF:      p.TellsOfKernel(),
			Cgroup:   p.TellsOfKernel() || w.cgroups.follows(p),
			TextPoke: p.TellsOfKernel(),
			Events:   p.TellsOfKernel(),
		},
		Warn:   w.msgs.leftOut,
		Closed: w.cfg.Closed,
	}
	if p.Watch {
		w.watch.Widen(&c)
	}
	if w.cgroups.aside {
		c.Members = slices.DeleteFunc(slices.Clone(c.Members),
			func(f event.Member) bool { return f == event.MemberCgroup })
	}
	if p.HasStacks || p.Mappings {
		// Symbols and unwind tables of a program are read when it is first
		// seen, which takes seconds for a large one.
		c.Spool = o.Limits.budget.Share(4, 1, spoolBytes)
	}
	if len(c.Members) == 0 {
		c.Members = []event.Member{} // nil would mean the default members
	}
	c.Members = append(slices.Clip(c.Members), o.evalMembers()...)
	if o.Clock.Monotonic || sending(p) != nil || p.Mappings {
		// Only perf can read the default clock; programs of the kernel and JIT compilers cannot.
		c.Clock = perf.ClockMonotonic
	}
	c.Tracefs = w.events.here.Tracefs()
	// Functions of interpreters that are found only when a sample is read need prompt reading, which
	// is too costly for tracepoints.
	late := w.sieves.interpreters.Late()
	for _, e := range localEvents(p) {
		s := e.Source
		ev := eventkind.Opened(s, e.Stream.Schema, e.Stream.Label, e.Filter)
		ev.Period, ev.Freq, ev.NoRaw = s.Period, s.Freq, e.NoRaw
		ev.Exclude.Idle = s.Exclude.Idle && e.Stream.Schema.System == "software"
		w.events.here.Configure(&ev, s, p.SampleMembers)
		c.Prompt = c.Prompt || probe.ReadsMemory(ev.Schema, p.SampleMembers)
		naming.Configure(&ev, e.Stack)
		ev.RegsIntr |= probe.RegsIntr(ev.Schema, p.SampleMembers)
		late = late && !ev.Tracepoint() && ev.Config1Text == ""
		c.Events = append(c.Events, ev)
	}
	c.Prompt = c.Prompt || late
	if c.Pages == 0 {
		rings := w.cfg.Options.Limits.budget.Limit() / 8
		if c.Spool > 0 {
			rings /= 4 // a spool is at least as large as four rings
		}
		c.Pages = DefaultPages(len(w.cfg.Target.CPUs), rings)
	}
	return c
}

// sayExcluded warns about options that the kernel ignores: only counters of the
// CPU can leave out the host or guests.
func (w *env) sayExcluded(p *plan.Plan) {
	for _, e := range localEvents(p) {
		if x := e.Source.Exclude; x.Host || x.Guest {
			switch e.Source.Kind {
			case eventspec.Hardware, eventspec.Cache, eventspec.RawPMU:
				if e.Stream.Schema.System != "software" {
					continue
				}
			}
			w.msgs.say("%s: the kernel counts it on the host, and leaves no host or guest out",
				e.Stream.Label)
		}
	}
}

// openLive opens the plan's events. If the kernel refuses a filter that
// ppscript can evaluate itself, the plan is built again with that filter in
// ppscript.
func (w *env) openLive(ctx context.Context, p *plan.Plan) (*plan.Plan, *perf.Source, error) {
	for {
		src, err := w.openFiltered(ctx, p)
		if again := w.withoutProjection(p, err); again != nil {
			p = again
			continue
		}
		var refused *perf.FilterError
		if err == nil || !errors.As(err, &refused) || w.refused[refused.Label] {
			return p, src, err
		}
		w.refused[refused.Label] = true
		again, buildErr := plan.Build(w.cfg.Reports, w.env(w.cfg))
		if buildErr != nil {
			return nil, nil, err // the kernel's error is more helpful
		}
		if w.cfg.Options.Verbose > 0 {
			w.msgs.say("%s: the kernel cannot do this filter, ppscript does it: %s", refused.Label,
				refused.Filter)
		}
		p = again
	}
}

// localEvents lists the events of a plan that come from this machine's kernel.
func localEvents(p *plan.Plan) []*plan.Event {
	if !p.Pulls() {
		return p.Events
	}
	var list []*plan.Event
	for _, e := range p.Events {
		if !e.Source.Pulled() {
			list = append(list, e)
		}
	}
	return list
}

// mapLive maps the index of each stream of the source to the stream of the
// instance. same says that both have the same indices.
func mapLive(in *plan.Instance, src *perf.Source) (to [][]*event.Stream, same bool) {
	same = true
	to = make([][]*event.Stream, len(src.Streams()))
	for i, e := range localEvents(in.Plan) {
		st := src.StreamOf(i)
		if st == nil {
			continue
		}
		own := in.Stream(e.Stream)
		to[st.Index] = []*event.Stream{own}
		same = same && st.Index == own.Index
		own.Members = st.Members
		st.Comm, st.Cgroup, st.Title = own.Comm, own.Cgroup, own.Title
	}
	if in.Kernel.Sends() {
		_, streams := in.Kernel.Image.Records()
		for i, of := range streams {
			st, own := src.DerivedStreams()[i], in.Streams()[of]
			to[st.Index] = []*event.Stream{own}
			same = same && st.Index == own.Index
			st.Comm, st.Cgroup, st.Title = own.Comm, own.Cgroup, own.Title
		}
	}
	return to, same
}

// DefaultPages is the size of a ring in pages if the user does not choose one; 0
// means the default of package perf. At two million events a second a ring of 2 MiB
// is full after 20 ms, which is longer than the loop sleeps on a busy machine; the
// 512 KiB that an ordinary user may map are full after 5 ms. Machines with many
// CPUs get smaller rings, since the CPUs share the load. All rings together have at
// most most bytes; 0 means no bound.
func DefaultPages(cpus int, most int64) int {
	pages, usual := 0, perf.DefaultPages
	if cpus == 0 {
		cpus = runtime.NumCPU()
	}
	switch {
	case os.Geteuid() != 0:
	case cpus <= 16:
		pages, usual = 512, 512
	case cpus <= 64:
		pages, usual = 256, 256
	}
	for ; most > 0 && usual > 1 && int64(cpus*usual)<<12 > most; pages = usual {
		usual /= 2
	}
	return pages
}
