package why_test

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/why"
)

// stackStamp gives events the time of their happening, in us, as the number of their stack.
type stackStamp struct{}

func (stackStamp) Member(e *event.Event, f event.Member) (uint64, bool) {
	return uint64(e.Time / 1000), f == event.MemberCallchain
}

func (stackStamp) Callchain(*event.Event) []uint64 { return nil }

// TestStacks has the stack where a thread left its CPU, that of its waker, and that where a
// lock of the kernel is taken.
func TestStacks(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a enter mmap
		1 1 b enter munmap
		5 0 a sleep -
		20 1 b wake a 0
		25 0 - run a
		26 0 a lock 0xff00 36
		28 0 a dsleep -
		40 1 b wake a 0
		45 0 - run a
		46 0 a locked 0xff00
		50 0 a exit mmap`)
	for _, e := range h.evs {
		s := *e.Stream
		s.Members = stackStamp{}
		for _, o := range h.evs {
			if o.Stream == e.Stream && o != e {
				o.Stream = &s
			}
		}
		e.Stream = &s
	}
	cfg := h.config()
	cfg.Stacks = true
	cfg.Site = func(id stack.ID) string {
		if id == 26 {
			return "in mmap_region"
		}
		return ""
	}
	got := why.New(cfg).Explain(h.span("a", 0, 50), why.History{Events: h.events()})
	whole(t, got)
	f := func(i int, kind result.WhyKind, what string, off, waker stack.ID) {
		t.Helper()
		l := got.Parts[i].Path[0]
		if l.Kind != kind || l.What != what || l.Stack != off || l.WakerStack != waker {
			t.Errorf("part %d: got %v %q, stacks %d and %d, want %v %q, %d and %d",
				i, l.Kind, l.What, l.Stack, l.WakerStack, kind, what, off, waker)
		}
	}
	f(1, result.WhyThread, "mmap, woken by munmap", 5, 20)
	f(5, result.WhyLock, "in mmap_region", 26, 40)
}

// TestMissing says what is not observed where that leaves something open.
func TestMissing(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a sleep b
		50 0 b sleep a
		60 0 a run b
		70 0 b run a`)
	const noCalls, noWakes = "no permission for system calls", "this kernel has no sched_waking"
	cfg := h.config()
	cfg.Missing = []why.Missing{
		{Event: "raw_syscalls:sys_enter", Why: noCalls}, {Event: "sched:sched_waking", Why: noWakes},
	}
	got := why.New(cfg).Explain(h.span("a", 0, 60), why.History{Events: h.events()})
	whole(t, got)
	want := "0-50 a: unknown \"" + noWakes + "\"\n50-60 a: on a CPU \"" + noCalls + "\"\n"
	if partsText(got) != want {
		t.Errorf("got\n%swant\n%s", partsText(got), want)
	}
}

// TestNeedsAreKnown has an event in a history for each of Needs: all are read.
func TestNeedsAreKnown(t *testing.T) {
	for _, n := range why.Needs() {
		if _, ok := declared[n.Event]; !ok {
			t.Errorf("%s is in no history of these tests", n.Event)
		}
		if n.For == "" {
			t.Errorf("%s: for what?", n.Event)
		}
	}
}

// TestFactsAreAskedOnce has names, processes and cgroups asked for once for each thread.
func TestFactsAreAskedOnce(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a exit read
		5 0 a throttle 0xc0
		6 0 a run b
		8 0 b exit read
		10 0 b unthrottle 0xc0
		12 0 b wake a 0
		20 0 b run a
		25 0 a enter read`)
	tasks, cgroups := map[int32]int{}, map[int32]int{}
	x := why.New(why.Config{
		Task:   func(tid int32) (int32, string) { tasks[tid]++; return 0, "" },
		Cgroup: func(tid int32) why.Cgroup { cgroups[tid]++; return why.Cgroup{Path: "/lid"} },
	})
	got := x.Explain(why.Span{From: 0, To: 25000, TID: 11}, why.History{Events: h.events()})
	whole(t, got)
	if l := got.Parts[1].Path[0]; l.Kind != result.WhyQuota || l.What != "/lid" {
		t.Errorf("got %v, want the quota of /lid", l)
	}
	for _, n := range []int{tasks[11], tasks[20], cgroups[11], cgroups[20]} {
		if n > 1 {
			t.Errorf("asked: got %v and %v, want once for each thread", tasks, cgroups)
		}
	}
}

// TestQuotasThatAreNotSeen says that it is unknown what a thread waits for whose quota holds it now and then,
// also where another has the CPU.
func TestQuotasThatAreNotSeen(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a exit read
		5 0 a run b
		20 0 b run a
		25 0 a enter read`)
	f := func(limited, held bool, want result.WhyKind) {
		t.Helper()
		cfg := h.config()
		asked := 0
		cfg.Cgroup = func(int32) why.Cgroup { return why.Cgroup{Path: "/lid"} }
		cfg.Quota = func(cgroup string) (bool, bool) {
			asked++
			return limited && cgroup == "/lid", held
		}
		x := why.New(cfg)
		for range 2 {
			got := x.Explain(h.span("a", 0, 25), why.History{Events: h.events()})
			whole(t, got)
			if l := got.Parts[1].Path[0]; l.Kind != want {
				t.Errorf("limited %v, held %v: got %v %s, want %v", limited, held, l.Kind, l.What, want)
			}
		}
		if asked > 2 {
			t.Errorf("limited %v: asked %d times, want once for each span", limited, asked)
		}
	}
	f(true, true, result.WhyUnknown)
	f(true, false, result.WhyBehind)
	f(false, false, result.WhyBehind)
}

