package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/expr"
	"ppscript/runtime/join"
	"ppscript/runtime/result"
	"ppscript/runtime/unit"
)

// Slow shows pairs that take longer than Than or less than Lower, with what
// happened around them. It takes unpaired events too: their age counts.
type Slow struct {
	In          Stream
	Than, Lower int64 // ns; negative is no bound
	Detail      *Detail
}

// Input implements Report.
func (s *Slow) Input() Stream { return s.In }

// A Detail says what is shown around a pair.
type Detail struct {
	join.Select
	// LimitBytes and MaxAgeNS bound the events that are kept for it.
	LimitBytes int
	MaxAgeNS   int64
}

// A SlowRun is a Slow that runs. Session sets Emit before events flow.
type SlowRun struct {
	operator
	Name  string
	Spec  *Slow
	Emit  func(d *result.Detail)
	Sinks []*join.Slow
}

func (s *Slow) build(b *builder) error {
	brs, err := b.branchesOf(s.In)
	if err != nil {
		return err
	}
	run := &SlowRun{Spec: s, Name: b.name("slow")}
	b.add(run)
	groups := map[*JoinOp][]branch{}
	var order []*JoinOp
	for _, br := range brs {
		n := joinOf(br.root)
		if n == nil {
			return diag.Errorf(diag.Run, "slow", "", "the stream has events that are not pairs of a join").
				WithHint("join two stages first: join([start], [end], key = ...).slow(than = 10 * ms)")
		}
		if groups[n] == nil {
			order = append(order, n)
		}
		groups[n] = append(groups[n], br)
	}
	for _, n := range order {
		one := join.Slow{Than: s.Than, Lower: s.Lower, Emit: func(d *result.Detail) {
			d.Name = run.Name
			run.Emit(d)
		}}
		if s.Detail != nil {
			if n.js.Timeline == nil {
				n.js.Timeline = &join.Timeline{}
			}
			t := n.js.Timeline
			t.LimitBytes = max(t.LimitBytes, s.Detail.LimitBytes)
			t.MaxAge = max(t.MaxAge, s.Detail.MaxAgeNS)
			sel := s.Detail.Select
			sel.Keys = make([]*expr.Program, len(n.js.In))
			for i := range n.js.In {
				sel.Keys[i] = n.js.In[i].Key
			}
			one.Select, one.Timeline = &sel, t
		}
		sink := join.NewSlow(one)
		run.Sinks = append(run.Sinks, sink)
		b.attachPrinter(run.Name, groups[n], sink)
	}
	return nil
}

func (*SlowRun) needs(b *builder, n *need) { n.showsAround(b) }

func (*SlowRun) sees() sight { return sight{starts: true, records: true} }
func (*SlowRun) inKernel() (kernelOp, string) {
	return kernelOp{}, "slow pairs are shown with their events"
}

func (s *SlowRun) explain(w *strings.Builder) {
	fmt.Fprintf(w, "result %-8s a listing for each slow pair\n", s.Name)
}

// joinOf is the join that a root belongs to.
func joinOf(r root) *JoinOp {
	switch r := r.(type) {
	case *JoinOp:
		return r
	case *leftRoot:
		return r.node
	}
	return nil
}

// State implements Operator.
func (s *SlowRun) State() []string {
	var lines []string
	for _, sink := range s.Sinks {
		if t := sink.Timeline; t != nil {
			lines = append(lines, fmt.Sprintf("%s: the timeline holds %s of at most %s", s.Name,
				unit.Size(int64(t.Bytes())), unit.Size(int64(t.Limit()))))
		}
	}
	return lines
}
