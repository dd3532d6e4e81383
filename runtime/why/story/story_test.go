package story

import (
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

var (
	db     = result.WhyTask{TID: 11, PID: 10, Comm: "db"}
	worker = result.WhyTask{TID: 12, PID: 10, Comm: "worker"}
	other  = result.WhyTask{TID: 99, PID: 99, Comm: "cc1"}
)

// TestPhrases checks that each kind of cause has words, with and without what is known of it.
func TestPhrases(t *testing.T) {
	f := func(l result.WhyLink, phrase, doing string) {
		t.Helper()
		if got := Phrase(&l); got != phrase {
			t.Errorf("%v: got %q, want %q", l.Kind, got, phrase)
		}
		if got := Doing(&l); got != doing {
			t.Errorf("%v: got %q, want %q", l.Kind, got, doing)
		}
	}
	same := func(l result.WhyLink, phrase string) { t.Helper(); f(l, phrase, phrase) }
	same(result.WhyLink{Kind: result.WhyUnknown, What: "events lost"}, "unknown: events lost")
	same(result.WhyLink{}, "unknown")
	f(result.WhyLink{Kind: result.WhyUser}, "user code", "running user code")
	f(result.WhyLink{Kind: result.WhySyscall, What: "read"}, "system call read", "in system call read")
	f(result.WhyLink{Kind: result.WhyKernel}, "kernel", "in the kernel")
	f(result.WhyLink{Kind: result.WhyFault, What: "major"}, "major page fault", "in major page faults")
	f(result.WhyLink{Kind: result.WhyFault}, "page fault", "in page faults")
	f(result.WhyLink{Kind: result.WhyIRQ, What: "ahci"}, "interrupt ahci", "in interrupt ahci")
	f(result.WhyLink{Kind: result.WhySoftirq, What: "NET_RX"}, "softirq NET_RX", "in softirq NET_RX")
	same(result.WhyLink{Kind: result.WhySteal}, "stolen by the hypervisor")
	f(result.WhyLink{Kind: result.WhyBehind, Whom: worker}, "runnable behind worker/12",
		"waiting for a CPU behind worker/12")
	f(result.WhyLink{Kind: result.WhyBehind, Whom: other, Foreign: true},
		"runnable behind cc1/99 of another process", "waiting for a CPU behind cc1/99 of another process")
	kworker := result.WhyTask{TID: 7, PID: 7, Comm: "kworker/0:1"}
	f(result.WhyLink{Kind: result.WhyBehind, Whom: kworker, Foreign: true, Kernel: true,
		What: "work vmstat_update"},
		"runnable behind kworker/0:1/7 of the kernel (work vmstat_update)",
		"waiting for a CPU behind kworker/0:1/7 of the kernel (work vmstat_update)")
	f(result.WhyLink{Kind: result.WhyBehind, Whom: other, Foreign: true, Cgroup: "unit a.service"},
		"runnable behind cc1/99 of unit a.service", "waiting for a CPU behind cc1/99 of unit a.service")
	same(result.WhyLink{Kind: result.WhyThread, What: "read", Whom: other, Cgroup: "container web"},
		"waiting for cc1/99 of container web (read)")
	same(result.WhyLink{Kind: result.WhyThread, What: "not begun", Whom: other},
		"waiting to be started by cc1/99")
	same(result.WhyLink{Kind: result.WhyThread, What: "read fd 5, woken by write", Whom: other, File: "pipe"},
		"waiting for cc1/99 (read(5: pipe), woken by write)")
	same(result.WhyLink{Kind: result.WhyThread, What: "read, woken by write", Whom: other, File: "pipe"},
		"waiting for cc1/99 (read(pipe), woken by write)")
	same(result.WhyLink{Kind: result.WhyBlocked, What: "read fd 0", File: "/dev/pts/1"},
		"blocked: read(0: /dev/pts/1)")
	f(result.WhyLink{Kind: result.WhyNetwork, What: "recvfrom fd 7", File: "tcp 10.0.0.1:5432"},
		"network: recvfrom(7: tcp 10.0.0.1:5432)", "waiting for network: recvfrom(7: tcp 10.0.0.1:5432)")
	f(result.WhyLink{Kind: result.WhyDisk, What: "vda read, device", File: "/db"},
		"disk vda read, device of /db", "waiting for disk vda read, device of /db")
	f(result.WhyLink{Kind: result.WhyBehind}, "runnable behind others", "waiting for a CPU behind others")
	same(result.WhyLink{Kind: result.WhyQuota, What: "/a"}, "held by the CPU quota of /a")
	f(result.WhyLink{Kind: result.WhyIdle}, "idle CPU slow to wake", "waiting for an idle CPU to wake")
	f(result.WhyLink{Kind: result.WhyFutex, What: "0x7f12"}, "futex 0x7f12", "waiting for futex 0x7f12")
	f(result.WhyLink{Kind: result.WhyFutex, What: "futex 0x7f12"}, "futex 0x7f12", "waiting for futex 0x7f12")
	same(result.WhyLink{Kind: result.WhyQuota}, "held by a CPU quota")
	same(result.WhyLink{Kind: result.WhyCPU, What: "system calls are not seen"},
		"on a CPU: system calls are not seen")
	f(result.WhyLink{Kind: result.WhyLock, What: "in f", Whom: worker}, "kernel lock in f, held by worker/12",
		"waiting for kernel lock in f, held by worker/12")
	f(result.WhyLink{Kind: result.WhyDisk, What: "vda read, queue"}, "disk vda read, queue",
		"waiting for disk vda read, queue")
	f(result.WhyLink{Kind: result.WhyNetwork, What: "a packet", Whom: other, Foreign: true},
		"network: a packet, from cc1/99 of another process",
		"waiting for network: a packet, from cc1/99 of another process")
	f(result.WhyLink{Kind: result.WhyTimer, What: "nanosleep"}, "timer: nanosleep",
		"waiting for timer: nanosleep")
	f(result.WhyLink{Kind: result.WhyTimer, What: "futex 0x1"}, "timeout of futex 0x1",
		"waiting for the timeout of futex 0x1")
	same(result.WhyLink{Kind: result.WhyThread, What: "pipe", Whom: worker}, "waiting for worker/12 (pipe)")
	same(result.WhyLink{Kind: result.WhyThread}, "waiting for another thread")
	same(result.WhyLink{Kind: result.WhyBlocked, What: "in epoll_wait"}, "blocked: in epoll_wait")
}

// TestPath tells whose a link is where it is not the thread that is waited for.
func TestPath(t *testing.T) {
	path := []result.WhyLink{
		{Task: db, Kind: result.WhyThread, What: "pipe", Whom: worker},
		{Task: worker, Kind: result.WhyFutex, What: "0x1"},
		{Task: other, Kind: result.WhyUser},
	}
	want := "waiting for worker/12 (pipe) > futex 0x1 > cc1/99: user code"
	if got := Path(path); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func span(parts ...result.WhyPart) *result.WhySpan {
	s := &result.WhySpan{Label: "read", Task: db, From: 1000, Parts: parts}
	at := s.From
	for i := range parts {
		p := &s.Parts[i]
		p.From, at = at, at+p.To
		p.To = at
	}
	s.To = at
	return s
}

// part is a part of so many ns; span gives it its place.
func part(ns event.Time, path ...result.WhyLink) result.WhyPart {
	return result.WhyPart{To: ns, Path: path}
}

func text(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.Repeat("  ", l.Depth) + l.Text + "\n")
	}
	return b.String()
}

