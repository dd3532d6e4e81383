// Package perfetto writes timelines as Perfetto traces, for https://ui.perfetto.dev and
// trace_processor: protocol buffers, one packet after the other, in constant memory.
//
// The messages are encoded by hand, since there are only a dozen kinds, and encoding
// runs for each event. The numbers of fields are from protos/perfetto/trace of
// google/perfetto.
//
// Properties of the traces:
//
//   - Times are on the clock of the events, which is called BOOTTIME, the default clock of
//     traces. One snapshot relates it to the wall clock.
//   - Switches and wake-ups are ftrace's sched_switch, sched_waking and sched_wakeup: the
//     viewer makes the rows of CPUs and the states of threads from them. It decodes the
//     bits of states by the release of the kernel.
//   - Samples of clocks and counters are PerfSample. The weights of samples are added up by
//     CPU, as the viewer requires; only one clock or counter has them.
//   - The counts of missing events are counters, in the group "events missing".
package perfetto
