// Package perf opens events with perf_event_open, on CPUs, threads, workloads
// and cgroups, and decodes the records in their rings. Terms of the system
// call: the attr (struct perf_event_attr) describes an event to open, a ring is
// memory that the kernel fills with records, and a side record describes a task
// or a change of the kernel's code rather than an event.
//
// It has two parts. Layout and Decoder convert the bytes of records to events.
// They do not depend on the running kernel, so package perfdata uses them for
// recordings. Source (events from rings), Counters (only counts) and Hooks
// (samples handled by programs of the kernel) are for live events; package
// session opens, reads and closes them.
//
// The package does not resolve names of tracepoints (package tracefs does),
// merge rings (package order does), or keep the state of tasks (package task
// does).
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
