package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/naming"
)

// This file numbers and names the stacks of samples. A Reader around each
// stream's decoder gives each stack a number. The numbers are converted to
// frames with names when a result is shown.

// runStacks has the stacks of a run. It is nil if no event has stacks and nothing
// counts by stack.
type runStacks struct {
	*naming.Namer
	show [][]*event.Field // fields of the stacks that a log shows, by stream; the event's own stack first
	// evicted counts the samples of rare stacks that were dropped from files since
	// the last tick.
	evicted uint64
	line    []*result.Frame
}

// openStacks prepares for the stacks of the plan's events, before they are
// opened.
func openStacks(r *run) {
	if !r.plan.HasStacks {
		for _, src := range r.env.rec.all() {
			src.Stacks.Ignore()
		}
	}
	if !r.plan.HasStacks && !r.plan.Mappings && !plan.Has[*plan.StacksOp](r.plan) {
		return
	}
	o := naming.Options{
		Kernel:       r.env.events.here.Symbols,
		Recording:    r.env.rec.info(),
		Interpreters: r.env.interpreters(r.plan),
		User:         r.plan.Mappings,
		Patient:      plan.Has[*plan.JoinOp](r.plan),
		Lines:        r.cfg.Options.lines() || r.plan.ListsCode(),
		Memory:       r.cfg.Options.Limits.budget,
		SymRoot:      r.cfg.Options.Symbols.Root,
		DebugDirs:    r.cfg.Options.Symbols.DebugDirs,
		Servers:      r.cfg.Options.Symbols.Servers,
		Later:        r.cfg.Options.Symbols.Later,
		Expired:      r.expired,
		Note:         r.note,
		Say:          func(text string) { r.env.msgs.sayOnce(text) },
	}
	o.Servers.Waited = func(d time.Duration, pending int) {
		r.naming.waited(d)
		r.cfg.stage(fmt.Sprintf("wait for %d files from debuginfod", pending))
	}
	r.stacks = &runStacks{Namer: naming.New(o)}
	r.results.stacks = r.stacks
	r.env.events.here.Symbols, r.env.events.here.Place = r.stacks.Kernel(), r.stacks.Place
}

// expired reports that no more files may be read for names: the time or the memory has run out.
func (r *run) expired() bool { return r.naming.expired() || r.cfg.Options.Limits.budget.Scarce() }

// note tells the user that a file was not read in full. If memory ran out, package memory tells the
// user instead.
func (r *run) note(f *dso.File, err error) {
	if !errors.Is(err, dso.ErrExpired) || r.naming.expired() {
		r.naming.note(f, err)
	}
}

// read installs the Readers around the decoders of streams.
func (w *runStacks) read(r *run) {
	if w == nil {
		return
	}
	quiet := r.cfg.Options.Stacks.FlameGraph != "" && !r.cfg.Options.Show.LineStacks
	w.show = shownStacks(r.instance.Streams(), quiet)
	if r.env.rec.file == nil {
		for _, pid := range r.cfg.Target.PIDs {
			w.Look(int32(pid))
		}
	}
	limit := stack.Most(r.env.rec.file != nil)
	local := 0 // index among the events of this machine's kernel
	for _, e := range r.plan.Events {
		i := local
		if !e.Source.Pulled() {
			local++
		}
		own := r.instance.Stream(e.Stream)
		if e.Stack == nil || own.Members == nil {
			continue
		}
		s := stack.Spec{Kernel: e.Stack.Kernel, User: e.Stack.User, Max: limit, Innermost: e.Stack.Innermost}
		if e.Stack.Max > 0 {
			s.Max = min(limit, e.Stack.Max)
		}
		if from := r.env.rec.carrier(e.Stream); from != nil {
			ids, ok := own.Members.(naming.StreamIDs)
			if !ok {
				panic("BUG: samples of a recording without a layout")
			}
			own.Members = w.RemoteReader(own.Members, ids, from.Stacks, s)
		} else if e.Source.Pulled() {
			r.env.rec.sayStackless(e)
			continue
		} else {
			reader := w.Reader(own.Members, s, e.Stack.Dwarf())
			if r.instance.HoldsStacks() {
				reader = &plan.HeldMembers{Members: reader, Instance: r.instance}
			}
			own.Members = reader
			if r.in.live != nil {
				// Without Router.Remap, events have the streams of the source
				// itself.
				if st := r.in.live.StreamOf(i); st != nil {
					st.Members = reader
				}
			}
		}
		if f, _ := own.Schema.Field(event.StackName); e.Stack.Show && !quiet && f.Stack() {
			w.show[own.Index] = []*event.Field{f}
		}
	}
}

// record handles the records that are not samples.
func (w *runStacks) record(e *event.Event) {
	if w != nil {
		w.Record(e)
	}
}

// shows reports that some stream of a log has stacks to show.
func (w *runStacks) shows() bool {
	if w == nil {
		return false
	}
	return slices.ContainsFunc(w.show, func(s []*event.Field) bool { return len(s) > 0 })
}

// shownStacks lists the fields with stacks of derived events, by stream.
func shownStacks(streams []*event.Stream, quiet bool) [][]*event.Field {
	show := make([][]*event.Field, len(streams))
	for i, st := range streams {
		for f := range st.Schema.Fields {
			if f := &st.Schema.Fields[f]; !quiet && f.Place == event.InSlot && f.Stack() {
				show[i] = append(show[i], f)
			}
		}
		slices.SortStableFunc(show[i], func(a, b *event.Field) int {
			return cmp.Compare(len(a.Name), len(b.Name)) // the event's own stack, "stack", is first
		})
	}
	return show
}

// loss counts the stacks that found no room in the table or in files since the
// last tick.
func (w *runStacks) loss() event.Loss {
	if w == nil {
		return event.Loss{}
	}
	l := w.Loss()
	l.Evicted += w.evicted
	w.evicted = 0
	return l
}

// refresh forgets names that may have changed.
func (w *runStacks) refresh() {
	if w != nil {
		w.Refresh()
	}
}

func (w *runStacks) close() error {
	if w == nil {
		return nil
	}
	return w.Close()
}
