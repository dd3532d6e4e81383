package walk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/bpf/walk"
	"ppscript/runtime/source/perf"
)

// A sample costs the observed program what the kernel says of the time of the program, by tables
// and by frame pointers: the median of parts of a second each, since a busy machine interrupts it.
func BenchmarkWalk(b *testing.B) {
	program := compile(b)
	f := func(name string, tables bool) {
		b.Run(name, func(b *testing.B) {
			pid := start(b, program)
			run := walking(b, pid, tables)
			l, err := walk.Preload(run, walk.Observed{PIDs: []int{pid}})
			if err := errors.Join(err, load.Begin(run)); err != nil {
				b.Fatal(err)
			}
			stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
			if err != nil {
				b.Fatal(err)
			}
			defer stats.Close()
			hooks, err := perf.OpenHooks(context.Background(), perf.Config{
				Target: perf.Target{PIDs: []int{pid}},
				Events: []perf.EventConfig{{Schema: clock, Freq: 4000, Program: run.Sampled(0)}},
			})
			if err != nil {
				b.Fatal(err)
			}
			defer hooks.Close()
			var each []float64
			for b.Loop() {
				ns, n := spent(b, run.Sampled(0))
				time.Sleep(200 * time.Millisecond)
				ns2, n2 := spent(b, run.Sampled(0))
				if n2 > n {
					each = append(each, float64(ns2-ns)/float64(n2-n))
				}
			}
			slices.Sort(each)
			b.ReportMetric(each[len(each)/2], "ns/sample")
			b.ReportMetric(each[0], "least-ns/sample")
			told, err := l.End(true)
			if err != nil {
				b.Fatal(err)
			}
			b.Log(told)
		})
	}
	f("tables", true)
	f("pointers", false)
}

// spent is for how long, and how often, a program ran.
func spent(b *testing.B, fd int) (ns, times uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		switch name {
		case "run_time_ns":
			ns = n
		case "run_cnt":
			times = n
		}
	}
	return ns, times
}
