package main

import (
	"bufio"
	"encoding/json"
	"os"

	"ppscript/cmd/ppscript/recording"
	"ppscript/cmd/ppscript/terminal/progress"

	"github.com/spf13/cobra"
)

// This file has the command info, which shows the content of a recording, and which profilers can run
// over it.

func infoCommand(a *app) *cobra.Command {
	format, dump := "text", false
	c := &cobra.Command{
		Use:     "info FILE [--format text|json] [-D]",
		Short:   "Tell what a recording has, and what can be asked of it",
		Long:    `Reads a recording (perf.data or trace.dat; - is standard input) and shows its events, its time, its losses, where and how it was made, and which profilers can run over it.`,
		Example: "    ppscript info perf.data",
		Args:    words(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usagef("option", "--format", "got %q, want text or json", format).
					WithHint("write --format json")
			}
			if dump {
				return dumpRecords(a, args[0])
			}
			return showInfo(a, args[0], format)
		},
	}
	c.Flags().StringVar(&format, "format", format, "text or json")
	c.Flags().BoolVarP(&dump, "dump-records", "D", false,
		"show the kernel's records one by one, with their bytes")
	_ = c.RegisterFlagCompletionFunc("format",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp
		})
	return c
}

// dumpRecords shows the records of a recording.
func dumpRecords(a *app, path string) error {
	ctx, w := a.watchSignals(nil)
	defer w.close()
	a.enterReader(false)
	return w.blame(recording.Dump(ctx, path, a.Text()))
}

func showInfo(a *app, path, format string) error {
	ctx, w := a.watchSignals(nil)
	defer w.close()
	a.enterReader(false)
	line := progress.OnTerminal(&a.Console)
	t, err := recording.Read(ctx, path, line.Read)
	line.Clear()
	if err != nil {
		return w.blame(err)
	}
	if st, err := os.Stat(path); path != "-" && err == nil && (st.Mode().IsRegular() || st.IsDir()) {
		t.Asks, t.AsksOf = profilersOver(a, path, t.Events)
	}
	if format == "json" {
		return json.NewEncoder(a.Stdout).Encode(struct {
			V    int              `json:"v"`
			Type string           `json:"type"`
			Data *recording.About `json:"data"`
		}{1, "recording", t})
	}
	out := bufio.NewWriter(a.Text())
	t.Print(out)
	return out.Flush()
}
