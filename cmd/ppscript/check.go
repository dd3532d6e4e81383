package main

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/console"
	"ppscript/runtime/session"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	input, format := "", ""
	c := &cobra.Command{
		Use:   "check [--input FILE] [--format text|json] SCRIPT...",
		Short: "Find mistakes in scripts without running them",
		Long: `Loads each script, calls its main with the options' defaults, and builds the plan: names, types, events, filters and
fields are checked against this kernel, or against a recording. Nothing is opened. Functions that will be interpreted for
every event, at ten times the cost, are named with the reason.`,
		Example: "    ppscript check disk.star\n    ppscript check --input perf.data disk.star",
		Args:    words(1, -1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(checkFormats, format) {
				return usagef("option", "--format", "got %q, want text or json", format).
					WithHint("write --format json")
			}
			a.scriptTime = lookTime
			worst := error(nil)
			for _, name := range args {
				v, err := a.check(name, input)
				if err != nil {
					worst = exitError(exitRun)
				}
				if err := a.showVerdict(name, format, v, err); err != nil {
					return err
				}
			}
			return worst
		},
	}
	c.Flags().StringVar(&input, "input", "", "a recording, in place of the kernel")
	c.Flags().StringVar(&format, "format", "text", "text, or json: a line for each script")
	completeChoices(c, "format", checkFormats)
	return c
}

var checkFormats = []string{"text", "json"}

// A verdict is the result of check for a script without mistakes.
type verdict struct {
	text        string
	interpreted []string // functions, with the reason
}

// showVerdict tells the mistakes of a script, or that there are none.
func (a *app) showVerdict(name, format string, v verdict, wrong error) error {
	if format == "json" {
		r := checkRecord{V: 1, File: name, OK: wrong == nil, Verdict: v.text, Interpreted: v.interpreted}
		if wrong != nil {
			r.Errors = console.Problems(wrong)
		}
		return console.WriteJSON(a.Stdout, r)
	}
	if wrong != nil {
		for _, e := range console.Flatten(wrong) {
			a.Report(e)
		}
		return nil
	}
	if _, err := fmt.Fprintf(a.Text(), "%s: %s\n", name, v.text); err != nil {
		return err
	}
	for _, why := range v.interpreted {
		if _, err := fmt.Fprintln(a.Text(), "    interpreted, ten times slower: "+why); err != nil {
			return err
		}
	}
	return nil
}

type checkRecord struct {
	V           int               `json:"v"`
	File        string            `json:"file"`
	OK          bool              `json:"ok"`
	Verdict     string            `json:"verdict,omitempty"`
	Interpreted []string          `json:"interpreted,omitempty"`
	Errors      []console.Problem `json:"errors,omitempty"`
}

func (a *app) check(name, input string) (verdict, error) {
	a.offline = true
	host, _, err := a.newHost()
	if err != nil {
		return verdict{}, err
	}
	m, err := a.load(host, name)
	if err != nil {
		return verdict{}, err
	}
	if m.Main == nil {
		return verdict{text: "ok (a library: functions are checked where they are used)"}, nil
	}
	if missing := required(m.Options); missing != "" {
		return verdict{text: "ok as far as can be seen without " + missing +
			" (ppscript explain " + name + " " + missing + " ... checks the rest)"}, nil
	}
	inv := &invocation{name: name, host: host}
	if err := a.invokeScript(inv, nil, name, nil); err != nil {
		return verdict{}, err
	}
	reports, err := inv.reports()
	if err != nil {
		return verdict{}, err
	}
	inv.common.input = input
	cfg, err := a.config(inv, reports)
	if err != nil {
		return verdict{}, err
	}
	var text strings.Builder
	if err := session.Explain(cfg, &text); err != nil {
		return verdict{}, err
	}
	return verdict{text: "ok", interpreted: interpreted(text.String())}, nil
}

// interpreted takes the functions that could not be compiled out of the plan's
// description, with the reason.
func interpreted(plan string) []string {
	var list []string
	functions := false
	for line := range strings.Lines(plan) {
		why, indented := strings.CutPrefix(line, strings.Repeat(" ", 16))
		if functions = strings.HasPrefix(line, "function ") || functions && indented; functions && indented {
			list = append(list, strings.TrimSpace(why))
		}
	}
	return list
}
