package main

import (
	"fmt"
	"os"
	"slices"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
	"ppscript/runtime/text/diag"

	"github.com/spf13/cobra"
)

func checkCommand(a *app) *cobra.Command {
	k := checker{app: a}
	c := &cobra.Command{
		Use:   "check [--input FILE] [--format text|json] SCRIPT...|--as FILE -",
		Short: "Find mistakes in scripts without running them",
		Long: `Loads each script, calls its main with the options' defaults, and builds the plan: names, types, events, filters and
fields are checked against this kernel, or against a recording. Nothing is opened. Where
this kernel's tracepoints may not be read, for want of rights or of tracefs, those of a stock kernel are taken in their
place, and events that it does not have are named as not verified. Functions that will be interpreted for every event, at ten times the cost, are named with the reason.`,
		Example: "    ppscript check disk.star\n    ppscript check --input perf.data disk.star",
		Args:    words(1, -1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(checkFormats, k.format) {
				return usagef("option", "--format", "got %q, want text or json", k.format).
					WithHint("write --format json")
			}
			a.scriptTime = lookTime
			if k.as != "" {
				if !slices.Equal(args, []string{"-"}) {
					return usagef("option", "--as", "the script comes from the input").
						WithHint("write: ppscript check --as %s - < FILE", k.as)
				}
				text, err := script.ReadSource(os.Stdin)
				if err != nil {
					return diag.Errorf(diag.Run, "read", "the input", "%w", diag.Reason(err))
				}
				a.unsaved, args = unsavedFile{k.as, string(text)}, []string{k.as}
			}
			if k.input != "" {
				a.enterReader(false)
			}
			worst := error(nil)
			for _, name := range args {
				v, err := k.check(name)
				if err != nil {
					worst = exitError(exitRun)
				}
				if err := k.show(name, v, err); err != nil {
					return err
				}
			}
			return worst
		},
	}
	c.Flags().StringVar(&k.input, "input", "", "a recording, in place of the kernel")
	c.Flags().StringVar(&k.format, "format", "text", "text, or json: a line for each script")
	c.Flags().StringVar(&k.as, "as", "", "check the input as if it were FILE: for editors")
	completeChoices(c, "format", checkFormats)
	return c
}

// A checker looks for mistakes in scripts.
type checker struct {
	*app
	input, format string
	as            string
}

var checkFormats = []string{"text", "json"}

// A verdict describes a script without mistakes: its events and its interpreted functions.
type verdict struct {
	text        string
	interpreted []string // functions, with the reason
	unverified  []string // events, with the reason
}

// show prints the mistakes of a script, or that it has none.
func (k *checker) show(name string, v verdict, wrong error) error {
	if k.format == "json" {
		r := checkRecord{V: 1, File: name, OK: wrong == nil, Verdict: v.text, Interpreted: v.interpreted,
			Unverified: v.unverified}
		if wrong != nil {
			r.Errors = console.Problems(wrong)
		}
		return console.WriteJSON(k.Stdout, r)
	}
	if wrong != nil {
		for _, e := range console.Flatten(wrong) {
			k.Report(e)
		}
		return nil
	}
	if _, err := fmt.Fprintf(k.Text(), "%s: %s\n", name, v.text); err != nil {
		return err
	}
	for _, why := range v.interpreted {
		if _, err := fmt.Fprintln(k.Text(), "    interpreted, ten times slower: "+why); err != nil {
			return err
		}
	}
	for _, why := range v.unverified {
		if _, err := fmt.Fprintln(k.Text(), "    "+why); err != nil {
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
	Unverified  []string          `json:"unverified,omitempty"`
	Errors      []console.Problem `json:"errors,omitempty"`
}

func (k *checker) check(name string) (verdict, error) {
	k.libs.Offline = true
	host, _, err := k.newHost()
	if err != nil {
		return verdict{}, err
	}
	m, err := k.load(host, name)
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
	if err := k.invokeScript(inv, nil, name, nil); err != nil {
		return verdict{}, err
	}
	reports, err := inv.reports()
	if err != nil {
		return verdict{}, err
	}
	inv.common.input = k.input
	cfg, err := k.config(inv, reports)
	if err != nil {
		return verdict{}, err
	}
	d, err := session.Explain(cfg)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{text: "ok", interpreted: slices.Compact(d.Interpreted), unverified: d.Unverified}
	if len(d.Unverified) > 0 {
		v.text = "ok as far as can be seen here"
	}
	if d.Instead != "" {
		v.text += " (" + d.Instead + ")"
	}
	return v, nil
}
