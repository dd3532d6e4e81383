package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ppscript/cmd/ppscript/findings"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/plan/capabilities"
	"ppscript/runtime/session"
	"ppscript/runtime/system/kernel"

	"github.com/spf13/cobra"
)

func doctorCommand(a *app) *cobra.Command {
	var names string
	format := checkFormats[0]
	c := &cobra.Command{
		Use:   "doctor [--profilers[=NAME,...]] [--format text|json]",
		Short: "Show what works on this machine, and how to fix what does not",
		Args:  words(0, 0),
		Long: `Tests what tracing needs on this machine, and shows whether it works and, if not, a remedy. Exits with 3 if a whole kind of event cannot be used.

With --profilers it shows which capabilities (without root) and which facilities of the kernel each profiler and script needs, and opens it for a moment to see whether it works here. A profiler that needs options, such as an address, is unknown. JSON has both lists.`,
		Example: "    ppscript doctor\n    ppscript doctor --profilers",
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if !slices.Contains(checkFormats, format) {
				return usagef("option", "--format", "got %q, want text or json", format).
					WithHint("write --format json")
			}
			colored, bad := console.Colorful(a.Stdout, "auto"), false
			switch {
			case format == "json":
				bad, err = findings.JSON(c.Context(), a.Stdout, a.profilersHere(c.Context(), names))
			case names != "":
				err = findings.Profilers(a.Text(), a.profilersHere(c.Context(), names), colored)
			default:
				bad, err = findings.Report(c.Context(), a.Stdout, colored)
			}
			if err == nil && bad {
				return exitError(exitAttach)
			}
			return err
		},
	}
	c.Flags().StringVar(&names, "profilers", "",
		"show what each profiler (or only `NAME,...`) needs, and whether it works")
	c.Flags().Lookup("profilers").NoOptDefVal = "all"
	c.Flags().StringVar(&format, "format", format, "text, or json: one object with all")
	completeChoices(c, "format", checkFormats)
	return c
}

// profilersHere tries the shipped profilers and scripts with these names, or all of them if names is
// empty.
func (a *app) profilersHere(ctx context.Context, names string) (list []findings.Profiler) {
	defer func(before int) { a.Quiet = before }(a.Quiet)
	a.Quiet, a.libs.Offline, a.scriptTime = 2, true, lookTime
	here := capabilities.Look()
	have, _ := kernel.ReadCaps(kernel.Roots{})
	which := shipped()
	if names != "" && names != "all" {
		which = strings.Split(names, ",")
	}
	for _, name := range which {
		list = append(list, a.tryProfiler(ctx, name, here, have))
	}
	return list
}

// tryTime is how long opening one profiler may take.
const tryTime = 10 * time.Second

// tryProfiler builds the plan of a profiler, and opens it for a moment: with its default options
// or, if it requires an event, with an event that every kernel has.
func (a *app) tryProfiler(ctx context.Context, name string, here capabilities.Here,
	have kernel.Caps,
) findings.Profiler {
	var first error
	for _, options := range append([][]string{nil}, ways("sched:sched_switch")...) {
		_, cfg, err := a.inspectedRun(append([]string{name}, options...))
		var needs *capabilities.Needs
		if err == nil {
			err = session.Look(cfg, func(p *plan.Plan) error {
				needs = capabilities.Of(p, here)
				return nil
			})
		}
		if first == nil {
			first = err
		}
		if err != nil {
			continue
		}
		ctx, stop := context.WithTimeout(ctx, tryTime)
		cfg.Options.Show.NoFiles = true
		cfg.Output = func(func(event.Time) time.Time) (render.Renderer, error) { return render.Ignore{}, nil }
		cfg.Stage = func(stage string) {
			if stage == session.Observing {
				stop()
			}
		}
		_, err = session.Run(ctx, cfg)
		stop()
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return findings.Judge(name, options, needs, have, err)
	}
	return findings.Untried(name, first)
}
