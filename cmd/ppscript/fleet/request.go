package fleet

import (
	"slices"
	"strings"

	"ppscript/cmd/ppscript/permit/sealed"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/text/diag"
)

// This file decides which options of a script are sent to the machines that run it, which are used
// by the asker, and which cannot be used in a fleet.

// forAgents are the common options about the observed target and the way of
// observing.
var forAgents = []string{
	"cpus", "pids", "tids", "cgroups", "container", "pod", "unit", "inherit", "ptrace", "system",
	"mmap-pages",
	"watermark", "max-rows", "sampling-limit", "budget", "engine", "monotonic", "raw", "lines",
}

// byJob are options whose values are members of Job, so that an agent can bound
// them.
var byJob = []string{"interval", "duration"}

// forAsker are the common options about the output of results.
var forAsker = []string{
	"output", "format", "flame-graph", "flame-base", "baseline", "parquet", "http", "http-token",
	"html", "otlp",
	"otlp-profiles", "pyroscope", "metrics-series", "time", "color", "strict", "verbose", "quiet",
	"no-sandbox",
	"cost", "describe", "version", "help", "help-all", "require-signed", "signers",
}

// NewRequest makes a request from the options and arguments of a command line. common reports that
// an option is one that every script has.
func NewRequest(name string, options []Option, args []string,
	common func(name string) bool) (Request, error) {
	q := Request{Name: name, Args: args}
	for _, o := range options {
		switch {
		case slices.Contains(byJob, o.Name), !o.Own && slices.Contains(forAsker, o.Name):
			continue
		case common(o.Name) && !slices.Contains(forAgents, o.Name):
			return q, diag.Errorf(diag.Usage, "option", "--"+o.Name,
				"it is of no use where other machines run the script").
				WithHint("leave it out; docs/fleet.md says which options there are")
		}
		q.Options = append(q.Options, o)
	}
	return q, nil
}

// Check refuses requests that no agent may run, whatever its policy allows. shipped reports that a
// script comes with the program, common that an option is one that every script has.
func (q *Request) Check(shipped, common func(name string) bool) error {
	if !shipped(q.Name) {
		return diag.Errorf(diag.Usage, "run", q.Name, "it is not a profiler that comes with ppscript").
			WithHint("ask for one of: ppscript list; or for a file of yours that is signed")
	}
	return q.checkWords(common)
}

// checkWords checks the options and arguments of a request, for any script.
func (q *Request) checkWords(common func(name string) bool) error {
	for _, o := range q.Options {
		refuse := func(format string, args ...any) error {
			return diag.Errorf(diag.Usage, "option", "--"+o.Name, format, args...).
				WithHint("docs/fleet.md says what may be asked of other machines")
		}
		switch {
		case !word(o.Name):
			return refuse("that is no name of an option")
		case common(o.Name) && !slices.Contains(forAgents, o.Name):
			return refuse("agents do not take it: it writes, sends, reads a file, or lifts a bound")
		}
		for _, v := range o.Values {
			if _, err := budget.Parse(v); err != nil && o.Name == budgetOption && !o.Own {
				return err
			}
			for _, s := range sealed.Events(v) {
				for _, attribute := range []string{"push", "pull", "exec"} {
					if len(s.Attr(attribute)) > 0 {
						return refuse("%s= is not for other machines", attribute)
					}
				}
			}
		}
	}
	for _, arg := range q.Args {
		if strings.HasPrefix(arg, "-") {
			return diag.Errorf(diag.Usage, "argument", arg, "it begins as an option does").
				WithHint("docs/fleet.md says what may be asked of other machines")
		}
	}
	return nil
}

// word reports that s can be the name of an option.
func word(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' &&
			r != '_' {
			return false
		}
	}
	return s != "" && s[0] != '-'
}
