package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/unit"
)

var factNames = map[event.Fact]string{
	event.FactTime: "time", event.FactTID: "pid and tid", event.FactCPU: "cpu", event.FactPeriod: "period",
	event.FactAddr: "addr", event.FactIP: "ip", event.FactComm: "comm (from comm records)",
	event.FactCgroup: "cgroup", event.FactWeight: "weight", event.FactDataSrc: "data_src", event.FactPhysAddr: "phys_addr", event.FactMode: "cpumode",
	event.FactDataPage: "data_page_size", event.FactCodePage: "code_page_size", event.FactCallchain: "callchain", event.FactID: "id", event.FactStack: "user stack",
}

// often says which of its events a source samples; "" is every one.
func (s *Source) often() string {
	clock := s.Kind == Software && (s.Name == "cpu-clock" || s.Name == "task-clock")
	switch {
	case s.Freq > 0:
		return fmt.Sprintf("%d times a second", s.Freq)
	case clock && s.Period > 0:
		return "every " + unit.Duration(int64(s.Period))
	case s.Period > 1:
		return fmt.Sprintf("one of %d", s.Period)
	}
	return ""
}

// Explain describes the plan to a person: what is opened, where predicates
// run, in which tier functions run, and why order is needed.
func (p *Plan) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sources\n")
	for _, e := range p.Events {
		fmt.Fprintf(&b, "  %s", e.Source.Kind)
		fmt.Fprintf(&b, " %s", e.Stream.Schema.FullName())
		if e.Stream.Label != e.Stream.Schema.FullName() {
			fmt.Fprintf(&b, " as %s", e.Stream.Label)
		}
		if often := e.Source.often(); often != "" {
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
		if e.Sent != "" {
			fmt.Fprintf(&b, "    a program sends:        %s\n", e.Sent)
		}
		if e.Sieve != nil {
			fmt.Fprintf(&b, "    filter, by a program in the kernel: %s\n", e.SieveText)
		}
		if e.Native != nil {
			fmt.Fprintf(&b, "    filter, in ppscript:    %s\n", e.NativeText)
		}
	}
	for _, c := range Of[*CounterOp](p) {
		c.explainSources(&b)
	}
	p.explainTier(&b)
	p.explainCompact(&b)
	p.Placement.explain(&b)
	if len(p.Events) > 0 && p.Kernel == nil {
		fmt.Fprintf(&b, "sample members  %s\n", p.Members())
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
	return b.String()
}

// explainFn records in which tier a function runs. Plain fields and
// constants need no word.
func (b *builder) explainFn(f Fn, p *expr.Program) {
	if _, field := p.Node.(*expr.Field); field || f.Const != nil {
		return
	}
	tier := "native     "
	if p.IsInterpreted() {
		tier = "interpreted"
	}
	line := tier + " " + f.label()
	if !slices.Contains(b.plan.functions, line) {
		b.plan.functions = append(b.plan.functions, line)
	}
}

// Members names the members of samples that somebody reads.
func (p *Plan) Members() string {
	var names []string
	for _, f := range p.Facts {
		switch name := factNames[f]; {
		case name != "":
			names = append(names, name)
		case f >= event.FactReg && f < event.FactArg:
			names = append(names, "register "+strconv.Itoa(int(f-event.FactReg)))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
