package join

import (
	"testing"

	"ppscript/runtime/event"
)

func TestOnlyTheLastStartCounts(t *testing.T) {
	j := newJoin(t, "A B")
	j.run("10 A 1; 20 A 1; 30 B 1; 40 B 1")
	j.want("A=>B 20+10")
	if s := j.join.Stats(); s.Replaced != 1 || s.EndsAlone != 1 || s.Waiting != 0 {
		t.Errorf("got %+v, want 1 replaced, 1 end alone, none waiting", s)
	}
}

func TestStageThatIsNotNextCancels(t *testing.T) {
	j := newJoin(t, "A B C")
	j.run("10 A 1; 20 C 1; 30 B 1")
	j.want()
	if s := j.join.Stats(); s.Cancelled != 1 {
		t.Errorf("got %d cancelled, want 1", s.Cancelled)
	}
}

func TestEqualTimesMakeNoPair(t *testing.T) {
	j := newJoin(t, "A B")
	j.run("10 A 1; 10 B 1; 20 B 1")
	j.want()
	if s := j.join.Stats(); s.Cancelled != 1 || s.EndsAlone != 1 {
		t.Errorf("got %+v, want the start consumed and the second end alone", s)
	}
}

func TestKeysAreApart(t *testing.T) {
	j := newJoin(t, "A B")
	j.run("10 A 1; 20 B 2")
	j.want()
	if n := j.join.Stats().Waiting; n != 1 {
		t.Errorf("got %d waiting, want 1", n)
	}
}

func TestMiddleStageEndsAndStarts(t *testing.T) {
	j := newJoin(t, "A,B,C D,E F")
	j.run("10 A 1; 20 D 1; 30 F 1; 40 B 2; 50 E 2; 60 F 2; 70 C 3; 80 F 3")
	j.want("A=>D 10+10", "D=>F 20+10", "B=>E 40+10", "E=>F 50+10")
}

func TestLossBreaksWhatCrossesIt(t *testing.T) {
	j := newJoin(t, "A B")
	j.collectLeft(false)
	j.run("10 A 1; LOST 20 40 0; 50 B 1")
	j.want()
	j.wantLeft("A@10 lost age=10", "B@50 alone age=0")
}

func TestNothingStartsOrEndsInsideALoss(t *testing.T) {
	j := newJoin(t, "A B")
	j.run("LOST 20 40 0; 25 A 1 ring=1; 30 B 1 ring=1; 35 A 2 ring=1; 40 A 3; 45 B 2; 50 B 3")
	j.want("A=>B 40+10")
	if s := j.join.Stats(); s.InLoss != 3 {
		t.Errorf("got %d events inside the loss, want 3", s.InLoss)
	}
	if l := j.join.Loss(); l.Broken != 3 || l.Unmatched != 1 {
		t.Errorf("got %+v, want 3 broken and 1 unmatched", l)
	}
}

func TestLossOfARingLeavesTheOthersAlone(t *testing.T) {
	j := newJoin(t, "A B")
	j.spec.ByRing = true
	j.run("10 A 1 ring=0; 11 A 2 ring=1; LOST 20 40 0; 30 B 2 ring=1; 50 B 1 ring=0")
	j.want("A=>B 11+19")
}

func TestLossHidesASecondStart(t *testing.T) {
	// A ... [loss hides B and another A] ... B must not pair with the first.
	j := newJoin(t, "A B")
	j.run("10 A 1; LOST 15 60 0; 70 B 1; 80 A 1; 90 B 1")
	j.want("A=>B 80+10")
}

func TestRoleOneNeverConsumes(t *testing.T) {
	j := newJoin(t, "A B C")
	j.in("B").Role = j.compile("v", "B")
	j.run("10 A 1; 20 B 1 v=1; 30 B 1 v=2; 40 C 1; 50 A 1; 60 B 1 v=2; 70 C 1; 80 A 1; 90 B 1 v=3; 100 C 1")
	// At 20 B may only start: it takes A's place. At 60 it may only end.
	j.want("A=>B 50+10", "A=>B 80+10", "B=>C 90+10")
	if s := j.join.Stats(); s.Replaced != 1 {
		t.Errorf("got %d replaced, want 1", s.Replaced)
	}
}

