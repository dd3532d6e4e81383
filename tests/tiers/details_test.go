package tiers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A detail is a pair with the events around it.
type detail struct {
	Name, Pair    string
	Incomplete    bool
	CompleteSince int64 `json:"complete_since"`
	Start, End    detailEvent
	Events        []struct {
		Part  string
		Since int64
		detailEvent
	}
}

// A detailEvent is the part of an event that does not depend on the engine.
type detailEvent struct {
	Comm     string
	PID, TID int
	CPU      int
	Event    string
	Fields   map[string]any
	Stack    []struct{ Addr, Symbol string }
}

// part lists the events of one part of the listing.
func (d *detail) part(name string) (list []string) {
	for i := range d.Events {
		if d.Events[i].Part == name {
			list = append(list, fmt.Sprint(d.Events[i].detailEvent))
		}
	}
	return list
}

// details returns the details of an output, with the events between start and end of each,
// sorted.
func details(t *testing.T, output string) (list []string) {
	t.Helper()
	for _, d := range testkit.All[detail](t, output, "detail") {
		list = append(list, fmt.Sprintf("%s %s incomplete=%v %v %v: %v", d.Name, d.Pair, d.Incomplete,
			d.Start, d.End, d.part("between")))
	}
	slices.Sort(list)
	return list
}

// twoDetails are the details of two joins that share an event, with texts whose place is
// only in the record.
const twoDetails = `
enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")
exec, end = tracepoint("sched:sched_process_exec"), tracepoint("sched:sched_process_exit")

def main(o):
    calls = join([enter], [exit], key = "_tid").where("start.id == 257")
    lives = join([exec.key("pid")], [end.key("pid"), enter.untraced()])
    return [
        calls.slow(than = 1 * ns, detail = detail(same = "tid")),
        lives.slow(than = 1 * ns, detail = detail(same = "tid")),
    ]
`

// stackedDetails are details of events with stacks, also of events without a
// partner.
const stackedDetails = `
enter, exit = tracepoint("raw_syscalls:sys_enter").stack(), tracepoint("raw_syscalls:sys_exit")
switch = tracepoint("sched:sched_switch").stack(user = False)

def main(o):
    calls = join([enter], [exit, switch.untraced()], key = "_tid")
    alone = join([enter.where("id == 110")], [exit.where("id == 257")], key = "_tid")
    return [
        calls.where("start.id == 35 || start.id == 230").slow(than = 1 * ns, detail = detail(same = "tid")),
        alone.unpaired("start").slow(than = 1 * ns, detail = detail(same = "tid")),
    ]
`

// The events around pairs that programs keep are the same as natively, for each join.
func TestDetailsAgree(t *testing.T) { detailsAgree(t, twoDetails, "-exec", "2") }

// They have the stacks too. perf stops observing a task that ends before its last switches,
// so no task ends here.
func TestDetailsWithStacksAgree(t *testing.T) { detailsAgree(t, stackedDetails, "-sleep", "10") }

func detailsAgree(t *testing.T, program string, does ...string) {
	t.Helper()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, append([]string{"-getppid", "20", "-fail", "10"}, does...)...)
		l.OnOneCPU()
		kernel := run(t, l, "bpf", program, "--inherit")
		native := run(t, l, "perf", program, "--inherit")
		l.Do()
		a, b := details(t, kernel.Stop().Want(t, 0).Stdout), details(t, native.Stop().Want(t, 0).Stdout)
		l.End()
		if !slices.Equal(a, b) || len(a) < 12 {
			wrong = append(wrong, fmt.Sprintf("got %d details, want %d", len(a), len(b)))
		}
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				return append(wrong, fmt.Sprintf("got\n%s\nwant\n%s", a[i], b[i]))
			}
		}
		return wrong
	})
}

