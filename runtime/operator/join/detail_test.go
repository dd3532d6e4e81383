package join

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

func (j *testJoin) wantDetails(details ...string) {
	j.t.Helper()
	if got, want := strings.Join(j.details, "\n"), strings.Join(details, "\n"); got != want {
		j.t.Errorf("details: got\n%s\nwant\n%s", got, want)
	}
}

// rename gives a stream a schema of its own, with two fields.
func (j *testJoin) rename(stream, system, name, first, second string) {
	s := testSchema(name)
	s.System = system
	s.Fields[0].Name, s.Fields[1].Name = first, second
	j.streams[stream].Schema = s
}

func TestSlowShowsWhatIsBetween(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 15, Lower: -1, Select: &Select{}})
	j.run("5 X 9; 10 A 1; 20 X 2; 21 A 2; 22 B 2; 30 B 1; 31 X 4")
	j.wantDetails("10-30 [ | X@20 A@21 B@22 | ]")
}

func TestSlowThanIsStrictAndLowerToo(t *testing.T) {
	j := newJoin(t, "A B")
	j.showSlow(Slow{Than: 20, Lower: 10})
	j.run("10 A 1; 30 B 1; 40 A 1; 61 B 1; 70 A 1; 80 B 1; 90 A 1; 99 B 1")
	j.wantDetails("40-61 [ | | ]", "90-99 [ | | ]")
}

func TestBeforeShowsAlsoOlderEvents(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 5, Lower: -1, Select: &Select{Before: 20}})
	j.run("1 X 1; 85 X 1; 95 X 1", "100 A 1; 105 X 1", "120 B 1")
	j.wantDetails("100-120 [ X@85 X@95 | X@105 | ]")
}

func TestAfterShowsExactlyThatMuch(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 5, Lower: -1, Select: &Select{After: 50}})
	j.run("100 A 1; 120 B 1; 130 X 1; 170 X 2")
	j.wantDetails() // 170 may not be the last of its time
	j.run("171 X 3")
	j.wantDetails("100-120 [ | | X@130 X@170 ]")
}

func TestAfterIsShownAtTheEnd(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 5, Lower: -1, Select: &Select{After: 50}})
	j.run("100 A 1; 120 B 1; 130 X 1")
	j.join.End(true, 0)
	j.wantDetails("100-120 [ | | X@130 ]")
}

func TestHideLeavesCloseEventsOut(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 5, Lower: -1, Select: &Select{HideNS: 10}})
	j.run("100 A 1; 103 X 1; 105 X 2; 108 X 3; 130 X 4; 131 X 5; 132 X 6; 133 B 1")
	// 103 to 108 are hidden but for the last, before the gap; 131 and 132
	// have no gap behind them.
	j.wantDetails("100-133 [ | 2hidden X@108 X@130 2hidden | ]")
}

func TestSameTestsSelect(t *testing.T) {
	events := "100 A 1 cpu=0 tid=11; 101 X 5 cpu=0 tid=20; 102 X 1 cpu=3 tid=21; 103 X 5 cpu=1 tid=22; 104 X 5 cpu=3 tid=11; 105 X 5 cpu=3 tid=12; 110 B 1 cpu=1 tid=12"
	for _, c := range []struct {
		sel  Select
		want string
	}{
		{Select{}, "X@101 X@102 X@103 X@104 X@105"},
		// From 104 on the task is seen on CPU 3.
		{Select{SameCPU: true}, "X@101 X@103 X@104 X@105"},
		{Select{SameTID: true}, "X@104 X@105"},
		{Select{SamePID: true}, "X@104 X@105"},
		{Select{SameTID: true, OnlyStart: true}, "X@104"},
		{Select{SameTID: true, OnlyEnd: true}, "X@105"},
		{Select{SameKey: true}, "X@102"},
		{Select{SameKey: true, SameTID: true}, "X@102 X@104 X@105"},
	} {
		j := newJoin(t, "A,-X B")
		j.showSlow(Slow{Than: 5, Lower: -1, Select: &c.sel})
		j.run(events)
		j.wantDetails("100-110 [ | " + c.want + " | ]")
	}
}

func TestSameTIDReadsFieldsThatHoldThreads(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.rename("X", "t", "x", "k", "pid")
	j.showSlow(Slow{Than: 5, Lower: -1, Select: &Select{SameTID: true}})
	j.run("100 A 1 tid=7; 101 X 0 v=7 tid=3; 102 X 0 v=8 tid=3; 103 X 0 v=0 tid=0; 110 B 1 tid=0")
	j.wantDetails("100-110 [ | X@101 | ]")
}

// schedJoin has the streams of the scheduler: W wakeup, S switch, M migrate.
// The numbers of a record are: W k=pid v=target_cpu; S k=prev_pid v=next_pid,
// and the state 0; M k=pid v=dest_cpu.
func schedJoin(t *testing.T) *testJoin {
	j := newJoin(t, "W,-M S")
	for name, f := range map[string][3]string{"W": {"sched_wakeup", "pid", "target_cpu"},
		"S": {"sched_switch", "prev_pid", "next_pid"}, "M": {"sched_migrate_task", "pid", "dest_cpu"}} {
		j.rename(name, "sched", f[0], f[1], f[2])
	}
	j.in("W").Key, j.in("S").Key, j.in("M").Key = j.compile("pid", "W"), j.compile("next_pid", "S"),
		j.compile("pid", "M")
	return j
}

