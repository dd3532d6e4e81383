// Package perf is perf_event_open: attributes, attaching to CPUs, threads,
// workloads and cgroups, the rings, and the layout of their records.
//
// It has two halves. Layout and Decoder turn the bytes of perf records into
// events; they know no live kernel, so that package perfdata reads recordings
// with them. Source and Counters are the live half: session opens them, drains
// them and closes them.
//
// The package does not resolve tracepoint names (package tracefs does), merges
// no rings (package order does) and remembers no tasks (package task does).
//
//	src, err := perf.Open(ctx, perf.Config{
//		Events: []perf.EventConfig{{Schema: wakeup}},
//		Target: perf.Target{CPUs: []int{0}},
//	})
//	defer src.Close()
//	for src.Poll(ctx, 100*time.Millisecond) == nil {
//		for _, r := range src.Rings() { ... r.Read(batch, visible); r.Release() }
//	}
package perf
