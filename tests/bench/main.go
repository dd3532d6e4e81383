// Bench measures how much tracing slows the traced program down. A program that makes
// many cheap system calls runs without a tracer and with each tracer, within one run.
// Other programs pass a byte between two threads, call a function of their own, or
// begin many operations before they end them.
//
//	make bench                              # as root
//	go run ./tests/bench -rounds 5 -calls 500000
//
// The program measures its own loop, so starting and stopping a tracer does not
// count. It is pinned to CPU 0; a tracer's own work runs on other CPUs, if the
// machine has more than one. Times vary between machines and days: compare the
// rows of one run.
//
// A second table shows the cost for each event of a script's functions,
// compiled and interpreted; -functions prints only this table.
//
// $BPFTRACE and $PERF_PROF name binaries to compare with in place of those that
// are installed, separated by colons; a word "bpftrace" or "perf-prof" among them
// is the installed one. Tracers that are not installed are named and left out.
//
//	BPFTRACE=bpftrace:/opt/bpftrace-0.26 PERF_PROF=/opt/perf-prof make bench
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	// Flags for the process that is the traced program.
	report := flag.String("report", "", "run the loop and write its ns to `FILE`; for internal use")
	work := flag.String("work", workCalls, "`KIND` of work of the loop; for internal use")
	// Flags for the process that measures.
	calls := flag.Int("calls", 2_000_000, "system calls of one run")
	rounds := flag.Int("rounds", 3, "runs of each tracer; the median counts")
	ppscript := flag.String("ppscript", "./ppscript", "our `binary`")
	program := flag.String("program", "", "the program of testdata/probed.c, where there is no gcc: `FILE`")
	groups := flag.String("groups", "", "measure only groups whose name has this `TEXT`")
	only := flag.Bool("functions", false,
		"measure only functions of a script, native beside interpreted; needs no root")
	flag.Parse()

	if *calls < 1 || *rounds < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "bench: want at least one call and one round, and no arguments")
		os.Exit(2)
	}
	var err error
	switch {
	case *report != "":
		err = loop(*work, *calls, *report)
	case *only:
		err = benchFunctions()
	default:
		ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
		all := measured(jobs(*ppscript), "bpftrace", peersOf("bpftrace", os.Getenv("BPFTRACE"), versionOf))
		all = measured(all, "perf-prof", peersOf("perf-prof", os.Getenv("PERF_PROF"), versionOf))
		err = bench(ctx, *calls, *rounds, *program, chosen(all, *groups))
		cancel()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, calls, rounds int, program string, jobs []*job) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root to trace system calls")
	}
	r, err := newRunner(calls, program)
	if err != nil {
		return err
	}
	defer r.close()
	for round := range rounds {
		for _, j := range jobs {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, rounds, j.name)
			r.run(ctx, j)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	printTable(os.Stdout, calls, rounds, jobs)
	return errors.Join(oursFailed(jobs), benchFunctions())
}

// chosen returns the jobs of the groups whose name contains text, and the untraced loops
// of the same work.
func chosen(jobs []*job, text string) []*job {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool {
		return j.group != bareGroup && !strings.Contains(j.group, text)
	})
	return slices.DeleteFunc(jobs, func(j *job) bool {
		wanted := slices.ContainsFunc(jobs, func(other *job) bool {
			return other.group != bareGroup && other.work == j.work
		})
		return j.group == bareGroup && j.work != workCalls && !wanted
	})
}

// benchFunctions prints the table of per-event functions.
func benchFunctions() error {
	fmt.Fprintln(os.Stderr, "functions of a script")
	rows, err := functions(4_000_000)
	if err == nil {
		printFunctions(os.Stdout, rows)
	}
	return err
}

// oursFailed returns the error of the first run of ppscript that failed. Other
// tracers may be missing or fail, but without ppscript's numbers the benchmark
// is worthless.
func oursFailed(jobs []*job) error {
	for _, j := range jobs {
		if j.ours && j.err != nil && !errors.Is(j.err, errMissing) {
			return fmt.Errorf("%s: %w", j.name, j.err)
		}
	}
	return nil
}
