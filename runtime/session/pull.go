package session

import (
	"slices"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventkind"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/target/task"
	"ppscript/runtime/text/diag"
)

// This file reads events of other machines: sent by another ppscript, or from
// additional recordings. Their threads have names from that machine; their
// times are converted to this machine's clock.

// A remote is a source of events of another machine.
type remote struct {
	name  string
	file  *relay.Source
	tasks *task.Table
	// cgroups are the cgroups of that machine.
	cgroups  cgroups
	shift    event.Time
	host     *wallclock.Host // where the guest's CPUs run; nil without vm=
	streamed bool            // sent by another ppscript, not a recording
}

// pulled finds a source's events among the events that other machines send.
func (c *catalog) pulled(s *plan.Source) ([]*event.Schema, error) {
	if s.Kind != eventspec.Tracepoint {
		return nil, diag.Errorf(diag.Usage, "pull", s.FullName(), "only tracepoints can be received").
			WithHint("leave out pull=")
	}
	if c.here.Describes {
		return c.asHere(s)
	}
	var found []*event.Schema
	for _, from := range s.Pull() {
		one, err := c.pulledFrom(s, from)
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
	}
	return found, nil
}

// asHere uses this machine's definition of an event that another machine sends,
// since describing a plan connects to no other machine.
func (c *catalog) asHere(s *plan.Source) ([]*event.Schema, error) {
	here := *s
	here.Attrs = slices.DeleteFunc(slices.Clone(s.Attrs), func(a eventspec.Attr) bool {
		return a.Name == "pull" || a.Name == "vm"
	})
	found, err := c.find(&here)
	if err != nil {
		return nil, (&diag.Error{
			Op:      "describe",
			Subject: s.FullName(),
			Cause:   err,
			Class:   diag.ClassOf(err),
		}).
			WithHint("only a run asks the sender for the event's fields")
	}
	c.msgs.sayOnce("pull " + strings.Join(s.Pull(), ", ") +
		": the sender is not asked here; the fields are from this machine's event of that name")
	return found, nil
}

func (c *catalog) pulledFrom(s *plan.Source, from string) ([]*event.Schema, error) {
	r, err := c.rec.pull(from)
	if err != nil {
		return nil, err
	}
	if vm := s.Attr("vm"); len(vm) > 0 && r.host == nil {
		if r.host, err = wallclock.FindHost(vm[0]); err != nil {
			return nil, diag.Errorf(diag.Attach, "pull", from, "%c", err).
				WithHint("give the process of the virtual machine's monitor, or its UUID")
		}
	}
	var found []*event.Schema
	var names []string
	for _, st := range r.file.Streams() {
		names = append(names, st.Schema.FullName())
		if eventkind.Recorded(s, st.Schema) && !slices.Contains(found, st.Schema) {
			found = append(found, st.Schema)
		}
	}
	if len(found) == 0 {
		return nil, diag.Errorf(diag.Attach, "pull "+from, s.FullName(), "is not sent there%s",
			diag.DidYouMean(s.FullName(), names)).
			WithHint("what comes is: %s", strings.Join(names, ", "))
	}
	return found, nil
}

// gives reports that r is the source of an event.
func (r *remote) gives(e *plan.Event) bool {
	for _, st := range r.file.Streams() {
		if st.Schema == e.Stream.Schema {
			return true
		}
	}
	return false
}

// source returns the remote's events with times, CPUs and records converted to
// this machine.
func (r *remote) source() event.Source {
	return order.Convert(lagging{r.file}, func(e *event.Event) {
		if e.Time != 0 {
			e.Time += r.shift
		}
		if r.host != nil && e.Kind == event.Sample {
			r.host.Place(e)
		}
		if e.Kind != event.Sample && e.Kind != event.Lost {
			r.tasks.Record(e)
			if r.cgroups.record(e) {
				e.Rec = nil // its cgroup numbers are not of this machine
			}
			e.Kind = event.Other // it must not change names of threads of this machine
		}
	})
}

// lagging marks a source whose events arrive some time after they happen.
type lagging struct{ event.Source }

// Lags implements order.Lagging.
func (lagging) Lags() bool { return true }

// skew is the largest difference at which two clocks count as the same: to read
// both can take that long on a loaded machine.
const skew = 10 * time.Millisecond

// align computes the shift that converts the remote's times to this machine's
// clock. at is this machine's time when its wall clock shows wall.
func (r *remote) align(at event.Time, wall time.Time, say func(string, ...any)) {
	c := r.file.Info().Clock
	if c.Wall.IsZero() || wall.IsZero() {
		return
	}
	r.shift = event.Time(c.Wall.Sub(wall)) - (c.At - at)
	if time.Duration(r.shift).Abs() <= skew {
		r.shift = 0
		return
	}
	say("%s: its clock differs: events are related by the wall clocks of both, to within their error", r.name)
}

// combine makes one source of the local source, if any, and the remotes. to
// maps the streams of the sources to the streams of the plan.
func (r *run) combine(local event.Source, to [][]*event.Stream) {
	var parts []event.Source
	if local != nil {
		parts = append(parts, local)
	}
	for _, m := range r.env.rec.remotes {
		if !r.cfg.Options.Clock.Converts() {
			m.align(r.clock.At, r.clock.Wall, r.env.msgs.say)
		}
		parts = append(parts, m.source())
		for _, st := range m.file.Streams() {
			var wanted []*event.Stream
			for _, e := range r.plan.Events {
				if st.Schema == e.Stream.Schema {
					own := r.instance.Stream(e.Stream)
					wanted = append(wanted, own)
					own.Members = st.Members
				}
			}
			to = append(to, wanted)
		}
	}
	r.in.src = order.Combine(parts...)
	if m := lone(r); m != nil {
		m.file.Content()
	}
	r.instance.Router.Remap = to
}

// lone returns the remote that is the only source of the run and is sent by another
// ppscript; otherwise nil. With several sources, events must be merged by time.
func lone(r *run) *remote {
	remotes := r.env.rec.remotes
	if len(remotes) != 1 || !remotes[0].streamed || r.in.live != nil || r.in.kernel != nil ||
		r.in.counters.any() || r.env.rec.file != nil {
		return nil
	}
	return remotes[0]
}

// foreignNames makes threads of remotes have the names from their own machine.
func (r *run) foreignNames() {
	for _, e := range r.plan.Events {
		own := r.instance.Stream(e.Stream)
		for _, m := range r.env.rec.remotes {
			if m.gives(e) {
				if m.host == nil {
					own.Comm = m.tasks.Of
				}
				if r.plan.Cgroups {
					own.Cgroup = m.cgroups.of
				}
				if m.streamed {
					r.results.foreign = append(r.results.foreign, own)
				}
			}
		}
	}
}

// marker returns the character that marks events of other machines in a log; 0
// for events of this machine.
func (o *results) marker(e *event.Event) byte {
	if slices.Contains(o.foreign, e.Stream) {
		return 'G'
	}
	return 0
}
