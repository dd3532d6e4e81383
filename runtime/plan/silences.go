package plan

import (
	"context"
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/silence"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/unit"
)

// Silences lists spans of time without events, for each key that had events
// before.
type Silences struct {
	In   Stream
	Key  Var
	Than int64 // ns; shorter silences are not listed
	// Top bounds the silences that an interval shows, the longest first; 0
	// shows all.
	Top int
	// Limit bounds the keys; 0 is key.DefaultLimit.
	Limit int
}

// Input implements Report.
func (s *Silences) Input() Stream { return s.In }

// ResultName implements Named.
func (*Silences) ResultName() string { return "silences" }

// Shape implements Shaped.
func (*Silences) Shape() string { return "table" }

// A SilencesOp is the operator that Build makes of a Silences.
type SilencesOp struct {
	operator
	Name    string
	from    *Silences
	spec    silence.Spec
	columns []result.Column
	shows   []view.Show // by column; nil shows the value
}

// A SilencesRun is a SilencesOp that runs.
type SilencesRun struct {
	running
	*SilencesOp
	finder *silence.Finder
	end    event.Time // the end of the run, once known
}

func (s *Silences) build(b *builder) error {
	brs, err := b.existing("silences", s.In)
	if err != nil {
		return err
	}
	key, err := b.keyFn(s.Key.Fn, brs)
	if err != nil {
		return err
	}
	op := &SilencesOp{Name: b.names.next(s.ResultName()), from: s}
	op.spec = silence.Spec{Key: key, Than: s.Than, Limit: b.rows(s.Limit, 0), Memory: b.env.Memory,
		ByRing: perRing(b, s.Key.Fn, brs)}
	op.columns = silence.Columns(b.prints.KeyColumn(s.Key.Name, key))
	op.shows = make([]view.Show, len(op.columns))
	op.shows[0] = b.prints.Of(key)
	b.plan.add(op)
	b.feed(feed{op: op, name: op.Name}, brs)
	return nil
}

func (op *SilencesOp) instantiate(in *Instance) Running {
	spec := op.spec
	spec.Ordered, spec.LossEnd = in.Order, in.Router.LossEnd
	run := &SilencesRun{SilencesOp: op, finder: silence.New(spec)}
	in.fails(op.Name, run.finder.Errors(), true)
	return run
}

func (r *SilencesRun) sink(int) flow.Sink { return r.finder }

func (*SilencesOp) needs(_ *builder, n *need) { n.Add(event.MemberTime) }

func (op *SilencesOp) inKernel() (graph.Work, string) {
	return graph.Work{}, op.Name + " sees the time of every event"
}

// mergeable: silences are found in any order, and the silences that are common to all
// readers are the readers of the run.
func (*SilencesOp) mergeable() bool { return true }

func (r *SilencesRun) absorb(other Running) { r.finder.Absorb(other.(*SilencesRun).finder) }

// End implements Running: open silences end with the run.
func (r *SilencesRun) End(final bool, last, now event.Time) {
	if final {
		r.end = max(last, now)
	}
}

// silenceTables delivers, at each interval, the silences that have ended.
type silenceTables struct {
	NoDelivery
	host Host
	run  *SilencesRun
}

func (op *SilencesOp) deliver(h Host) Delivery { return &silenceTables{host: h} }

func (d *silenceTables) Begin(_ context.Context, op Running) error {
	d.run = op.(*SilencesRun)
	return nil
}

func (*silenceTables) ShowsLoss() bool { return true }

func (d *silenceTables) Tick(t *Interval) error {
	table, err := d.run.Result(t.Meta(d.run.Name, "", event.Loss{}), t.Until)
	if err != nil {
		return err
	}
	table.Loss = d.host.Missing(t, d.run.Missing())
	return d.host.Table(table)
}

// Result makes the table of the silences that ended in the interval. until is the
// time up to which all events have come; 0 takes the last event's.
func (r *SilencesRun) Result(m result.Meta, until event.Time) (*result.Table, error) {
	if until == 0 {
		until = event.MaxTime
	}
	end := event.Time(0)
	if m.Final {
		end = max(r.end, m.End)
	}
	t := &result.Table{Columns: append([]result.Column(nil), r.columns...), Meta: m}
	t.Rows = r.finder.Rows(until, end)
	v := view.View{}
	if r.from.Top > 0 {
		v.Steps = []view.Step{{Top: r.from.Top}}
	}
	return t, v.Table(t, r.shows)
}

// Missing is the loss of the silences since the last call.
func (r *SilencesRun) Missing() event.Loss { return r.finder.Loss() }

func (op *SilencesOp) explain(w *strings.Builder) {
	fmt.Fprintf(w, "result %-8s by %s: times of more than %s without an event\n", op.Name, op.from.Key.Name,
		unit.Duration(op.from.Than))
}

// State implements Running.
func (r *SilencesRun) State() []string {
	return []string{fmt.Sprintf("%s: %d keys, %d silences wait for the end of the interval", r.Name,
		r.finder.Len(), r.finder.Waiting())}
}
