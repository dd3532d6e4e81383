// Flat measures whether the memory of the profilers that keep state stays the
// same, while the machine makes events as fast as it can:
//
//	make flat                               # as root: 60 s for each profiler
//	go run ./tests/flat -seconds 10 -only syscalls,task-state
//
// The load makes system calls, switches, sleeps, page faults and new processes
// on all CPUs, so that there are always new keys. A row shows the memory of
// ppscript after a sixth of the time, after half of it and at the end: resident
// memory, a slash, and the live part of the Go heap. Then come the switches and
// the new processes of the load in a second. The row says whether both sizes
// grew by more than a tenth from the second quarter of the time to the last, on
// average; the exit status is 1 if that happened in any row.
//
// Some state grows for longer than a minute, up to a bound beyond which it is
// evicted and counted, or dropped and read again:
//
//   - events that wait for a partner, as allocations do: a million, and 256 MiB
//     (limit of join)
//   - events of the recent past, as long as a pair waits: 64 MiB (limit of detail)
//   - keys of an interval: a million
//   - stacks with names, of a run without intervals: 65,536, about 15 MiB
//   - functions and unwind tables of the files that are in use, 128 MiB each; of
//     those that are idle, as there is a new program every second while others
//     compile, 8 MiB each
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	seconds := flag.Int("seconds", 60, "length of each run")
	ppscript := flag.String("ppscript", "./ppscript", "our `binary`")
	only := flag.String("only", "", "only these profilers, by `NAME,...`")
	flag.Parse()
	if *seconds < 3 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "flat: want at least 3 seconds, and no arguments")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := flat(ctx, *ppscript, time.Duration(*seconds)*time.Second, *only); err != nil {
		fmt.Fprintln(os.Stderr, "flat:", err)
		os.Exit(1)
	}
}

func flat(ctx context.Context, ppscript string, length time.Duration, only string) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root to trace")
	}
	dir, err := os.MkdirTemp("", "flat")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	load := filepath.Join(dir, "load")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", load, "ppscript/tests/testkit/load").
		CombinedOutput(); err != nil {
		return fmt.Errorf("build the load: %w\n%s", err, out)
	}
	fmt.Printf("   MiB at %4.0fs     %4.0fs     %4.0fs  most switches starts  profiler\n",
		moments[0]*length.Seconds(), moments[1]*length.Seconds(), moments[2]*length.Seconds())
	var grown []string
	for _, r := range runs {
		if only != "" && !slices.Contains(strings.Split(only, ","), r[0]) {
			continue
		}
		c, err := measure(ctx, ppscript, dir, loads(load), length, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		note := ""
		switch {
		case err != nil:
			note = ": " + err.Error()
			grown = append(grown, r[0])
		case c.grew():
			note = ": grew"
			grown = append(grown, r[0])
		}
		for _, m := range c.at {
			fmt.Printf("%9s", fmt.Sprintf("%d/%d", m.resident>>20, m.live>>20))
		}
		fmt.Printf(" %5d %8.0f %6.0f  %s%s\n", c.most>>20, c.switches, c.starts, strings.Join(r, " "), note)
	}
	if len(grown) > 0 {
		return fmt.Errorf("not flat: %s", strings.Join(grown, ", "))
	}
	return nil
}

// loads returns the commands of the load: one that causes events of all kinds
// on each CPU, and one that creates processes.
func loads(load string) [][]string {
	const forever = "while :; do %s; done"
	mixed := fmt.Sprintf(forever,
		fmt.Sprintf("%s -cpus %d -getppid 200000 -switch 5000 -sleep 200 -fault 5000", load,
			runtime.NumCPU()))
	// Everything else on the machine has priority, also the run that is
	// measured.
	return [][]string{
		{"nice", "-n", "19", "sh", "-c", mixed},
		{"nice", "-n", "19", "sh", "-c", fmt.Sprintf(forever, "/bin/true")},
	}
}
