package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Show the version", Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error { return showVersion(a) }}
}

func showVersion(a *app) error {
	version := buildVersion()
	_, err := fmt.Fprintf(a.Stdout,
		"ppscript %s %s %s/%s\nevents: tracepoints, software, hardware and cache counters, perf.data, trace.dat\nengines: kernel (eBPF), native, interpreted\n",
		version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion returns the version of this program.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return versionOf(info)
	}
	return "unknown"
}

// versionOf returns the module's version, or the commit that it was built from.
func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "development"
		if rev := settings["vcs.revision"]; len(rev) >= 12 {
			v += " " + rev[:12]
			if settings["vcs.modified"] == "true" {
				v += " with changes"
			}
		}
	}
	return v
}
