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

// spoolBytes bounds what waits while the files of programs are read: on two CPUs
// the samples of four seconds at 1 kHz, each with a copy of 8 KiB of its stack.
const spoolBytes = 64 << 20

// perfConfig says what the plan needs of the kernel.
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
		// Symbols and unwind tables are read as programs are seen for the first
		// time: seconds for a large one.
		c.Spool = o.Limits.budget.Share(4, 1, spoolBytes)
	}
	if len(c.Members) == 0 {
		c.Members = []event.Member{} // nil would mean the usual ones
	}
	c.Members = append(slices.Clip(c.Members), o.evalMembers()...)
	if o.Clock.Monotonic || sending(p) != nil || p.Mappings {
		// The other clock is perf's alone: programs, and compilers that tell of code, cannot read it.
		c.Clock = perf.ClockMonotonic
	}
	c.Tracefs = w.events.here.Tracefs()
	late := w.sieves.interpreters.Late() // of events that may be many, functions are known when they are read
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
			rings /= 4 // a spool is as large as four rings at least
		}
		c.Pages = DefaultPages(len(w.cfg.Target.CPUs), rings)
	}
	return c
}

// sayExcluded tells of options that the kernel ignores: only counters of the
// CPU know whether they count a guest.
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

// openLive opens the plan's events. A filter that the kernel refuses, but that
// we understand, is done natively: the plan is then built again.
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
			return nil, nil, err // the kernel's words say more
		}
		if w.cfg.Options.Verbose > 0 {
			w.msgs.say("%s: the kernel cannot do this filter, ppscript does it: %s", refused.Label,
				refused.Filter)
		}
		p = again
	}
}

// localEvents are the events of the kernel that runs here.
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

// mapLive relates the streams of the source to those of the instance, by index;
// same says that both have the same indices.
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

// DefaultPages is the size of a ring where the user says nothing. At two
// million events a second a ring of 2 MiB is full after 20 ms, which is more
// than we sleep on a busy machine; the 512 KiB that an ordinary user may map
// are full after 5. Machines with many CPUs get smaller rings: they share the
// load. All of them together have at most so many bytes, unless that is 0. 0 is the
// default of perf.
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
