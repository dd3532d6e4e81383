package main

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"ppscript/builtins/explore"
	"ppscript/docs"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/option"
)

// This file describes a script to programs: its options, its events, its
// results. Nothing is opened.

type description struct {
	V       int                 `json:"v"`
	Name    string              `json:"name"`
	Doc     string              `json:"doc"`
	Options []optionDescription `json:"options"`
	// Events are the events that the script opens with the given options, Results the results that
	// it returns; both are absent if a required option is missing.
	Events  []string            `json:"events,omitempty"`
	Results []resultDescription `json:"results,omitempty"`
}

type optionDescription struct {
	Name       string   `json:"name"`
	Short      string   `json:"short,omitempty"`
	Type       string   `json:"type"`
	List       bool     `json:"list,omitempty"`
	Choices    []string `json:"choices,omitempty"`
	Default    string   `json:"default,omitempty"`
	Required   bool     `json:"required,omitempty"`
	Positional bool     `json:"positional,omitempty"`
	Help       string   `json:"help,omitempty"`
}

type resultDescription struct {
	Type    string              `json:"type"`
	Title   string              `json:"title,omitempty"`
	Columns []columnDescription `json:"columns,omitempty"`
}

type columnDescription struct {
	Name string `json:"name"`
	Kind string `json:"kind"`         // key or value
	Op   string `json:"op,omitempty"` // the operation that makes a value
}

func describeCommand(a *app) *cobra.Command {
	schema := false
	c := &cobra.Command{
		Use:   "describe NAME|FILE [options] | --schema",
		Short: "Describe a script, or what runs print, to programs",
		Long: `Prints the options, events and results of a script as JSON, as its option --describe does. --schema prints the JSON
Schema of the lines that --format json prints, of any script; docs/json.md says which parts will not change.`,
		Example:            "    ppscript describe syscalls\n    ppscript describe --schema > ppscript.schema.json",
		DisableFlagParsing: true, // all options are the script's
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, word string,
		) ([]string, cobra.ShellCompDirective) {
			return completeScript(a, args, word)
		},
	}
	c.Flags().BoolVar(&schema, "schema", schema, "print the JSON Schema of --format json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
			return c.Help()
		case slices.Equal(args, []string{"--schema"}):
			_, err := a.Stdout.Write(docs.Schema)
			return err
		case len(args) == 0 || slices.Contains(args, "--schema"):
			return usagef("describe", "", "want a script, or --schema alone").
				WithHint("write: ppscript describe syscalls, or: ppscript describe --schema")
		}
		return a.script(append([]string{args[0], "--describe"}, args[1:]...))
	}
	return c
}

func describe(w io.Writer, inv *invocation) error {
	m := inv.module
	d := description{V: 1, Name: inv.name, Doc: m.Doc, Options: []optionDescription{}}
	if m.Options != nil {
		for i := range m.Options.Options {
			d.Options = append(d.Options, describeOption(&m.Options.Options[i]))
		}
	}
	if inv.values != nil || required(m.Options) == "" {
		v, err := inv.host.Run(m, inv.values)
		if err != nil {
			return err
		}
		reports, err := asReports(v, false)
		if err != nil {
			return err
		}
		for _, r := range reports {
			d.Results = append(d.Results, describeResult(r))
		}
		seen := map[string]bool{}
		for _, s := range explore.Sources(v) {
			if n := s.FullName(); !seen[n] {
				seen[n] = true
				d.Events = append(d.Events, n)
			}
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(&d)
}

func describeOption(o *option.Option) optionDescription {
	return optionDescription{Name: o.Flag(), Short: o.Short, Type: string(o.Type), List: o.List,
		Choices: o.Choices,
		Default: o.DefaultText(), Required: o.Required, Positional: o.Positional, Help: o.Help}
}

func describeResult(r plan.Report) resultDescription {
	switch r := r.(type) {
	case *plan.Group:
		d := resultDescription{Type: "table", Title: r.View.Title}
		for _, v := range r.By {
			d.Columns = append(d.Columns, columnDescription{Name: v.Name, Kind: "key"})
		}
		for _, c := range r.Aggs {
			if c.Agg.Op.Histogram() {
				d.Type = "histogram"
			}
			d.Columns = append(d.Columns, columnDescription{Name: c.Name, Kind: "value", Op: c.Agg.Op.Name})
		}
		for _, s := range r.View.Steps {
			if s.With != "" {
				d.Columns = append(d.Columns, columnDescription{Name: s.With, Kind: "value", Op: "with_"})
			}
		}
		return d
	case *plan.Database:
		return resultDescription{Type: r.Shape(), Title: r.Query}
	case plan.ResultShaper:
		return resultDescription{Type: r.Shape()}
	}
	return resultDescription{Type: "log"}
}
