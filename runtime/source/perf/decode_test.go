package perf

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

const everyMember = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID |
	unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_STREAM_ID |
	unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_READ | unix.PERF_SAMPLE_CALLCHAIN |
	unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_BRANCH_STACK | unix.PERF_SAMPLE_REGS_USER |
	unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_WEIGHT | unix.PERF_SAMPLE_DATA_SRC |
	unix.PERF_SAMPLE_TRANSACTION | unix.PERF_SAMPLE_REGS_INTR |
	unix.PERF_SAMPLE_PHYS_ADDR | unix.PERF_SAMPLE_CGROUP

// randomFormat is any subset of the members.
func randomFormat(r *rand.Rand) Format {
	return Format{
		SampleType:  r.Uint64() & everyMember,
		ReadFormat:  r.Uint64() & 0x1f,
		BranchType:  r.Uint64() & unix.PERF_SAMPLE_BRANCH_HW_INDEX,
		RegsUser:    0x7,
		RegsIntr:    0x70,
		SampleIDAll: r.IntN(2) == 0,
	}
}

func TestSampleOfAnyFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		f := randomFormat(r)
		kthread := r.IntN(2) == 0
		rec := sampleRecord(f, kthread)
		l := NewLayout(f)
		e := event.Event{Raw: []byte("stale"), Derived: &event.Derived{}, Kind: event.Lost}
		if !l.Sample(rec, &e) {
			t.Fatalf("%#x: not decoded", f.SampleType)
		}
		checkSample(t, f, kthread, l, &e)
		if t.Failed() {
			t.Fatalf("format %+v kthread %v", f, kthread)
		}
	}
}

func checkSample(t *testing.T, f Format, kthread bool, l *Layout, e *event.Event) {
	t.Helper()
	want := event.Event{PID: -1, TID: -1, CPU: -1}
	has := func(bit uint64) bool { return f.SampleType&bit != 0 }
	if has(unix.PERF_SAMPLE_TIME) {
		want.Time = valTime
	}
	if has(unix.PERF_SAMPLE_TID) {
		want.PID, want.TID = valPID, valTID
	}
	if has(unix.PERF_SAMPLE_CPU) {
		want.CPU = valCPU
	}
	if has(unix.PERF_SAMPLE_RAW) {
		want.Raw = valRaw
	}
	if e.Time != want.Time || e.PID != want.PID || e.TID != want.TID || e.CPU != want.CPU ||
		!bytes.Equal(e.Raw, want.Raw) || e.Kind != event.Sample || e.Derived != nil {
		t.Errorf("got %+v, want %+v", *e, want)
	}
	for _, m := range []struct {
		member event.Member
		bit    uint64
		want   uint64
	}{
		{event.MemberIP, unix.PERF_SAMPLE_IP, valIP},
		{event.MemberAddr, unix.PERF_SAMPLE_ADDR, valAddr},
		{event.MemberPeriod, unix.PERF_SAMPLE_PERIOD, valPeriod},
		{event.MemberWeight, unix.PERF_SAMPLE_WEIGHT, valWeight},
		{event.MemberCgroup, unix.PERF_SAMPLE_CGROUP, valCgroup},
		{event.MemberTime, unix.PERF_SAMPLE_TIME, valTime},
		{event.MemberID, unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_ID, valID},
		{event.MemberComm, 0, 0},
	} {
		got, ok := l.Member(e, m.member)
		if ok != has(m.bit) || ok && got != m.want {
			t.Errorf("sample member %d: got %#x, %v; want %#x, %v", m.member, got, ok, m.want, has(m.bit))
		}
	}
	var chain, user, intr []uint64
	var stack []byte
	if has(unix.PERF_SAMPLE_CALLCHAIN) {
		chain = valChain
	}
	if has(unix.PERF_SAMPLE_REGS_USER) && !kthread {
		user = valRegs
	}
	if has(unix.PERF_SAMPLE_REGS_INTR) {
		intr = valRegs
	}
	if has(unix.PERF_SAMPLE_STACK_USER) && !kthread {
		stack = valStack[:8]
	}
	if got := l.Callchain(e); !slices.Equal(got, chain) {
		t.Errorf("callchain: got %x, want %x", got, chain)
	}
	if got := l.UserRegs(e); !slices.Equal(got, user) {
		t.Errorf("user registers: got %v, want %v", got, user)
	}
	if got := l.regs(e, unix.PERF_SAMPLE_REGS_INTR); !slices.Equal(got, intr) {
		t.Errorf("interrupted registers: got %v, want %v", got, intr)
	}
	if got := l.UserStack(e); !bytes.Equal(got, stack) {
		t.Errorf("stack: got %q, want %q", got, stack)
	}
}

func TestTruncatedSampleIsRefused(t *testing.T) {
	f := Format{SampleType: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
		unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW}
	l, rec := NewLayout(f), sampleRecord(f, false)
	var e event.Event
	for n := range rec {
		if l.Sample(rec[:n:n], &e) {
			t.Errorf("%d of %d bytes: decoded, want refused", n, len(rec))
		}
	}
	if !l.Sample(rec, &e) {
		t.Error("the whole record is refused")
	}
}

func TestDecoderFindsStreams(t *testing.T) {
	f := Format{
		SampleType:  unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW,
		SampleIDAll: true,
	}
	l := NewLayout(f)
	d := NewDecoder(l)
	id := func(i int) uint64 { return uint64(i+1)*7919 | uint64(i%3)<<40 }
	streams := make([]*event.Stream, 300)
	for i := range streams {
		streams[i] = &event.Stream{Index: i}
		d.Add(id(i), streams[i], l)
	}
	sample := func(id uint64) []byte {
		return newRecord(unix.PERF_RECORD_SAMPLE, 0).u64(id, valTime).u32(4).u32(0).record()
	}
	for i := range streams {
		var e event.Event
		if !d.Decode(sample(id(i)), &e) || e.Stream != streams[i] {
			t.Fatalf("stream %d: got %+v", i, e.Stream)
		}
	}
	var e event.Event
	if d.Decode(sample(0xbad), &e) {
		t.Error("sample of an unknown id: decoded, want refused")
	}
}