func TestRoleOnlyTakesAway(t *testing.T) {
	j := newJoin(t, "A B")
	j.in("A").Role = j.compile("3", "A")
	j.in("B").Role = j.compile("v", "B")
	j.run("10 A 1; 20 B 1 v=1; 30 B 1 v=2")
	j.want("A=>B 10+20")
}

func TestCycleOfOneEvent(t *testing.T) {
	j := newJoin(t, "A")
	j.spec.Cycle = true
	j.run("10 A 1; 25 A 1; 45 A 1; 46 A 2")
	j.want("A=>A 10+15", "A=>A 25+20")
	if s := j.join.Stats(); s.Waiting != 2 || s.EndsAlone != 0 {
		t.Errorf("got %+v, want 2 waiting and no end alone", s)
	}
}

func TestCycleOfOneEventWithRoles(t *testing.T) {
	// The guide's example: the task that runs on a CPU, idle left out. k is the CPU, v has the
	// tasks: 1 next is not idle, 2 previous is not idle.
	j := newJoin(t, "A")
	j.spec.Cycle = true
	j.in("A").Role = j.compile("v", "A")
	j.run("10 A 0 v=3; 24 A 0 v=3; 90 A 0 v=2; 500 A 0 v=1; 520 A 0 v=2")
	j.want("A=>A 10+14", "A=>A 24+66", "A=>A 500+20")
}

func TestCycleOfStages(t *testing.T) {
	j := newJoin(t, "A B")
	j.spec.Cycle = true
	j.pairOf("B", "A")
	j.run("10 A 1; 20 B 1; 35 A 1; 50 B 1")
	j.want("A=>B 10+10", "B=>A 20+15", "A=>B 35+15")
}

func TestUntracedStartsAndEndsNothing(t *testing.T) {
	j := newJoin(t, "A,-X B,-Y")
	j.run("10 A 1; 20 X 1; 30 Y 1; 40 B 1")
	j.want("A=>B 10+30")
}

func TestOutOfOrderStartIsDropped(t *testing.T) {
	j := newJoin(t, "A B")
	j.run("20 A 1; 15 A 1; 30 B 1")
	j.want("A=>B 20+10")
	if s := j.join.Stats(); s.Cancelled != 1 {
		t.Errorf("got %d cancelled, want 1", s.Cancelled)
	}
}

func wakeups(j *testJoin) {
	// A is a wakeup of v, B a switch to v.
	v, _ := j.streams["A"].Schema.Field("v")
	k, _ := j.streams["A"].Schema.Field("k")
	j.in("A").Wakeup = &Wakeup{PID: v, CPU: k}
	j.in("A").Key = j.compile("v", "A")
	j.in("B").Key = j.compile("v", "B")
	j.in("B").NextPID, _ = j.streams["B"].Schema.Field("v")
}

func TestSelfWakeupDoesNotWait(t *testing.T) {
	j := newJoin(t, "A B")
	wakeups(j)
	j.run("10 A 0 v=7 tid=7; 20 B 0 v=7")
	j.want()
	if s := j.join.Stats(); s.Unnecessary != 1 || s.WaitingPeak != 0 {
		t.Errorf("got %+v, want 1 unnecessary and nothing that waits", s)
	}
}

func TestWakeupOfWhoRunsDoesNotWait(t *testing.T) {
	j := newJoin(t, "A B")
	wakeups(j)
	// 7 is switched in on CPU 2; on another CPU or later the wakeup counts.
	j.run(
		"10 B 0 v=7 cpu=2; 20 A 2 v=7 tid=9; 30 A 1 v=7 tid=9; 40 B 0 v=7 cpu=1; 50 B 0 v=8 cpu=2; 60 A 2 v=9 tid=3; 70 B 0 v=9 cpu=2")
	j.want("A=>B 30+10", "A=>B 60+10")
	if s := j.join.Stats(); s.Unnecessary != 1 {
		t.Errorf("got %d unnecessary, want 1", s.Unnecessary)
	}
}