// TestAccountOfQuotas says by the kernel's account how long a quota holds a thread, and what that does
// not tell.
func TestAccountOfQuotas(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		0 0 a exit read
		5 0 a run b
		20 0 b run a
		25 0 a enter read`)
	const µs = 1000
	// Of the thread that leaves, a switch tells how long its queue was held and since when, the time of that
	// clock, how long the queue of the next thread was held, and whether the one that leaves is marked as
	// held.
	account := func(mark bool, out, in [5]int64) result.WhyLink {
		t.Helper()
		m := &accounts{of: map[event.Time][5]int64{}}
		cfg := h.config()
		cfg.Cgroup = func(int32) why.Cgroup { return why.Cgroup{Path: "/lid"} }
		cfg.Quota = func(string) (bool, bool) { return true, true }
		for i := range why.QuotaReads() {
			f := &event.Field{Place: event.InMember, Member: event.MemberRead + event.Member(i), Size: 8}
			if i == len(out)-1 && !mark {
				f = nil
			}
			cfg.QuotaFields = append(cfg.QuotaFields, f)
		}
		var events []*event.Event
		for e := range h.events() {
			if e.Stream.Schema.Name == "sched_switch" {
				told := *e.Stream
				told.Members = m
				c := *e
				c.Stream, e = &told, &c
				if m.of[e.Time] = in; len(m.of) == 1 {
					m.of[e.Time] = out
				}
			}
			events = append(events, e)
		}
		got := why.New(cfg).Explain(h.span("a", 0, 25), why.History{Events: slices.Values(events)})
		whole(t, got)
		return got.Parts[1].Path[0]
	}
	for _, c := range []struct {
		name    string
		mark    bool
		out, in [5]int64
		want    result.WhyKind
	}{
		{"held as it leaves", true, [5]int64{70, 900, 900, 0, 1}, [5]int64{0, 0, 0, 70 + 9*µs}, result.WhyQuota},
		{"another of its queue is held", true, [5]int64{70, 400, 900, 0, 0}, [5]int64{0, 0, 0, 570 + 9*µs},
			result.WhyBehind},
		{"its queue is held", false, [5]int64{70, 400, 900, 0}, [5]int64{0, 0, 0, 570 + 9*µs}, result.WhyQuota},
		{"its queue is held while it waits", false, [5]int64{70}, [5]int64{0, 0, 0, 70 + 9*µs}, result.WhyUnknown},
		{"no queue is held", false, [5]int64{70}, [5]int64{0, 0, 0, 70}, result.WhyBehind},
		{"its queue is another's", false, [5]int64{70, 400, 900}, [5]int64{0, 0, 0, 7}, result.WhyUnknown},
	} {
		l := account(c.mark, c.out, c.in)
		if l.Kind != c.want || l.Kind == result.WhyQuota && l.What != "/lid" {
			t.Errorf("%s: got %v %s, want %v", c.name, l.Kind, l.What, c.want)
		}
	}
}

// accounts are what switches tell of quotas, by their time.
type accounts struct{ of map[event.Time][5]int64 }

func (*accounts) Callchain(*event.Event) []uint64 { return nil }

func (m *accounts) Member(e *event.Event, f event.Member) (uint64, bool) {
	v, ok := m.of[e.Time]
	if !ok || f < event.MemberRead {
		return 0, false
	}
	return uint64(v[f-event.MemberRead]), true
}

// TestWhoseIsInTheWay checks that the cgroup of the thread in the way is told, if it is another.
func TestWhoseIsInTheWay(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20 c=10/12
		0 0 a exit read
		5 0 a run b
		10 0 b run c
		20 0 c run a
		25 0 a enter read`)
	f := func(of map[int32]why.Cgroup, want string) {
		t.Helper()
		cfg := h.config()
		cfg.Cgroup = func(tid int32) why.Cgroup { return of[tid] }
		got := why.New(cfg).Explain(h.span("a", 0, 25), why.History{Events: h.events()})
		whole(t, got)
		b, c := got.Parts[1].Path[0], got.Parts[2].Path[0]
		if b.Whom.TID != 20 || !b.Foreign || b.Cgroup != want {
			t.Errorf("got %+v, want one of %q", b, want)
		}
		if c.Whom.TID != 12 || c.Foreign || c.Cgroup != "" {
			t.Errorf("got %+v, want a thread of the own process", c)
		}
	}
	web := why.Cgroup{Path: "/docker/1", Name: "container 1"}
	cron := why.Cgroup{Path: "/system.slice/cron.service", Name: "unit cron.service"}
	f(map[int32]why.Cgroup{11: cron, 12: cron, 20: web}, "container 1")
	f(map[int32]why.Cgroup{11: cron, 12: cron, 20: cron}, "")
	f(map[int32]why.Cgroup{11: cron, 12: cron}, "")
	f(map[int32]why.Cgroup{20: web}, "container 1") // a has ended
	f(map[int32]why.Cgroup{20: {Path: "/", Name: "cgroup /"}}, "")
	inner := why.Cgroup{Path: cron.Path + "/inner", Name: cron.Name} // of one unit
	f(map[int32]why.Cgroup{11: cron, 20: inner}, "cgroup "+inner.Path)
}

// TestBeforeTheHistory says of a span that ended before the first event that it is too old,
// not that its thread did nothing.
func TestBeforeTheHistory(t *testing.T) {
	h := tell(`
		a=10/11 b=20/20
		50 0 b enter read`)
	got := why.New(h.config()).Explain(h.span("a", 0, 60), why.History{Events: h.events(), Since: 40000})
	whole(t, got)
	const want = `0-40 a: unknown "it began before the events that were kept"
40-60 a: unknown "no event of the thread was seen"
`
	if partsText(got) != want {
		t.Errorf("got\n%swant\n%s", partsText(got), want)
	}
}
