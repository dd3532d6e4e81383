// Package perfetto writes timelines as Perfetto traces, for https://ui.perfetto.dev and
// trace_processor: protocol buffers, one packet after the other, in constant memory.
//
// The messages are encoded by hand, since there are only a dozen kinds, and encoding
// runs for each event. The numbers of fields are from protos/perfetto/trace of
// google/perfetto.
//
// Properties of the traces:
//
//   - It has the clock of the events, which is called BOOTTIME, the clock that traces have
//     unless they say otherwise. One snapshot relates it to the wall clock.
//   - Switches and wake-ups are ftrace's sched_switch, sched_waking and sched_wakeup: the
//     viewer makes the rows of CPUs and the states of threads of them. It knows the bits
//     of states by the release of the kernel.
//   - Samples of clocks and counters are PerfSample. The weights of samples are added up by
//     CPU, as the viewer wants them; only one clock or counter has them.
//   - What is missing is counters, in the group "events missing".
package perfetto