// A sample with an id of another process belongs to the one stream that can have
// it: a software event, whose samples all have the id of the first event.
func TestDecoderTakesStrays(t *testing.T) {
	l := NewLayout(Format{SampleType: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TIME, SampleIDAll: true})
	sample := newRecord(unix.PERF_RECORD_SAMPLE, 0).u64(0xbad, valTime).record()
	f := func(want int, names ...string) {
		t.Helper()
		d := NewDecoder(l)
		var streams []*event.Stream
		for i, name := range names {
			system, name, _ := strings.Cut(name, ":")
			streams = append(streams, &event.Stream{
				Index:  i,
				Schema: &event.Schema{System: system, Name: name},
			})
			for thread := range uint64(3) {
				d.Add(uint64(10*i)+thread, streams[i], l)
			}
		}
		var e event.Event
		switch ok := d.Decode(sample, &e); {
		case want < 0 && ok:
			t.Errorf("%v: got a sample of %s, want none", names, e.Stream.Schema.Name)
		case want >= 0 && (!ok || e.Stream != streams[want] || e.Time != valTime):
			t.Errorf("%v: got %+v, want a sample of %s", names, e, names[want])
		}
	}
	f(0, "software:page-faults")
	f(1, "sched:sched_switch", "software:page-faults", "software:cpu-clock")
	f(-1, "software:page-faults", "software:context-switches")
	f(-1, "sched:sched_switch", "software:cpu-clock")
}

func TestDecoderWithoutIDs(t *testing.T) {
	f := Format{SampleType: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW}
	l := NewLayout(f)
	d := NewDecoder(l)
	s := &event.Stream{}
	d.Add(0, s, l)
	var e event.Event
	if !d.Decode(sampleRecord(f, false), &e) || e.Stream != s || e.Time != valTime {
		t.Errorf("got %+v", e)
	}
	// A record without a time gets the time of its predecessor, since rings are
	// sorted.
	lost := newRecord(unix.PERF_RECORD_LOST, 0).u64(1, 5).record()
	if !d.Decode(lost, &e) || e.Kind != event.Lost || e.Time != valTime {
		t.Errorf("lost: got %+v", e)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	d, rec := tracepointDecoder()
	var e event.Event
	lost := newRecord(unix.PERF_RECORD_LOST, 0).u64(1, 5, valPID|valTID<<32, valTime, valCPU, 101).record()
	if n := testing.AllocsPerRun(100, func() {
		if !d.Decode(rec, &e) || !d.Decode(lost, &e) {
			t.Fatal("not decoded")
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// tracepointDecoder returns a decoder of two events in one ring, and one record.
func tracepointDecoder() (*Decoder, []byte) {
	f := Format{SampleType: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
		unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_RAW, SampleIDAll: true}
	l := NewLayout(f)
	d := NewDecoder(l)
	d.Add(101, &event.Stream{}, l)
	d.Add(valID, &event.Stream{}, l)
	return d, sampleRecord(f, false)
}

func BenchmarkDecode(b *testing.B) {
	b.Run("tracepoint/one-stream", func(b *testing.B) {
		d, rec := tracepointDecoder()
		e := new(event.Event)
		for b.Loop() {
			d.Decode(rec, e)
		}
		if e.Time != valTime || len(e.Raw) != len(valRaw) {
			b.Fatalf("got %+v", e)
		}
	})
	b.Run("tracepoint/alternating", func(b *testing.B) {
		d, rec := tracepointDecoder()
		other := bytes.Clone(rec)
		other[8] = 101
		e := new(event.Event)
		for b.Loop() {
			d.Decode(rec, e)
			d.Decode(other, e)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/event")
	})
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		ft := randomFormat(r)
		f.Add(ft.SampleType, ft.ReadFormat, ft.BranchType, ft.RegsUser, ft.SampleIDAll,
			sampleRecord(ft, false))
	}
	for _, c := range sideRecords {
		f.Add(uint64(sideFormat.SampleType), uint64(0), uint64(0), uint64(0), true, c.rec)
	}
	f.Fuzz(func(t *testing.T, sampleType, readFormat, branch, regs uint64, idAll bool, rec []byte) {
		l := NewLayout(Format{sampleType, readFormat, branch, regs, regs, idAll})
		d := NewDecoder(l)
		d.Add(valID, &event.Stream{Members: l}, l)
		var e event.Event
		if !d.Decode(rec, &e) {
			return
		}
		// All decoded data lie inside the record.
		if len(e.Raw) > len(rec) || len(e.Rec) != len(rec) {
			t.Errorf("raw %d, rec %d of %d bytes", len(e.Raw), len(e.Rec), len(rec))
		}
		if n := len(l.Callchain(&e)); n*8 > len(rec) {
			t.Errorf("callchain of %d in %d bytes", n, len(rec))
		}
		if n := len(l.UserStack(&e)); n > len(rec) {
			t.Errorf("stack of %d in %d bytes", n, len(rec))
		}
		l.UserRegs(&e)
		l.regs(&e, unix.PERF_SAMPLE_REGS_INTR)
		for member := event.MemberTime; member <= event.MemberCallchain; member++ {
			l.Member(&e, member)
		}
		decodeAll(&e)
	})
}
