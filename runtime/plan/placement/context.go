package placement

import (
	"errors"
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// This file settles which engine evaluates the context members (nr_running,
// irqs_disabled and the like), which samples do not carry. Records of
// tracepoints tell two of them. Predicates on samples of the software and the
// hardware become a program that decides about each sample in the kernel. What
// is left over then is an error before anything is opened.

// Carries reports that the records of a schema tell a context member.
func Carries(s *event.Schema, f event.Member) bool {
	if s == nil || f != event.MemberIRQsOff && f != event.MemberNeedResched {
		return false
	}
	_, ok := s.Field("common_flags")
	return ok
}

// sieve gives events the programs that evaluate predicates for them.
func (p *Placer) sieve() error {
	for i, e := range p.Events {
		if !e.Decides {
			continue
		}
		if no := p.sieveEvent(i); no != "" {
			p.sieveNo = no
		}
	}
	return nil
}

// check returns an error for functions that no engine can evaluate. It comes when
// it is known whether all of the plan runs in the kernel.
func (p *Placer) check() error {
	for _, u := range p.Reads.Contexts {
		if p.evaluated[u.Prog] || u.Optional {
			continue
		}
		if p.out.Kernel != nil {
			p.out.OnlyKernel = true
			return nil
		}
		if u.Text {
			return p.noText(u)
		}
		return p.noContext(u)
	}
	return nil
}

func (p *Placer) noContext(u ContextUse) error {
	d := diag.Errorf(diag.Run, u.Name, u.Label, "samples do not carry it")
	switch {
	case p.replay:
		d.Cause = errors.New("recordings do not have it")
		return d.WithHint("record with the filter")
	case u.Read != nil && !p.programsAllowed():
		d.Cause = errors.New("only a program in the kernel reads its memory, which this engine leaves out")
		return d.WithHint("use --engine auto")
	case u.Read != nil && p.out.ProjectionNo != "":
		d.Cause = errors.New("only a program in the kernel reads its memory: " + p.out.ProjectionNo)
		return d.WithHint("count or fold what it reads, which programs do, or name it with let() at the event")
	case p.sieveNo != "":
		d.Cause = errors.New("only a program in the kernel can tell: " + p.sieveNo)
		return d.WithHint("see what is missing with: ppscript doctor")
	case p.out.KernelNo != "":
		d.Cause = errors.New("only a program in the kernel can tell, which cannot run here: " +
			p.out.KernelNo)
	}
	return d.WithHint("ask for it in a .where() directly behind the source, before anything else")
}

// sieveEvent moves the predicates of the event at index i that read context members, and
// are common to all readers of its events, into a program; or says why not.
func (p *Placer) sieveEvent(i int) (no string) {
	e := p.Events[i]
	var nodes []expr.Node
	var moved []*graph.Pred
	for _, pred := range p.common(e) {
		if slices.ContainsFunc(p.Reads.Contexts, func(u ContextUse) bool { return u.Prog == pred.Prog }) {
			nodes = append(nodes, pred.Prog.Node)
			moved = append(moved, pred)
		}
	}
	switch {
	case len(nodes) == 0:
		return ""
	case p.replay:
		return ""
	case p.env.Host == nil:
		return p.env.HostNo
	}
	im, err := bpf.SampleFilter(e.Label, nodes, p.env.Host)
	if err != nil {
		return err.Error()
	}
	open := &p.openings[i]
	open.Sieve = im
	for _, m := range moved {
		p.evaluated[m.Prog] = true
		open.SieveTexts = append(open.SieveTexts, m.Text)
	}
	p.move(moved)
	return ""
}

// common lists the predicates that all readers of e's events have.
func (p *Placer) common(e *graph.Event) []*graph.Pred {
	edges := p.OutOf(e)
	if len(edges) == 0 {
		return nil
	}
	return slices.DeleteFunc(edges[0].Unchecked(), func(pred *graph.Pred) bool {
		return slices.ContainsFunc(edges, func(e *graph.Edge) bool { return !slices.Contains(e.Preds, pred) })
	})
}

// move notes that programs check predicates.
func (p *Placer) move(moved []*graph.Pred) {
	for _, pred := range moved {
		pred.Checked = true
	}
}
