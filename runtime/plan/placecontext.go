package plan

import (
	"errors"
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file settles who evaluates the context members (nr_running,
// irqs_disabled and the like), which samples do not carry. Records of
// tracepoints tell two of them. Predicates on samples of the software and the
// hardware become a program that decides about each sample in the kernel. What
// is left over then is an error before anything is opened.

// A contextUse is a function that reads a sample member that its events do not carry, or
// a text of the process.
type contextUse struct {
	prog  *expr.Program
	name  string
	label string
	text  bool
}

// carries reports that the records of a schema tell a context member.
func carries(s *event.Schema, f event.Member) bool {
	if s == nil || f != event.MemberIRQsOff && f != event.MemberNeedResched {
		return false
	}
	_, ok := s.Field("common_flags")
	return ok
}

// sieves gives events the programs that evaluate predicates for them, and
// takes these predicates from the branches. The check comes when it is known
// whether all of the plan runs in the kernel.
func (b *builder) sieves() (evaluated map[*expr.Program]bool, check func() error) {
	evaluated = map[*expr.Program]bool{}
	why := ""
	for _, e := range b.plan.Events {
		switch e.Source.Kind {
		case Software, Hardware, Cache, RawPMU:
			if no := b.sampleFilter(e, evaluated); no != "" {
				why = no
			}
		}
	}
	return evaluated, func() error {
		for _, u := range b.contexts {
			if evaluated[u.prog] {
				continue
			}
			if b.plan.Kernel != nil {
				b.plan.OnlyKernel = true
				return nil
			}
			if u.text {
				return b.noText(u)
			}
			return b.noContext(u, why)
		}
		return nil
	}
}

func (b *builder) noContext(u contextUse, why string) error {
	d := diag.Errorf(diag.Run, u.name, u.label, "samples do not carry it")
	switch {
	case b.env.Replay:
		d.Cause = errors.New("recordings do not have it")
		return d.WithHint("record with the filter")
	case why != "":
		d.Cause = errors.New("only a program in the kernel can tell: " + why)
		return d.WithHint("see what is missing with: ppscript doctor")
	case b.plan.KernelNo != "":
		d.Cause = errors.New("only a program in the kernel can tell, which cannot run here: " +
			b.plan.KernelNo)
	}
	return d.WithHint("ask for it in a .where() directly behind the source, before anything else")
}

// sampleFilter moves the predicates of e's events that read context members, and
// are common to all who read the events, into a program; or says why not.
func (b *builder) sampleFilter(e *Event, evaluated map[*expr.Program]bool) (no string) {
	var nodes []expr.Node
	var moved []*pred
	for _, p := range b.common(e) {
		if slices.ContainsFunc(b.contexts, func(u contextUse) bool { return u.prog == p.prog }) {
			nodes = append(nodes, p.prog.Node)
			moved = append(moved, p)
		}
	}
	t := &b.env.KernelEnv
	switch {
	case len(nodes) == 0:
		return ""
	case b.env.Replay:
		return ""
	case t.Host == nil:
		return t.HostNo
	}
	im, err := bpf.SampleFilter(e.Stream.Label, nodes, t.Host)
	if err != nil {
		return err.Error()
	}
	e.SampleFilter = im
	for _, p := range moved {
		evaluated[p.prog] = true
		e.SampleFilterText = conjoin(append(nonEmpty(e.SampleFilterText), p.text))
	}
	b.without(moved)
	return ""
}

// common are the predicates that all who read e's events have.
func (b *builder) common(e *Event) []*pred {
	var brs []*branch
	for _, a := range b.plan.feeds {
		for i := range a.branches {
			if br := &a.branches[i]; br.stream == e.Stream.Index && a.root == nil {
				brs = append(brs, br)
			}
		}
	}
	if len(brs) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(brs[0].preds), func(p *pred) bool {
		return slices.ContainsFunc(brs, func(br *branch) bool { return !slices.Contains(br.preds, p) })
	})
}

// without takes predicates from all branches: somebody else checks them.
func (b *builder) without(moved []*pred) {
	for _, a := range b.plan.feeds {
		for i := range a.branches {
			br := &a.branches[i]
			br.preds = slices.DeleteFunc(slices.Clone(br.preds), func(p *pred) bool {
				return slices.Contains(moved, p)
			})
		}
	}
}
