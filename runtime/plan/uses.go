package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/placement"
)

// uses notes the data beyond the record that a program over a branch reads: stacks,
// sample members that samples do not carry, texts of the process, and the set of traced
// threads.
func (b *builder) uses(br *branch, p *expr.Program) {
	label := func() string { return b.plan.streams[br.stream].Label }
	if p.Uses.Any(expr.AsksThreads) {
		b.asks[br.stream] = true
	}
	for _, f := range p.Uses.Fields {
		switch {
		case f.Is(event.MemberCallchain):
			b.needStack(br)
		case f.F.Place == event.InMember && f.F.Member.OfContext() &&
			!placement.Carries(br.schemaOf(f.Part), f.F.Member):
			u := placement.ContextUse{Prog: p, Name: f.F.Name, Label: label()}
			if f.F.Read != nil {
				u.Read, u.Schema = f.F, br.schemaOf(f.Part)
			}
			b.contexts = append(b.contexts, u)
		}
	}
	for _, n := range p.Uses.Natives {
		if !n.Is(expr.ReadsProcess) {
			continue
		}
		b.texts = append(b.texts, placement.TextUse{
			Prog: p, Native: n, Stream: br.stream, Schema: br.schemaOf(expr.UserTextPart(n)),
		})
		if n.Kernel.(expr.ProcessText).Instead == nil {
			b.contexts = append(b.contexts, placement.ContextUse{
				Prog: p, Name: expr.UserText + "()", Label: label(), Text: true,
			})
		}
	}
}
