package fleet

import (
	"github.com/spf13/cobra"

	"ppscript/runtime/text/diag"
)

func (p *Program) merger() *cobra.Command {
	g := &Merger{Say: p.Say}
	c := &cobra.Command{
		Use: "merger [--hub URL]", Short: "Merge results of many hosts for the asker of a fleet",
		Long:    `Combines the results of hosts, so that the asker gets few messages. The hub is a merger too. For some thousand hosts, start more mergers on machines with idle CPUs: they divide the hosts of each job among themselves, also when mergers start or end. A host keeps its results until the asker has them; if a merger dies, they are sent again.`,
		Example: "    ppscript merger --hub nats://hub:4222",
		Args:    cobra.NoArgs,
	}
	fs := c.Flags()
	s := p.server(fs)
	fs.StringVar(&g.Name, "name", "", "`NAME` of this one (default the hostname with a number)")
	fs.Int64Var(&g.Waiting, "max-waiting", defaultWaiting,
		"keep at most `BYTES` of waiting results; further ones go to the asker directly")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if g.Waiting < 1<<20 {
			return diag.Errorf(diag.Usage, "option", "--max-waiting", "got %d, want 1048576 at least",
				g.Waiting).WithHint("leave the option out")
		}
		g.Server = *s
		p.Confine()
		ctx, stop := untilSignal(c)
		defer stop()
		return g.Run(ctx)
	}
	return c
}
