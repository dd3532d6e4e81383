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
	var labels texts
	var policy, cost string
	c := &cobra.Command{
		Use:   "agent [--hub URL] [--label NAME=VALUE,...]",
		Short: "Run profilers on this host for a fleet",
		Long: `Runs profilers on this host when "ppscript fleet run" asks for them, and sends partial results. They have the rights of the user who started the agent. The agent runs the profilers that come with ppscript, and scripts that are sent with the question, if a key of
` + sign.SignersFile + ` signed them. They write no files, start no programs and send nothing else.
The options below limit each job. The policy,
` + PolicyFile + `, says which profilers, options and askers are permitted. Without a policy,
every client of the hub can ask: ppscript help fleet.

A job ends 10 s after its asker is gone. If the hub is gone, a job goes on for a minute, and its results are kept until the hub is back.`,
		Example: "    sudo ppscript agent --hub nats://hub:4222 --label rack=r7,role=db",
		Args:    cobra.NoArgs,
	}
	fs := c.Flags()
	s := p.server(fs)
	fs.StringVar(&a.Name, "name", "", "`NAME` of this host (default its hostname)")
	fs.Var(&labels, "label", "labels of this host, by which askers select it: `NAME=VALUE`,...")
	fs.IntVar(&a.Limits.Jobs, "max-jobs", 4, "run at most `N` jobs at a time")
	fs.DurationVar(&a.Limits.Duration, "max-duration", time.Hour, "end a job after `TIME`")
	fs.DurationVar(&a.Limits.Interval, "min-interval", 100*time.Millisecond,
		"refuse jobs with shorter intervals than `TIME`")
	fs.StringVar(&a.Limits.Memory, "max-memory", "256m", "memory of the process of a job: `SIZE`")
	fs.Int64Var(&a.Limits.Rows, "max-rows", 0, "at most `N` rows in a table of a job")
	fs.IntVar(&a.Limits.CPU, "max-cpu", 100,
		"end a job whose process uses more than `N` percent of a CPU over 10 s")
	fs.StringVar(&cost, "max-budget", "",
		"limit the cost of observing in a job to `SHARE` of the time of all CPUs, even if its asker allows more (without it, the asker's budget, or 5%)")
	fs.StringVar(&policy, "policy", "",
		"`FILE` with the policy: what askers may run (default "+PolicyFile+")")
	fs.Int64Var(&a.Limits.Waiting, "max-waiting", 16<<20,
		"keep at most `BYTES` of results of a job while the hub is gone")
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
			a.Limits.Budget = max(a.Limits.Budget, 0) // "off" means no bound
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

// works returns a short text about which kinds of tracing work here. It runs ppscript doctor as a
// process, so that the agent's memory stays small.
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
