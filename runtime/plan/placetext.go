package plan

import (
	"errors"
	"fmt"
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file settles who reads the texts of user_string(): a program that does all
// of the plan's work, or one that sends them with projected records. Without
// programs, those that say what they are instead are that; others are an error
// before anything is opened.

// A textUse is a function that reads a text of the process.
type textUse struct {
	prog   *expr.Program
	native *expr.Native
	schema *event.Schema // of the event in whose process it is; nil is not known
}

// schemaOf is the schema of a branch's events, or of a part of its pairs.
func (br *branch) schemaOf(p expr.Part) *event.Schema {
	switch p {
	case expr.Self:
		return br.scope.Schema
	case expr.Start:
		return br.scope.Parts["start"]
	case expr.End:
		return br.scope.Parts["end"]
	}
	return nil
}

// texts adds to what is sent of events the texts that functions read which are
// not evaluated in the kernel.
func (c *projector) texts(evaluated map[*expr.Program]bool) error {
	for _, u := range c.b.texts {
		if evaluated[u.prog] || c.isMoved(u.prog) {
			continue
		}
		addr := expr.Rebind(u.native.Args[0], expr.UserTextPart(u.native), expr.Self)
		sent := false
		for i, ev := range c.part.Events {
			if ev.Schema == u.schema {
				addText(c.part.Edges[i].Send, addr)
				sent = true
			}
		}
		if !sent {
			return not("%s is not of an event itself: name it with let() there", u.native)
		}
	}
	return nil
}

func addText(r *bpf.Record, addr expr.Node) {
	same := func(n expr.Node) bool { return n.String() == addr.String() }
	if !slices.ContainsFunc(r.Texts, same) {
		r.Texts = append(r.Texts, addr)
	}
}

// short is an address for people, which may be chosen among many.
func short(addr expr.Node) string {
	const most = 60
	text := addr.String()
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// noText says why nobody reads a text.
func (b *builder) noText(u contextUse) error {
	d := diag.Errorf(diag.Run, u.name, u.label, "only a program in the kernel reads texts of a process")
	p := b.plan
	switch e := b.env.KernelEnv.Engine; {
	case b.env.Replay:
		d.Cause = errors.New("a recording has addresses, not the texts that were there")
		return d.WithHint("run it live, or say what it is instead: %s(address, \"\")", expr.UserText)
	case e != EngineAuto && e != EngineBPF:
		d.Cause = fmt.Errorf("%w, which this engine leaves out", d.Cause)
		return d.WithHint("use --engine auto")
	case p.ProjectionNo != "":
		d.Cause = fmt.Errorf("%w: %s", d.Cause, p.ProjectionNo)
	case p.KernelNo != "":
		d.Cause = fmt.Errorf("%w: %s", d.Cause, p.KernelNo)
		return d.WithHint("see what is missing with: ppscript doctor")
	}
	return d.WithHint("take it in a let() directly behind the source")
}
