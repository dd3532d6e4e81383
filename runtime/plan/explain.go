package plan

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Explain describes the plan to a person: what is opened, where predicates
// run, in which engine functions run, and why order is needed.
func (p *Plan) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sources\n")
	for _, e := range p.Events {
		fmt.Fprintf(&b, "  %s %s", e.Source.Kind, e.Stream.Schema.FullName())
		if e.Stream.Label != e.Stream.Schema.FullName() {
			fmt.Fprintf(&b, " as %s", e.Stream.Label)
		}
		if often := e.Source.Often(); often != "" {
			fmt.Fprintf(&b, "  [%s]", often)
		}
		if e.NoRaw {
			b.WriteString("  [without its record: nobody reads it]")
		}
		if e.Stack != nil {
			fmt.Fprintf(&b, "  [with its call stack: %s]", e.Stack)
		}
		b.WriteByte('\n')
		if e.Filter != "" {
			fmt.Fprintf(&b, "    filter, in the kernel:  %s\n", e.Filter)
		}
		if e.Projection != "" {
			fmt.Fprintf(&b, "    a program sends:        %s\n", e.Projection)
		}
		if e.SampleFilter != nil {
			fmt.Fprintf(&b, "    filter, by a program in the kernel: %s\n", e.SampleFilterText)
		}
		if e.Native != nil {
			fmt.Fprintf(&b, "    filter, in ppscript:    %s\n", e.NativeText)
		}
	}
	for _, c := range Of[*CounterOp](p) {
		c.explainSources(&b)
	}
	p.Placement.Explain(&b)
	if len(p.Events) > 0 && (p.Kernel == nil || p.Kernel.Sends()) {
		fmt.Fprintf(&b, "sample members  %s\n", event.MembersText(p.SampleMembers))
		if p.Order {
			fmt.Fprintf(&b, "order           by time over all rings: %s\n", p.OrderWhy)
		} else {
			b.WriteString("order           not needed: rings are read one after another\n")
		}
	}
	for _, f := range p.functions {
		fmt.Fprintf(&b, "function        %s\n", f)
	}
	for _, why := range slices.Compact(slices.Clone(p.Interpreted)) {
		fmt.Fprintf(&b, "                %s\n", why)
	}
	for _, op := range p.Operators {
		op.explain(&b)
	}
	for _, why := range p.Unverified {
		fmt.Fprintf(&b, "left out        %s\n", why)
	}
	return b.String()
}

// Failing names the compiled functions whose evaluation can fail, each with its place: the errors
// of these have none.
func (p *Plan) Failing() []string {
	list := slices.Clone(p.failing)
	slices.Sort(list)
	return slices.Compact(list)
}

// place returns the label of a function and its position in the script, for explain.
func (f Fn) place() string {
	if f.Call != nil || f.Pos == "" {
		return f.label()
	}
	return "'" + f.label() + "' at " + f.Pos
}

// explainFn records in which engine a function runs. Plain fields and
// constants need no word.
func (p *Plan) explainFn(f Fn, prog *expr.Program) {
	if _, field := prog.Node.(*expr.Field); field || f.Const != nil {
		return
	}
	if prog.Node != nil && !prog.IsInterpreted() && expr.MayFail(prog.Node) {
		p.failing = append(p.failing, f.place())
	}
	engine := "native     "
	if prog.IsInterpreted() {
		engine = "interpreted"
	}
	line := engine + " " + f.label()
	if f.shows && prog.IsInterpreted() {
		line += ", for what is shown"
	}
	if !slices.Contains(p.functions, line) {
		p.functions = append(p.functions, line)
	}
}