// weightedDetails are details of events that stand for a time and concern the task that used
// it. All tasks are observed, because perf assigns the events to that task.
const weightedDetails = `
enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")
stat = tracepoint("sched:sched_stat_runtime")

def main(o):
    calls = join([enter.where("_pid == %d")], [exit.where("_pid == %d"), stat.untraced()], key = "_tid")
    return calls.where("start.id == 35 || start.id == 230").slow(than = 1 * ns, detail = detail(same = "tid"))
`

// Programs keep events with weights too.
func TestDetailsWithWeightsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-sleep", "20")
		program := fmt.Sprintf(weightedDetails, l.PID(), l.PID())
		var runs []*testkit.Process
		for _, engine := range []string{"bpf", "perf"} {
			p := testkit.Start(t, testkit.PPScript(t), script(t, program), "--engine", engine, "--format",
				"json", "-v", "-a")
			p.WaitStderr(" open event")
			runs = append(runs, p)
		}
		l.Do()
		kernel := runs[0].Stop().Want(t, 0)
		a, b := details(t, kernel.Stdout), details(t, runs[1].Stop().Want(t, 0).Stdout)
		l.End()
		if strings.Contains(kernel.Stderr, "left programs out") {
			return []string{"the kernel left programs out"}
		}
		ran := 0
		for _, d := range b {
			ran += strings.Count(d, "sched_stat_runtime")
		}
		if len(a) != len(b) || len(b) < 20 || ran < 10 {
			return []string{fmt.Sprintf("got %d details, want %d with %d times", len(a), len(b), ran)}
		}
		// A program that ends a pair wakes its reader, at which the kernel accounts the
		// task's run time: perf ends the pair after that event.
		for i := range a {
			x, y := strings.TrimRight(a[i], "]"), strings.TrimRight(b[i], "]")
			const stat = "sched_stat_runtime"
			if strings.Contains(a[i], stat) != strings.Contains(b[i], stat) ||
				!strings.HasPrefix(x, y) && !strings.HasPrefix(y, x) {
				wrong = append(wrong, fmt.Sprintf("got\n%s\nwant\n%s", a[i], b[i]))
			}
		}
		return wrong
	})
}

const longAgo = `
enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")

def main(o):
    calls = join([enter], [exit], key = "_tid").where("start.id == 257")
    return calls.slow(than = 1 * ns, detail = detail(before = 10 * s, same = "tid"))
`

// If the memory of programs is too small, the newest events are shown, complete from a
// reported time on.
func TestOverwrittenDetailsSayIt(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", "2000", "-fail", "1")
		l.OnOneCPU()
		kernel, native := run(t, l, "bpf", longAgo, "-m", "8"), run(t, l, "perf", longAgo)
		l.Do()
		a := testkit.All[detail](t, kernel.Stop().Want(t, 0).Stdout, "detail")
		b := testkit.All[detail](t, native.Stop().Want(t, 0).Stdout, "detail")
		l.End()
		if len(a) == 0 || len(a) != len(b) {
			return []string{fmt.Sprintf("got %d details, want %d", len(a), len(b))}
		}
		few, all := a[len(a)-1], b[len(b)-1]
		got, want := few.part("before"), all.part("before")
		if !few.Incomplete || few.CompleteSince >= 0 || all.Incomplete {
			wrong = append(wrong, fmt.Sprintf("got incomplete %v since %d, natively %v, want the first only",
				few.Incomplete, few.CompleteSince, all.Incomplete))
		}
		if len(few.Events) > 0 && few.Events[0].Since < few.CompleteSince {
			wrong = append(wrong, fmt.Sprintf("got events from %d on, want none before %d",
				few.Events[0].Since, few.CompleteSince))
		}
		const most = 512 // events in 32 KiB, and some that came later
		if n := len(got); n < 16 || n > most || len(want) < 4000 || !slices.Equal(got, want[len(want)-n:]) {
			wrong = append(wrong, fmt.Sprintf("got %d events before, want the last of %d:\n%.2000s",
				n, len(want), got))
		}
		return wrong
	})
}
