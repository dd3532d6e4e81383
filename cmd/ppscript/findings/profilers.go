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

// A Profiler is what one profiler needs, and whether it can have that here: its plan tells the one, and
// to open all of it for a moment the other.
type Profiler struct {
	Name string `json:"name"`
	// Options are those with which it was tried, beside their defaults.
	Options []string `json:"options,omitempty"`
	Status  string   `json:"status"` // ok, warn, fail; unknown if it could not be tried
	// Capabilities are needed by users other than root, Missing lists the capabilities that are not here.
	Capabilities []string `json:"capabilities"`
	Missing      []string `json:"missing"`
	// Useful are capabilities without which something is missing, and what.
	Useful     map[string]string `json:"useful,omitempty"`
	Facilities []string          `json:"facilities"`
	Detail     string            `json:"detail,omitempty"`
	Fix        string            `json:"fix,omitempty"`
}

// Judge tells of a profiler that needs n and was tried, with that outcome.
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

// Untried is a profiler that has no plan here, and why: this machine has not what it wants, or it is of
// no use without further options.
func Untried(name string, why error) Profiler {
	p := Profiler{Name: name, Status: kernel.Unknown.String(), Capabilities: []string{}, Missing: []string{},
		Facilities: []string{}, Detail: why.Error(), Fix: diag.HintOf(why)}
	if c := diag.ClassOf(why); c == diag.Attach {
		p.Status = kernel.Fail.String()
	}
	return p
}

// Profilers writes a list for people.
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

// JSON writes all that was found for programs: one object.
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
