package main

import (
	"errors"
	"fmt"
	"io"
)

// printTable writes one block for each group: the time of a call with each
// tracer, how much of it the tracer added, and the ratio to ppscript.
func printTable(w io.Writer, calls, rounds int, jobs []*job) {
	calledBare, _ := jobs[0].median()
	fmt.Fprintf(w,
		"%d calls of getppid on one CPU, median of %d rounds; bare: %.1f ns a call, %.0f ms to start\n",
		calls, rounds, calledBare, startOf(jobs[0]))
	group := bareGroup
	for i, j := range jobs {
		if j.group == bareGroup {
			continue
		}
		bare := bareOf(jobs, j.work)
		if j.group != group {
			group = j.group
			fmt.Fprintf(w, "\n%-38s %10s %10s %9s %9s %9s %8s  %s\n", group, "ns/call", "added", "slowdown",
				"to ours", "start ms", "peak MB", "all events seen")
			if j.work != workCalls {
				fmt.Fprintf(w, "%-38s %10.1f\n", "bare", bare)
			}
		}
		ns, ok := j.median()
		if !ok {
			why := "failed: "
			if errors.Is(j.err, errMissing) {
				why = "left out: "
			}
			fmt.Fprintf(w, "%-38s %s%v\n", j.name, why, j.err)
			continue
		}
		ratio := "-"
		if ours := oursIn(jobs[i:], group); ours > bare {
			ratio = fmt.Sprintf("%.2fx", (ns-bare)/(ours-bare))
		}
		seen := "no"
		if j.noCount {
			seen = "not told"
		} else if j.observed {
			seen = "yes"
		}
		fmt.Fprintf(w, "%-38s %10.1f %10.1f %8.2fx %9s %9.0f %8.1f  %s\n", j.name, ns, ns-bare, ns/bare,
			ratio, startOf(j), j.peak, seen)
	}
}

// bareOf returns the time of a step of some work without a tracer.
func bareOf(jobs []*job, work string) float64 {
	for _, j := range jobs {
		if j.group == bareGroup && j.work == work {
			ns, _ := j.median()
			return ns
		}
	}
	return 0
}

// startOf returns the median of the times in ms from a tracer's start to the
// loop's first step, including the loop's own start.
func startOf(j *job) float64 {
	if len(j.start) == 0 {
		return 0
	}
	return median(j.start)
}

// oursIn returns ppscript's time in the group, 0 if there is none. It takes the
// last row, which uses the default options.
func oursIn(jobs []*job, group string) (ns float64) {
	for _, j := range jobs {
		if j.group == group && j.ours {
			ns, _ = j.median()
		}
	}
	return ns
}
