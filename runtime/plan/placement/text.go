package placement

import (
	"errors"
	"fmt"
	"slices"

	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// This file decides which program reads the texts of user_string(): a program that
// runs all of the plan, or one that sends them with projected records. Without
// programs, a call with a default has the default; a call without one is an error
// before anything is opened.

// texts adds to sent records the texts that functions in ppscript read.
func (c *projector) texts() error {
	for _, u := range c.p.Reads.Texts {
		if c.p.evaluated[u.Prog] || c.isMoved(u.Prog) {
			continue
		}
		part := expr.UserTextPart(u.Native)
		own := part == expr.Self && c.p.opened(u.Stream)
		if c.beside && (part != expr.Self || !c.p.readOutside(u.Stream)) {
			continue // see pairSender.texts
		}
		addr := expr.Rebind(u.Native.Args[0], part, expr.Self)
		sent := false
		for i, ev := range c.part.Events {
			if ev.Schema == u.Schema && (!own || c.part.Edges[i].Stream == u.Stream) {
				addText(c.part.Edges[i].Send, addr)
				sent = true
			}
		}
		if !sent {
			return not("%s is not of an event itself: name it with let() there", u.Native)
		}
	}
	return nil
}

func addText(r *graph.Record, addr expr.Node) {
	same := func(n expr.Node) bool { return n.String() == addr.String() }
	if !slices.ContainsFunc(r.Texts, same) {
		r.Texts = append(r.Texts, addr)
	}
}

// short is the text of an address expression for messages, shortened if it
// chooses among many.
func short(addr expr.Node) string {
	const most = 60
	text := addr.String()
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// noText says why nobody reads a text.
func (p *Placer) noText(u ContextUse) error {
	d := diag.Errorf(diag.Run, u.Name, u.Label, "only a program in the kernel reads texts of a process")
	switch e := p.env.Engine; {
	case p.replay:
		d.Cause = errors.New("a recording has addresses, not the texts that were there")
		return d.WithHint("run it live, or say what it is instead: %s(address, \"\")", expr.UserText)
	case e != EngineAuto && e != EngineBPF:
		d.Cause = fmt.Errorf("%w, which this engine leaves out", d.Cause)
		return d.WithHint("use --engine auto")
	case p.out.ProjectionNo != "":
		d.Cause = fmt.Errorf("%w: %s", d.Cause, p.out.ProjectionNo)
	case p.out.KernelNo != "":
		d.Cause = fmt.Errorf("%w: %s", d.Cause, p.out.KernelNo)
		return d.WithHint("see what is missing with: ppscript doctor")
	}
	return d.WithHint("take it in a let() directly behind the source")
}