var (
	user    = result.WhyLink{Task: db, Kind: result.WhyUser}
	irq     = result.WhyLink{Task: db, Kind: result.WhyIRQ, What: "ahci"}
	wait    = result.WhyLink{Task: db, Kind: result.WhyThread, What: "pipe", Whom: worker}
	works   = result.WhyLink{Task: worker, Kind: result.WhyUser}
	reads   = result.WhyLink{Task: worker, Kind: result.WhyDisk, What: "vda read, device"}
	unknown = result.WhyLink{Task: db, Kind: result.WhyUnknown, What: "events lost"}
)

// A wait is one line, however many things the thread did that was waited for.
func TestChainIsBelowTheWait(t *testing.T) {
	s := span(part(10, user), part(50, wait, works), part(900, wait, reads), part(40, wait))
	want := "user code\nwaiting for worker/12 (pipe)\n  worker: user code\n  worker: disk vda read, device\n" +
		"waiting for worker/12 (pipe)\n"
	got := Lines(s, 40)
	if text(got) != want {
		t.Errorf("got\n%s\nwant\n%s", text(got), want)
	}
	if l := got[1]; l.At != 10 || l.NS != 950 {
		t.Errorf("the wait: got %d ns at %d, want 950 at 10", l.NS, l.At)
	}
}

