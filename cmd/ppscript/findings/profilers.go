package findings

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ppscript/runtime/plan/capabilities"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// A Profiler says what one profiler needs and whether it works on this machine. The needs are read
// from its plan; to see whether it works, the command opens the plan for a moment.
type Profiler struct {
	Name string `json:"name"`
	// Options are the options with which it was tried; all others have their
	// defaults.
	Options []string `json:"options,omitempty"`
	Status  string   `json:"status"` // ok, warn, fail; unknown: it was not tried
	// Capabilities are the Linux capabilities that users other than root need. If the try failed,
	// Missing lists the ones that this process lacks.
	Capabilities []string `json:"capabilities"`
	Missing      []string `json:"missing"`
	// Useful maps an optional capability to the consequence of its absence.
	Useful     map[string]string `json:"useful,omitempty"`
	Facilities []string          `json:"facilities"`
	Detail     string            `json:"detail,omitempty"`
	Fix        string            `json:"fix,omitempty"`
}

// Judge reports on a profiler that needs n and was tried. outcome is the error
// of the try, nil if it worked.
func Judge(name string, options []string, n *capabilities.Needs, have kernel.Caps, outcome error) Profiler {
	p := Profiler{Name: name, Options: options, Status: kernel.OK.String(), Capabilities: []string{},
		Missing: []string{}, Facilities: n.Facilities}
	for _, c := range n.Caps {
		p.Capabilities = append(p.Capabilities, c.String())
		if !have.Has(c) && outcome != nil {
			p.Missing = append(p.Missing, c.String())
		}
	}
	var without []string
	for _, c := range slices.Sorted(maps.Keys(n.Helps)) {
		if p.Useful == nil {
			p.Useful = map[string]string{}
		}
		if p.Useful[c.String()] = n.Helps[c]; !have.Has(c) {
			p.Status = kernel.Warn.String()
			without = append(without, fmt.Sprintf("without %s %s", c, n.Helps[c]))
		}
	}
	p.Detail = strings.Join(without, "; ")
	if outcome != nil {
		p.Status, p.Detail, p.Fix = kernel.Fail.String(), outcome.Error(), diag.HintOf(outcome)
	}
	return p
}

// Untried reports on a profiler that has no plan here. why is the reason: this machine lacks
// something, or the profiler needs further options.
func Untried(name string, why error) Profiler {
	p := Profiler{Name: name, Status: kernel.Unknown.String(), Capabilities: []string{}, Missing: []string{},
		Facilities: []string{}, Detail: why.Error(), Fix: diag.HintOf(why)}
	if c := diag.ClassOf(why); c == diag.Attach {
		p.Status = kernel.Fail.String()
	}
	return p
}

// Profilers writes the reports as text: a line for each profiler, then its
// problem and the remedy.
func Profilers(to io.Writer, list []Profiler, colored bool) error {
	name := 0
	for i := range list {
		name = max(name, len(list[i].Name))
	}
	w := bufio.NewWriter(to)
	for _, p := range list {
		needs := strings.Join(append(slices.Clip(p.Capabilities), p.Facilities...), ", ")
		if len(p.Options) > 0 {
			needs += "; tried with " + strings.Join(p.Options, " ")
		}
		fmt.Fprintf(w, "%s  %-*s  %s\n", word(p.Status, colored), name, p.Name, oneLine(needs))
		if p.Detail != "" {
			fmt.Fprintf(w, "%7s  %-*s  %s\n", "", name, "", oneLine(p.Detail))
		}
		if p.Fix != "" {
			fmt.Fprintf(w, "%7s  %-*s  -> %s\n", "", name, "", oneLine(p.Fix))
		}
	}
	return w.Flush()
}

// JSON writes the checks of the machine and the reports on profilers as one
// JSON object. bad says that a check failed.
func JSON(ctx context.Context, to io.Writer, list []Profiler) (bad bool, err error) {
	type check struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		Detail string `json:"detail"`
		Fix    string `json:"fix,omitempty"`
	}
	all := struct {
		V         int        `json:"v"`
		Checks    []check    `json:"checks"`
		Profilers []Profiler `json:"profilers"`
	}{V: 1, Profilers: list}
	for _, x := range examine(ctx) {
		bad = bad || x.Status == kernel.Fail
		all.Checks = append(all.Checks, check{x.Name, x.Status.String(), oneLine(x.Detail), oneLine(x.Fix)})
	}
	return bad, json.NewEncoder(to).Encode(all)
}