func TestUnpairedSayWhy(t *testing.T) {
	j := newJoin(t, "A B C")
	j.collectLeft(true)
	j.spec.Limit = 2
	j.run("10 A 1; 20 A 1; 30 C 1; 40 B 9; 50 A 2; 60 A 3; 70 C 8")
	// B 9, an end that came alone, waits for C all the same: it is the oldest.
	j.wantLeft("A@10 replaced age=10", "A@20 cancelled age=10", "B@40 alone age=0", "B@40 evicted age=10",
		"C@70 alone age=0")
	j.unpaired = nil
	j.join.End(false, 0)
	j.wantLeft("A@50 waiting age=20", "A@60 waiting age=10")
	j.unpaired = nil
	j.join.End(true, 0)
	j.wantLeft("A@50 exit age=20", "A@60 exit age=10")
	// Nothing may have happened for long.
	j.unpaired = nil
	j.join.End(true, 1060)
	j.wantLeft("A@50 exit age=1010", "A@60 exit age=1000")
}

func TestKeysThatNeverComeAgainDoNotGrow(t *testing.T) {
	j := newJoin(t, "A B")
	j.spec.Limit = 1000
	j.join = New(j.spec, sinkFunc(func([]*event.Event) {}))
	var evs []*event.Event
	for i := range 200 {
		e := *j.event([]string{"0", "A", "0"})
		e.Time = event.Time(i)
		evs = append(evs, &e)
	}
	for n := range 1000 {
		for i, e := range evs {
			e.Time = event.Time(n*200 + i)
			e.Raw[0], e.Raw[1], e.Raw[2] = byte(n*200+i), byte((n*200+i)>>8), byte((n*200+i)>>16)
			e.Raw[15] = 0
		}
		j.join.Events(evs)
	}
	s := j.join.Stats()
	if s.Waiting != 1000 || s.Evicted != 200000-1000 {
		t.Errorf("got %d waiting and %d evicted, want 1000 and 199000", s.Waiting, s.Evicted)
	}
	if rows := len(j.join.rows.at); rows > 8*sweepAt {
		t.Errorf("got %d rows, want a table that does not grow", rows)
	}
}

func TestBytesOfWhatWaitsAreBounded(t *testing.T) {
	j := newJoin(t, "A B")
	j.spec.LimitBytes = 3 * (structBytes + wholeBytes + 16)
	j.run("10 A 1; 20 A 2; 30 A 3; 40 A 4; 50 B 1; 60 B 4")
	j.want("A=>B 40+20")
	if s := j.join.Stats(); s.Evicted != 1 || s.Bytes != 2*(structBytes+wholeBytes+16) {
		t.Errorf("got %+v, want 1 evicted and two records of bytes", s)
	}
}

func TestBytesOfPartsOfRecordsAreBounded(t *testing.T) {
	j := newJoin(t, "A B")
	j.spec.KeepRaw = 8
	j.spec.LimitBytes = 3 * (structBytes + 8)
	j.run("10 A 1; 20 A 2; 30 A 3; 40 A 4; 50 B 1; 60 B 4")
	j.want("A=>B 40+20")
	if s := j.join.Stats(); s.Evicted != 1 || s.Bytes != 2*(structBytes+8) {
		t.Errorf("got %+v, want 1 evicted and two parts of records", s)
	}
}

func TestKeyOfPair(t *testing.T) {
	j := newJoin(t, "A B")
	j.spec.NeedKey = true
	var got []int64
	j.sink = func(evs []*event.Event) {
		for _, e := range evs {
			got = append(got, e.Derived.Slots[0].Int())
		}
	}
	j.run("10 A 77; 20 B 77; 30 A -5; 40 B -5")
	if len(got) != 2 || got[0] != 77 || got[1] != -5 {
		t.Errorf("got keys %v, want 77 and -5", got)
	}
}

func TestStartKeepsWhatIsRead(t *testing.T) {
	for _, raw := range []int{-1, 8, 100} {
		j := newJoin(t, "A B")
		j.spec.KeepRaw = raw
		k, _ := j.streams["A"].Schema.Field("k")
		var got int64
		j.sink = func(evs []*event.Event) { got, _ = k.Int(evs[0].Derived.Start) }
		j.run("10 A 3", "20 B 3")
		if got != 3 {
			t.Errorf("KeepRaw %d: got %d, want the start's key 3", raw, got)
		}
	}
}
