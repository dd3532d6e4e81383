package fleet

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

func (p *Program) agent() *cobra.Command {
	a := &Agent{Version: p.Version, Program: "/proc/self/exe", Say: p.Say, Tell: p.Tell}
	var labels []string
	var policy, cost string
	c := &cobra.Command{
		Use:   "agent [--hub URL] [--label NAME=VALUE,...]",
		Short: "Run profilers for those who ask a fleet",
		Long: `Waits for those who ask with "ppscript fleet run", runs what they ask for as it would run here by hand, with the rights of the one
who started the agent, and sends partial results. It runs the profilers that come with ppscript,
	and scripts that travel with the question if a key of
` + sign.SignersFile + ` signed them. They write no files, start no programs and send nothing else from
here. What a job may take is bounded by the options below. A policy,
` + PolicyFile + `, says which profilers, options and askers there may be. Without one,
whoever can speak at the hub can ask: ppscript help fleet.

A job ends when who asked is gone for 10 s. While the hub is away it goes on for a minute, and what it finds out is kept for later.`,
		Example: "    sudo ppscript agent --hub nats://hub:4222 --label rack=r7,role=db",
		Args:    cobra.NoArgs,
	}
	fs := c.Flags()
	s := p.server(fs)
	fs.StringVar(&a.Name, "name", "", "`NAME` of this host (default its hostname)")
	fs.StringSliceVar(&labels, "label", nil, "`NAME=VALUE`,... by which it is asked")
	fs.IntVar(&a.Limits.Jobs, "max-jobs", 4, "how many jobs may run at a time: `N`")
	fs.DurationVar(&a.Limits.Duration, "max-duration", time.Hour, "how long one may run: `TIME`")
	fs.DurationVar(&a.Limits.Interval, "min-interval", 100*time.Millisecond,
		"how often it may tell results: each `TIME`")
	fs.StringVar(&a.Limits.Memory, "max-memory", "256m", "what the process of one may have: `SIZE`")
	fs.Int64Var(&a.Limits.Rows, "max-rows", 0, "how many rows a table of one may have: `N`")
	fs.IntVar(&a.Limits.CPU, "max-cpu", 100,
		"how many percent of a CPU the process of one may take over 10 s, before it is ended: `N`")
	fs.StringVar(&cost, "max-budget", "",
		"share of the time of all CPUs that observing may cost in one, whoever asks: `SHARE` (else 5% where the asker says nothing)")
	fs.StringVar(&policy, "policy", "", "`FILE` that says what may be asked (default "+PolicyFile+")")
	fs.Int64Var(&a.Limits.Waiting, "max-waiting", 16<<20,
		"how many `BYTES` of results one keeps while the hub is away")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var err error
		if a.Labels, err = parseLabels("label", labels); err != nil {
			return err
		}
		if err := a.Limits.check(); err != nil {
			return err
		}
		if cost != "" {
			if a.Limits.Budget, err = budget.Parse(cost); err != nil {
				return err
			}
			a.Limits.Budget = max(a.Limits.Budget, 0) // off is no bound
		}
		a.Server = *s
		if a.Policy, err = ReadPolicy(policy); err != nil {
			return err
		}
		a.Permit = func(j *Job) error {
			if j.Bundle != nil {
				return j.checkWords(p.Common)
			}
			return j.Check(p.Shipped, p.Common)
		}
		ctx, stop := untilSignal(c)
		defer stop()
		return a.Run(ctx)
	}
	return c
}

func (l *Limits) check() error {
	if l.Jobs < 1 || l.Duration <= 0 || l.Interval <= 0 || l.Waiting < 1<<20 {
		return diag.Errorf(diag.Usage, "option", "--max-...",
			"want a job, times above 0 and 1048576 bytes at least").
			WithHint("leave the option out")
	}
	return nil
}

// works says what tracing works here, in a word. Another process finds out: the agent stays small.
func (a *Agent) works(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, a.Program, "doctor").Output()
	var bad []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, kernel.Fail.String()); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(rest), "  ")
			bad = append(bad, plain.Line(name))
		}
	}
	switch {
	case len(bad) > 0:
		return "not " + strings.Join(bad, ", ")
	case err != nil:
		return "unknown"
	}
	return "ok"
}
