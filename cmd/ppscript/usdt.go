package main

import (
	"ppscript/cmd/ppscript/recording"
	"strings"

	"github.com/spf13/cobra"
)

func usdtCommand(a *app) *cobra.Command {
	var verbose bool
	c := &cobra.Command{
		Use:   "usdt list|add|del [[PROVIDER:]NAME@]FILE[@ADDR] [FORMAT ...] ...",
		Short: "List the USDT probes of a program or library, or keep them as tracepoints",
		Long: `list shows the probes that the programmer put into FILE (USDT, DTRACE_PROBE); names may have * ? [a-z]. They need no
preparation: -e 'usdt:PROVIDER:NAME@"FILE"', or usdt("PROVIDER:NAME", "FILE") in scripts.

add makes tracepoints PROVIDER:NAME of them, which other tools see too and which stay until del. A FORMAT stands for the
argument of the probe before it at its place, in the notation of the kernel's uprobe_events, with %s for where the argument
is: '+0(%s):string'. Several probes are added all, or none.`,
		Example: "    ppscript usdt list /usr/lib/x86_64-linux-gnu/libstdc++.so.6\n" +
			"    ppscript usdt list -v libstdcxx:throw@/usr/lib/x86_64-linux-gnu/libstdc++.so.6\n" +
			"    ppscript usdt add libstdcxx:throw@/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		Args:      words(2, -1),
		ValidArgs: []string{"list", "add", "del"},
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "list" {
				a.enterReader(false)
			}
			return recording.USDT(a.Text(), args[0], strings.Join(args[1:], " "), verbose)
		},
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false,
		"list: addresses, arguments and the definition for tracefs too")
	return c
}
