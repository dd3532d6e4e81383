package placement

import (
	"fmt"
	"strings"

	"ppscript/runtime/plan/graph"
)

// Explain writes where the parts run, and what leaves the kernel.
func (p *Placement) Explain(w *strings.Builder) {
	p.explainKernel(w)
	p.explainProjection(w)
	p.explainBudget(w)
	var events, operators, crossing []string
	for _, n := range p.Graph.Nodes {
		line := fmt.Sprintf("%-11s %s", n.Where, n.Name)
		switch {
		case n.Where == graph.InKernel && p.leavesKernel(n):
			line += ": a program sends its records"
		case n.Why != "":
			line += ": " + n.Why
		}
		if n.Event != nil {
			events = append(events, line)
		} else {
			operators = append(operators, line)
		}
	}
	for _, e := range p.Graph.Edges {
		if e.Crosses {
			crossing = append(crossing,
				fmt.Sprintf("%s to %s: about %s of its events, %d bytes of fields each",
					e.From.Name, e.To.Name, percent(e.Records), e.Bytes))
		}
	}
	list(w, "runs", append(few(events), operators...))
	list(w, "crosses", few(crossing))
}

// list writes lines behind a label.
func list(w *strings.Builder, label string, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "%-15s %s\n", label, line)
		label = ""
	}
}

// few shortens a list that a pattern of events made long.
func few(lines []string) []string {
	const most = 16
	if len(lines) <= most {
		return lines
	}
	return append(lines[:most-1:most-1], fmt.Sprintf("and %d more", len(lines)-most+1))
}

// leavesKernel reports that records of a node's events leave the kernel.
func (p *Placement) leavesKernel(n *graph.Node) bool {
	for _, e := range p.Graph.Edges {
		if e.From == n && e.Crosses {
			return true
		}
	}
	return false
}

// percent rounds an estimate for explain.
func percent(x float64) string {
	if x >= 0.1 {
		return fmt.Sprintf("%.0f%%", 100*x)
	}
	return fmt.Sprintf("%.1g%%", 100*x)
}