// TestShortPartsAreAddedUp checks that lines of the first depth add up to the span whatever is
// folded, and what is unknown is named.
func TestShortPartsAreAddedUp(t *testing.T) {
	var parts []result.WhyPart
	for range 500 {
		parts = append(parts, part(90, user), part(10, irq))
	}
	parts = append(parts, part(1, unknown), part(30_000, wait, reads))
	s := span(parts...)
	for _, most := range []int{0, 1, 2, 5, 40, 2000} {
		lines := Lines(s, most)
		if most > 2 && len(lines) > most {
			t.Errorf("at most %d: got %d lines", most, len(lines))
		}
		sum := int64(0)
		for _, l := range lines {
			if l.Depth == 0 {
				if l.At != sum {
					t.Errorf("at most %d: a line begins at %d, want %d", most, l.At, sum)
				}
				sum += l.NS
			}
		}
		if sum != s.NS() {
			t.Errorf("at most %d: lines are %d ns, want %d", most, sum, s.NS())
		}
		if !strings.Contains(text(lines), "unknown: events lost") {
			t.Errorf("at most %d: the unknown part is not named:\n%s", most, text(lines))
		}
	}
	want := "... 1001 short parts: 45us user code, 5us interrupt ahci, 1ns unknown: events lost\n" +
		"waiting for worker/12 (pipe)\n  worker: disk vda read, device\n"
	if got := text(Lines(s, 40)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func cause(slow, normal int64, path ...result.WhyLink) result.WhyCause {
	for i := range path {
		path[i].Task.TID, path[i].Task.PID, path[i].Whom.TID, path[i].Whom.PID = 0, 0, 0, 0
	}
	return result.WhyCause{Path: path, Slow: result.WhySpans{Spans: 1, NS: slow},
		Normal: result.WhySpans{Spans: 1, NS: normal}}
}

func whyOf(causes ...result.WhyCause) *result.Why {
	w := &result.Why{Name: "why", Causes: causes}
	for _, c := range causes {
		w.Slow.NS += c.Slow.NS
		w.Normal.NS += c.Normal.NS
	}
	if w.Slow.Spans = 10; w.Normal.NS > 0 {
		w.Normal.Spans = 10
	}
	return w
}

func TestConclusion(t *testing.T) {
	f := func(w *result.Why, want string) {
		t.Helper()
		if got := Conclusion(w); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(&result.Why{}, "")
	f(whyOf(cause(800, 0, user), cause(200, 0, irq)), "80 % of the slow spans' time is running user code.")
	f(whyOf(cause(400, 0, user), cause(350, 0, irq), cause(250, 0, wait)),
		"40 % of the slow spans' time is running user code; 35 % is in interrupt ahci.")
	// What both do is no explanation.
	f(whyOf(cause(500, 500, user), cause(300, 0, wait, reads), cause(100, 0, wait, works)),
		"100 % of the time over normal is waiting for worker (pipe), which was waiting for "+
			"disk vda read, device (75 %).")
	// Normal spans may take more of something.
	f(whyOf(cause(100, 400, user), cause(700, 0, irq)),
		"100 % of the time over normal is in interrupt ahci.")
	f(whyOf(cause(700, 0, user), cause(300, 0, unknown)),
		"70 % of the slow spans' time is running user code.")
	f(whyOf(cause(500, 0, user), cause(300, 0, irq), cause(200, 0, unknown)),
		"50 % of the slow spans' time is running user code; this could be otherwise, "+
			"since 20 % of the slow spans' time is unknown (events lost).")
	f(whyOf(cause(1000, 0, unknown)),
		"No cause is known: 100 % of the slow spans' time is unknown (events lost).")
	doubtful := whyOf(cause(800, 0, user), cause(200, 0, irq))
	doubtful.Doubtful = result.WhySpans{Spans: 1, NS: 100}
	f(doubtful, "80 % of the slow spans' time is running user code.")
	doubtful.Doubtful = result.WhySpans{Spans: 3, NS: 300}
	f(doubtful, "80 % of the slow spans' time is running user code; this could be otherwise, "+
		"since 3 of 10 slow spans are in doubt.")
	behind := result.WhyLink{Task: worker, Kind: result.WhyBehind, Whom: other, Foreign: true}
	f(whyOf(cause(900, 0, wait, behind), cause(100, 0, user)),
		"90 % of the slow spans' time is waiting for worker (pipe), which was waiting for a CPU behind "+
			"cc1 of another process.")
}

// TestWrap checks that lines end at the width where words allow it.
func TestWrap(t *testing.T) {
	text := "waiting for worker (pipe) > disk vda read, device > " + strings.Repeat("unbroken", 6)
	for width := 24; width < 120; width++ {
		lines := wrap(text, width)
		for _, l := range lines {
			words := strings.TrimPrefix(strings.TrimSpace(l), "> ")
			if len(l) > width && strings.Contains(words, " ") {
				t.Errorf("width %d: got %q", width, l)
			}
		}
		if got := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); got != text {
			t.Errorf("width %d: got %q, want %q", width, got, text)
		}
	}
}

// TestFlameIsWhole checks that widths of the flame graph are the time of all slow spans, also of
// those whose parts are gone.
func TestFlameIsWhole(t *testing.T) {
	slowest := span(part(100, user), part(900, wait, reads))
	w := &result.Why{Name: "why", Slowest: []*result.WhySpan{slowest}, Causes: []result.WhyCause{
		cause(300, 0, user), cause(900, 0, wait, reads), cause(50, 0, irq)}}
	w.Slow = result.WhySpans{Spans: 2, NS: 1250}
	s := Flame(w)
	got := map[string]int64{}
	for _, x := range s.Samples {
		path := x.Key[0].String()
		for i := len(x.Frames) - 1; i >= 0; i-- {
			path += ";" + x.Frames[i].Symbol
		}
		got[path] += x.Value
	}
	want := map[string]int64{"read;user code": 300, "read;interrupt ahci": 50,
		"read;waiting for worker (pipe);worker;disk vda read, device": 900}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for path, ns := range want {
		if got[path] != ns {
			t.Errorf("%s: got %d, want %d", path, got[path], ns)
		}
	}
	if _, total := s.Total(); total != w.Slow.NS {
		t.Errorf("in all: got %d, want %d", total, w.Slow.NS)
	}
}

// However many causes there are, rows of what people get add up to the slow spans.
func TestShortCauses(t *testing.T) {
	var list []result.WhyCause
	for i := range 100 {
		futex := result.WhyLink{Kind: result.WhyFutex, What: strings.Repeat("x", i)}
		list = append(list, cause(int64(1000-i), 0, futex))
	}
	w := whyOf(append(list, cause(1, 0, wait, unknown))...)
	w.Slow.Spans = 1
	for _, width := range []int{0, 80} {
		all := Causes(w, Unit(1), width)
		Short(all)
		if len(all.Rows) != mostCauses+2 {
			t.Fatalf("got %d rows, want %d", len(all.Rows), mostCauses+2)
		}
		sum, total := 0.0, int64(0)
		for _, row := range all.Rows {
			sum += row[shareColumn].Float()
			total += row[totalColumn].Int()
		}
		if total != w.Slow.NS || sum < 99.99 || sum > 100.01 {
			t.Errorf("rows add up to %d ns, %.2f %%, want %d", total, sum, w.Slow.NS)
		}
		if got := all.Rows[mostCauses+1][4].String(); got != "75 other causes" {
			t.Errorf("got %q, want 75 other causes", got)
		}
		if got := all.Rows[mostCauses][4].String(); !strings.HasSuffix(got, "db: unknown: events lost") {
			t.Errorf("got %q, want the unknown cause", got)
		}
		if width > 0 {
			line := all.Layout.RowText(all.Rows[mostCauses+1])
			if !strings.Contains(line, " - ") || !strings.HasSuffix(line, "  75 other causes") {
				t.Errorf("got %q", line)
			}
		}
	}
}

// TestSmallCausesAreOneRow checks that causes of little count are one row, even if there are few
// rows.
func TestSmallCausesAreOneRow(t *testing.T) {
	list := []result.WhyCause{cause(1_000_000, 0, user)}
	for i := range 12 {
		handler := result.WhyLink{Kind: result.WhyIRQ, What: strings.Repeat("x", i)}
		list = append(list, cause(int64(100-i), 0, handler))
	}
	w := whyOf(list...)
	t1 := Causes(w, Unit(1), 0)
	Short(t1)
	if n := len(t1.Rows); n != fewCauses+1 {
		t.Fatalf("got %d rows, want %d", n, fewCauses+1)
	}
	if got := t1.Rows[fewCauses][4].String(); got != "3 other causes" {
		t.Errorf("got %q, want 3 other causes", got)
	}
}

// The interrupted thread did not wake anybody.
func TestWokenByInterrupt(t *testing.T) {
	frame := func(name string) *result.Frame { return &result.Frame{Symbol: name} }
	woken := result.CallStack{Cut: true, Frames: []*result.Frame{frame("hrtimer_wakeup"),
		frame("asm_sysvec_apic_timer_interrupt"), frame("innocent")}}
	timer := result.WhyLink{Kind: result.WhyTimer, WakerStack: 3}
	f := func(l result.WhyLink, want int) {
		t.Helper()
		w := &result.Why{Stacks: map[stack.ID]result.CallStack{3: woken}}
		(&Line{Link: &l}).stacks(w, func(title string, s result.CallStack) {
			if title != "woken from" || len(s.Frames) != want || s.Cut != (want == 3) {
				t.Errorf("%s: got %d frames, want %d", title, len(s.Frames), want)
			}
		})
	}
	f(timer, 2)
	timer.Whom = worker
	f(timer, 3)
}

// What threads of several names do is one cause.
func TestCausesOfSeveralThreads(t *testing.T) {
	a, b := irq, irq
	b.Task.Comm = "web"
	w := whyOf(cause(300, 0, a), cause(200, 0, b), cause(100, 0, user))
	rows := Causes(w, Unit(1), 0).Rows
	if len(rows) != 2 || rows[0][totalColumn].Int() != 500 || rows[0][spansColumn].Uint() != 2 {
		t.Errorf("got %v, want one row of 500 ns in 2 spans", rows)
	}
	if got, want := Conclusion(w), "83 % of the slow spans' time is in interrupt ahci."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNotesOfOneReason checks that notes of one reason are one.
func TestNotesOfOneReason(t *testing.T) {
	w := &result.Why{Skipped: 2, Notes: []string{"without a:b: disks (not there)", "short",
		"without c:d: locks (no)", "without e:f: faults (not there)", "short too"}}
	want := "2 more slow spans were not explained, since that would have taken more than a quarter of a CPU: -p, or " +
		"a longer --than, takes fewer, and a recording explains all\n" +
		"without a:b: disks; e:f: faults (not there)\nshort\nwithout c:d: locks (no)\nshort too"
	if got := strings.Join(Notes(w), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
