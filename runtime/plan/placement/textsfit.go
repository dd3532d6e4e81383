package placement

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file finds texts that programs have no room for. A text longer than its place on the stack
// is kept in a map (bpf/eval/longtext.go). That suffices for keys, states, patterns and comparisons
// with short texts. An operator that splits such a text, or compares it otherwise, cannot be a
// program.

// textsFit makes EngineAuto choose ppscript for plans with texts too long for programs, where
// they would be evaluation errors. long finds such a text in a function.
func (p *Placer) textsFit(long func(expr.Node) *expr.Field) error {
	if p.env.Engine != EngineAuto {
		return nil
	}
	for _, prog := range p.Reads.Programs {
		if prog.Node == nil {
			continue
		}
		if f := long(prog.Node); f != nil {
			return not("%s may be longer than a program has room for", f.F.Name)
		}
		if f := processText(prog.Node); f != nil && !p.readAgain(f) {
			return not("%s is a text of the process, whose page may not be in memory when a program reads it",
				f.F.Name)
		}
	}
	return nil
}

// longText finds a field whose length only the record tells. Names of threads
// are short, however a kernel lays them out.
func longText(n expr.Node) (found *expr.Field) {
	return fieldIn(n, func(f *event.Field) bool {
		return f.Kind == event.Str && (f.Place == event.DataLoc || f.Place == event.RelLoc) &&
			!strings.HasSuffix(f.Name, "comm")
	})
}

// wholeText finds a field of variable length of which all bytes are needed, also as a text
// in a fold's state or in an event that a fold emits.
func (p *Placer) wholeText(n expr.Node) (found *expr.Field) {
	var long *expr.Field
	for _, prog := range p.Reads.Programs {
		if prog.Node != nil && long == nil {
			long = longText(prog.Node)
		}
	}
	if long == nil {
		return nil
	}
	need := func(x expr.Node) {
		expr.Walk(x, func(n expr.Node) bool {
			switch n := n.(type) {
			case *expr.Field:
				if longText(n) != nil || n.F.Kind == event.Str && n.F.Place == event.InSlot {
					found = n
				}
			case *expr.LoadState:
				if n.T.Kind == expr.Str {
					found = long
				}
			}
			return found == nil
		})
	}
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Binary:
			if !compares(n) {
				need(n.X)
				need(n.Y)
			}
		case *expr.Slice:
			need(n.X)
		case *expr.TextOp:
			need(n.X)
		}
		return found == nil
	})
	return found
}

// compares reports a comparison that programs make of texts of any length, or one of numbers.
func compares(n *expr.Binary) bool {
	if n.X.Type().Kind != expr.Str && n.Y.Type().Kind != expr.Str {
		return true
	}
	short := func(s string) bool { return len(s) < sent.LongFront }
	k, constant := n.Y.(*expr.Const)
	if !constant {
		k, constant = n.X.(*expr.Const)
	}
	switch n.Op {
	case expr.OpStrEq, expr.OpStrNe:
		return !constant || short(k.Str)
	case expr.OpPrefix:
		return constant && short(k.Str)
	case expr.OpGlob, expr.OpSuffix, expr.OpContains:
		return true // a program goes through all of it
	}
	return false
}

// readAgain reports that a probe's text can be read when the pair ends: the pair starts at the
// function's entry and ends at its return in the same thread, and the text's page is in memory
// by then.
func (p *Placer) readAgain(f *expr.Field) bool {
	if f.Part != expr.Start {
		return false
	}
	for _, n := range p.Nodes {
		if n.Op == nil || n.Op.Join == nil || n.Op.KernelRefusal != "" {
			continue
		}
		j := n.Op.Join
		for _, ends := range j.Pairs {
			for end, made := range ends {
				if made == nil {
					continue
				}
				if end >= len(p.Events) || !j.ByThread {
					return false
				}
				e := p.Events[end]
				if !e.OfProbe() || !e.Probe.User || !e.Probe.Return {
					return false
				}
			}
		}
	}
	return true
}

// processText finds a text of a probe that lies in the memory of the process.
func processText(n expr.Node) (found *expr.Field) {
	return fieldIn(n, func(f *event.Field) bool {
		return f.Kind == event.Str && f.Operand() != nil && !f.Operand().Constant()
	})
}

// fieldIn finds a field in a function.
func fieldIn(n expr.Node, is func(f *event.Field) bool) (found *expr.Field) {
	expr.Walk(n, func(n expr.Node) bool {
		if f, ok := n.(*expr.Field); ok && is(f.F) {
			found = f
		}
		return found == nil
	})
	return found
}