func TestSameCPUFollowsTheTask(t *testing.T) {
	j := schedJoin(t)
	j.showSlow(Slow{Than: 50, Lower: -1, Select: &Select{SameCPU: true, KeyIsTask: true}})
	// 7 is woken to CPU 2 by a thread on CPU 0, waits behind 5, is moved to
	// CPU 3 and runs there behind 6.
	j.run(`100 W 7 v=2 cpu=0 tid=1; 105 W 8 v=0 cpu=0 tid=1; 110 S 4 v=5 cpu=2 tid=4; 130 S 5 v=4 cpu=2 tid=5;
		140 M 7 v=3 cpu=3 tid=9; 150 S 4 v=3 cpu=2 tid=4; 160 S 3 v=6 cpu=3 tid=3; 190 S 6 v=7 cpu=3 tid=6`)
	j.wantDetails("100-190 [ | S@110 S@130:ran20 M@140:migrate S@160 | ]")
}

func TestStatesOfTheTask(t *testing.T) {
	j := newJoin(t, "A,-S B")
	// The first number is the state and the next task at once.
	j.rename("S", "sched", "sched_switch", "prev_state", "prev_pid")
	s := j.streams["S"].Schema
	s.Fields = append(s.Fields, event.Field{Name: "next_pid", Type: "long", Size: 8, Signed: true})
	j.in("S").Key = j.compile("next_pid", "S")
	j.showSlow(Slow{Than: 5, Lower: -1, Select: &Select{}})
	j.run("100 A 1 tid=7; 101 S 1 v=7; 102 S 2 v=7; 103 S 0x100 v=7; 104 S 0 v=7; 105 S 7 v=3; 110 B 1 tid=7")
	j.wantDetails("100-110 [ | S@101:sleeping S@102:waiting S@103:preempt S@104:preempt S@105:running | ]")
}

func TestTimelineLetsOldEventsGo(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 1, Lower: -1, Select: &Select{}})
	for n := range 100 {
		var b strings.Builder
		base := n * 10000
		fmt.Fprintf(&b, "%d A 1;", base)
		for i := range 200 {
			fmt.Fprintf(&b, "%d X 1;", base+i+1)
		}
		fmt.Fprintf(&b, "%d B 1", base+300)
		j.run(b.String())
	}
	if n := j.spec.Timeline.Bytes(); n > 3*tlSize {
		t.Errorf("got %d bytes kept after all pairs ended, want at most %d", n, 3*tlSize)
	}
	if len(j.details) != 100 || j.join.Loss().Evicted != 0 {
		t.Errorf("got %d details and losses, want 100 and nothing evicted", len(j.details))
	}
}

func TestStartThatNeverEndsDoesNotHoldTheTimeline(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 1, Lower: -1, Select: &Select{}})
	j.spec.Timeline.LimitBytes = 4 * tlSize
	j.run("1 A 1")
	var b strings.Builder
	for n := range 20 {
		b.Reset()
		for i := range 500 {
			fmt.Fprintf(&b, "%d X 1;", 10+n*500+i)
		}
		j.run(b.String())
		if got := j.spec.Timeline.Bytes(); got > 4*tlSize {
			t.Fatalf("got %d bytes, want at most %d", got, 4*tlSize)
		}
	}
	if l := j.join.Loss(); l.Evicted < 5000 {
		t.Errorf("got %d evicted, want the events that were pushed out counted", l.Evicted)
	}
	j.run("20000 B 1")
	if len(j.details) != 1 || strings.Contains(j.details[0], "X@10 ") ||
		!strings.Contains(j.details[0], "X@10009") {
		t.Errorf("got %d details, want one with the newest events only", len(j.details))
	}
}

func TestOldTimelineGoesByAge(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 1, Lower: -1, Select: &Select{}})
	j.spec.Timeline.MaxAge = 1000
	j.run("1 A 1")
	var b strings.Builder
	for i := range 3 * tlEvents {
		fmt.Fprintf(&b, "%d X 1;", 10+i)
	}
	j.run(b.String())
	j.run("100000 X 1", "100001 X 1")
	if n := len(j.spec.Timeline.chunks); n != 1 {
		t.Errorf("got %d chunks, want only the newest", n)
	}
}

func TestUnfinishedStartIsShownWithItsAge(t *testing.T) {
	j := newJoin(t, "A,-X B")
	j.showSlow(Slow{Than: 20, Lower: -1, Select: &Select{}})
	slow := j.sink
	j.collectLeft(false)
	j.spec.To = sinkFunc(slow)
	j.run("10 A 1; 15 X 1; 40 A 2; LOST 50 60 0")
	j.wantDetails("10>=40 lost [ | X@15 A@40 | ]")
}

func TestKeptPairsAreBounded(t *testing.T) {
	s := NewSlow(Slow{Than: -1, Lower: -1, Select: &Select{After: 1000}, Timeline: &Timeline{}})
	a, b := &event.Event{Time: 1}, &event.Event{Time: 2}
	p := &event.Event{Time: 2, Derived: &event.Derived{Start: a, End: b}}
	for range keptPairs + 10 {
		s.Events([]*event.Event{p})
	}
	if s.Passed != 10 {
		t.Errorf("got %d passed, want 10", s.Passed)
	}
	if o, ok := s.oldest(); !ok || o != 1 {
		t.Errorf("got oldest %d %v, want 1", o, ok)
	}
}
