package session

import (
	"fmt"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/result"
	"ppscript/runtime/source/relay"
)

// detail shows a pair with the events around it.
func (o *results) detail(d *result.Detail) {
	if o.stacks.shows() {
		d.Stack = o.stacks.eventStack
	}
	if len(o.foreign) > 0 {
		d.Marker = o.marker
	}
	if o.failed == nil {
		o.failed = o.out.Show(d)
	}
}

// alone shows an event that found no partner.
func (o *results) alone(name string, e *event.Event) {
	d := result.Detail{Name: name, Pair: e.Stream.Label, Start: e.Derived.Start, Until: e.Time}
	if len(e.Derived.Slots) > join.SlotReason {
		d.Reason = e.Derived.Slots[join.SlotReason].String()
	}
	o.detail(&d)
}

// trigger ends the interval because of an event, and shows the event.
func (r *run) trigger(e *event.Event) {
	if r.results.failed == nil {
		r.results.failed = r.tick(false)
	}
	if r.results.failed == nil {
		r.results.failed = r.results.out.Show(&result.Line{Event: e, Result: "trigger"})
	}
}

// sayHolds tells the user how often full rings delayed the merge, and for which
// sources memory was too small to sort events.
func (r *run) sayHolds() {
	r.env.rec.sayWarnings()
	sayEarly := func(name string, f *relay.Source) {
		if n := f.Early(); n > 0 {
			r.env.msgs.say("%s: %d events went on before their order was certain; give it more memory: --order-mem",
				name, n)
		}
	}
	if f := r.env.rec.file; f != nil {
		sayEarly(r.cfg.Options.Recording.Path, f)
	}
	for _, m := range r.env.rec.remotes {
		sayEarly(m.name, m.file)
	}
	if r.in.feeder == nil {
		return
	}
	if late := r.in.feeder.Stats().Late; late > 0 && r.env.rec.file != nil {
		r.env.msgs.say(
			"late: %d events lay in the recording behind newer ones, more than reading it in order could mend: they are in the results, in that place",
			late)
	}
	if s := r.in.feeder.Stats(); s.Suspected > 0 {
		r.env.msgs.verbose(1, fmt.Sprintf(
			"order: %d times a ring was full, and what it may have lost was not waited for: starts were discarded; give it more pages (-m)",
			s.Suspected))
	}
}

// sayLeftOut tells the user why programs lost events although no ring was full.
func (r *run) sayLeftOut() {
	for _, p := range r.programs() {
		for _, why := range p.LeftOut() {
			r.env.msgs.say("%s", why)
		}
	}
	r.in.skipped.Tell(r.env.msgs.say)
	r.in.skipped.TellHiding(r.env.msgs.say, missedSince)
	if r.in.kernel == nil && r.env.rec.file == nil {
		r.plan.SayMissed(r.env.msgs.say)
	}
}

// programs returns the loaded programs of the run.
func (r *run) programs() (list []*load.Run) {
	if r.in.kernel != nil {
		list = append(list, r.in.kernel.run)
	}
	if r.env.sender != nil {
		list = append(list, r.env.sender)
	}
	return list
}
