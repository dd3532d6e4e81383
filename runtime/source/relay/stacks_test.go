package relay

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
	"ppscript/tests/testkit"
)

// stackOf is the stack of a received sample as text, "" if it has none.
func stackOf(f event.Source, e *event.Event) string {
	src, ok := f.(*Source)
	if !ok {
		return ""
	}
	ids, ok := e.Stream.Members.(interface{ StreamID(e *event.Event) uint64 })
	if !ok || ids.StreamID(e) == 0 {
		return ""
	}
	return " in " + textOf(src.Stacks.Find(ids.StreamID(e)))
}

func textOf(s *Stack) string {
	if s == nil {
		return "unknown"
	}
	var b strings.Builder
	for _, p := range s.Places {
		fmt.Fprintf(&b, "%d:%x", p.In, p.Addr)
		for _, f := range p.Functions {
			fmt.Fprintf(&b, " %+v", f)
		}
		b.WriteString(";")
	}
	fmt.Fprintf(&b, "cut %v unwound %v", s.Cut, s.Unwound)
	return b.String()
}

// callers is stack n of many, with all kinds of frames.
func callers(n int) *Stack {
	return &Stack{Cut: n%5 == 0, Unwound: n%3 == 0, Places: []*Place{
		{In: InKernel, Addr: 0xffffffff81000000 + uint64(n%7), Functions: []Function{{Name: "sys_tick", Offset: uint64(n % 7), File: "[kernel.kallsyms]", Kernel: true}}},
		{In: InUser, Addr: uint64(0x400000 + n), Functions: []Function{
			{Name: "inner", Offset: 1, File: "/bin/x", Source: "x.c", Line: n%90 + 1, Inline: true},
			{Name: fmt.Sprintf("outer%d", n), Offset: uint64(n), File: "/bin/x", BuildID: "abcdef", Source: "x.c", Line: 7}}},
		{In: InUser, Addr: uint64(0x7f0000000000 + n), Functions: []Function{{Offset: uint64(n), File: "/lib/stripped.so", BuildID: "0123"}}},
		{Addr: 5, Functions: []Function{{File: "[guest kernel]"}}},
	}}
}

func stackStreams() []perfdata.StreamInfo {
	s := Describe(1, &event.Schema{System: "test", Name: "tick", ID: 77}, "test:tick", true)
	s.System, s.Format = "test", format
	plain := Describe(2, &event.Schema{System: "test", Name: "tock", ID: 78}, "test:tock", false)
	plain.System, plain.Format = "test", strings.NewReplacer("tick", "tock", "77", "78").Replace(format)
	return []perfdata.StreamInfo{s, plain}
}

func stackSender(t *testing.T, to string, opt Options) (*Sender, *messageLog) {
	t.Helper()
	log := &messageLog{}
	opt.Say = log.add
	s, err := NewSender(t.Context(), to, stackStreams(), perfdata.WriteOptions{Version: "test"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// sendStacks sends events of which every fourth has no stack, and every fifth
// is one without.
func sendStacks(s *Sender, from, to int) {
	for n := from; n < to; n++ {
		id, number := uint64(1), uint64(0)
		switch {
		case n%5 == 4:
			id = 2
		case n%4 != 3:
			number = s.Stack(callers(n))
		}
		s.Send(id, tick(n), 1, fmt.Sprintf("name%d", n%2), number)
	}
}

func wantStacks(from, to int) (texts []string) {
	for n := from; n < to; n++ {
		name, in := "tick", ""
		switch {
		case n%5 == 4:
			name = "tock"
		case n%4 != 3:
			in = " in " + textOf(callers(n))
		}
		texts = append(texts, fmt.Sprintf("test:%s@%d n=%d pid 7 tid %d cpu %d x1 name%d%s", name, 1000*n,
			n, 7+n%2, n%3, n%2, in))
	}
	return texts
}

func recordedStacks(t *testing.T, bytes, events int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events")
	s, _ := stackSender(t, path, Options{Bytes: bytes})
	for n := 1; n < events; n += 1000 {
		sendStacks(s, n, min(n+1000, events))
		if err := s.Round(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Of a file that is read later, with more stacks than an epoch may have, each
// sample has its own.
func TestStacksOfManyEpochs(t *testing.T) {
	const events = 20_000
	src, err := Receive(t.Context(), recordedStacks(t, 1, events), How{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	check(t, src, wantStacks(1, events))
	last := src.Stacks.epochs[len(src.Stacks.epochs)-1]
	if last.number < 5 || len(src.Stacks.epochs) > 2 {
		t.Errorf("got %d epochs, %d are kept; want many, and two", last.number, len(src.Stacks.epochs))
	}
	sum := 0
	for _, e := range src.Stacks.epochs {
		sum += e.size
	}
	if sum != src.Stacks.size || sum == 0 {
		t.Errorf("got %d bytes kept, want %d", src.Stacks.size, sum)
	}
}

// A receiver that connects later gets the earlier definitions.
func TestLateReceiverKnowsOlderStacks(t *testing.T) {
	s, log := stackSender(t, "0", Options{})
	at := log.at(t)
	receive := func(nth int) *Source {
		src, err := Receive(t.Context(), at, How{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { src.Close() })
		log.await(t, " connected", nth)
		return src
	}
	first := receive(1)
	sendStacks(s, 1, 50)
	if err := s.Round(50_500); err != nil {
		t.Fatal(err)
	}
	defined := len(s.defs.log)
	second := receive(2)
	var again []string
	for n := 1; n < 50; n++ { // all stacks are old
		if n%5 != 4 && n%4 != 3 {
			e := tick(n)
			e.Time += 100_000
			s.Send(1, e, 1, fmt.Sprintf("name%d", n%2), s.Stack(callers(n)))
			line := wantStacks(n, n+1)[0]
			again = append(again, strings.Replace(line, fmt.Sprintf("@%d ", 1000*n),
				fmt.Sprintf("@%d ", e.Time), 1))
		}
	}
	if err := errors.Join(s.Round(200_000), s.Close()); err != nil {
		t.Fatal(err)
	}
	if len(s.defs.log) != defined {
		t.Errorf("got %d bytes of definitions, want the %d of before: all stacks were known",
			len(s.defs.log), defined)
	}
	check(t, first, append(wantStacks(1, 50), again...))
	check(t, second, again)
}

// A receiver that was too slow for some events gets the names of threads and
// functions for all others.
func TestSlowReceiverKnowsAllNames(t *testing.T) {
	s, log := stackSender(t, "0", Options{Bytes: 64 << 10})
	src, err := Receive(t.Context(), log.at(t), How{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	log.await(t, " connected", 1)
	n := 1
	for ; s.Dropped() < 10_000; n += 100 { // until the kernel's buffers are full too
		sendStacks(s, n, n+100)
		if err := s.Round(0); err != nil {
			t.Fatal(err)
		}
	}
	last := n
	done := make(chan error, 1)
	go func() {
		// The names of threads that it missed are sent again.
		for dropped := s.Dropped(); ; dropped = s.Dropped() {
			sendStacks(s, n, n+100)
			n += 100
			if err := s.Round(0); err != nil || s.Dropped() == dropped {
				done <- errors.Join(err, s.Close())
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	got, lost := received(t, src)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if lost != s.Dropped() || len(got)+int(lost) != n-1 || len(got) < 200 {
		t.Errorf("got %d events and %d lost, want %d with %d lost", len(got), lost, n-1, s.Dropped())
	}
	all := wantStacks(1, n)
	at := 0
	for _, line := range got {
		for at < len(all) && all[at] != line {
			at++
		}
		if at == len(all) {
			t.Fatalf("got %s, which was not sent like that", line)
		}
	}
	if at < last {
		t.Errorf("got nothing after the loss: the last is event %d of %d", at, last)
	}
}

// TestStacksThroughADevice checks that each reader that opens a device gets all definitions: a
// device has one reader at a time.
func TestStacksThroughADevice(t *testing.T) {
	master, slave := pseudoTerminal(t)
	s, log := stackSender(t, slave, Options{})
	log.await(t, "is connected", 1)
	sendStacks(s, 1, 300)
	var got bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = got.ReadFrom(master) // ends when the other side closes
	}()
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	<-read
	src, err := open(perfdata.Options{Ordered: true}, func(opt perfdata.Options) (*perfdata.File, error) {
		return perfdata.OpenReader(t.Context(), &got, "device", opt)
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, src, wantStacks(1, 300))
}

// A receiver without support for stacks gets the events without them. So does a receiver with
// support for another version, which can report that.
func TestOtherVersionsHaveTheEvents(t *testing.T) {
	path := recordedStacks(t, 0, 500)
	var plain []string
	for _, line := range wantStacks(1, 500) {
		line, _, _ = strings.Cut(line, " in ")
		plain = append(plain, line)
	}
	old, err := perfdata.Open(path, perfdata.Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	check(t, old, plain)

	updates := 0
	src, err := open(perfdata.Options{Ordered: true}, func(opt perfdata.Options) (*perfdata.File, error) {
		next := opt.Update
		opt.Update = func(kind, id uint64, body []byte) error {
			updates++
			return next(kind+1<<kindVersion, id, append([]byte{99}, body...))
		}
		return perfdata.Open(path, opt)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got, lost := received(t, src)
	if src.Stacks.Newer() != stackVersion+1 || updates < 2 || lost != 0 || len(got) != len(plain) ||
		src.Stacks.Carries([]uint64{1}) {
		t.Errorf("got version %d of %d records, %d events, want %d, and %d events", src.Stacks.Newer(),
			updates, len(got), stackVersion+1, len(plain))
	}

	testkit.Requires(t, testkit.Perf)
	out := testkit.Run(t, "perf", "script", "-i", path, "-F", "time,event").Want(t, 0)
	if n := strings.Count(out.Stdout, "test:"); n != len(plain) {
		t.Errorf("perf script shows %d events, want %d\n%s%s", n, len(plain),
			out.Stdout[:min(len(out.Stdout), 300)], out.Stderr)
	}
}

// The bytes of definitions: other machines have other versions.
func TestDefinitionsOnTheWire(t *testing.T) {
	d := newDefinitions(3, 0)
	s := &Stack{
		Cut: true,
		Places: []*Place{
			{In: InUser, Addr: 0x1234, Functions: []Function{{Name: "f", Offset: 0x34, File: "/x", Line: 9, Inline: true}}},
		},
	}
	if n := d.stack(s); n != 1<<32|1 || d.stack(s) != n {
		t.Errorf("got number %x, want that of the first stack of the first epoch", n)
	}
	want := "\x4e\x00\x00\x00\x00\x00\x38\x00" + // EVENT_UPDATE, 56 bytes
		"ppstack\x01" + "\x03\x00\x00\x00\x00\x00\x00\x00" + // version 1, event 3
		"\x04\x01" + // epoch 1
		"\x01\x01f" + "\x01\x02/x" + // texts 1 and 2
		"\x02\x02\xb4\x24\x01" + "\x01\x34\x02\x00\x00\x09\x01" + // place 1: user, 0x1234, one function
		"\x03\x01\x01\x01" + // stack 1: cut, one place
		"\x00\x00\x00\x00\x00\x00\x00" // to 8 bytes
	if got := string(d.records()); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if again := string(d.records()); again != want {
		t.Errorf("got %q the second time", again)
	}
}

// A stack that is too large is cut at its inner or outer end, and stays decodable.
func TestLargeStacksAreCut(t *testing.T) {
	d := newDefinitions(1, 0)
	long := &Stack{}
	for n := range maxPlaces + 100 {
		long.Places = append(long.Places, &Place{
			In:        InUser,
			Addr:      uint64(n),
			Functions: []Function{{Name: fmt.Sprint("f", n)}},
		})
	}
	deep := &Stack{Places: []*Place{{Addr: 1}}}
	for n := range maxFrames + 5 {
		deep.Places[0].Functions = append(deep.Places[0].Functions,
			Function{Name: strings.Repeat("x", maxText+n)})
	}
	a, b := d.stack(long), d.stack(deep)
	src := NewStacks(0)
	learn(t, src, d.records())
	if s := src.Find(a); s == nil || len(s.Places) != maxPlaces || !s.Cut ||
		s.Places[maxPlaces-1].Functions[0].Name != fmt.Sprint("f", maxPlaces-1) {
		t.Errorf("got %d places", len(s.Places))
	}
	if s := src.Find(b); s == nil || len(s.Places[0].Functions) != maxFrames ||
		s.Places[0].Functions[0].Name != strings.Repeat("x", maxText) {
		t.Error("got other functions at the deep place")
	}
}

// TestStacksCostNothingWhereThereAreNone checks that events with stacks need 8 bytes more each,
// and events without stacks none.
func TestStacksCostNothingWhereThereAreNone(t *testing.T) {
	size := func(infos []perfdata.StreamInfo, id, stack uint64) int {
		f := formOf(infos)
		b, _ := f.appendSample(nil, id, tick(1), 1, stack)
		return len(b)
	}
	none, mixed, with := size(streams(), 1, 0), size(stackStreams(), 2, 0), size(stackStreams(), 1, 5)
	if mixed != none || with != none+8 {
		t.Errorf("got samples of %d, %d and %d bytes, want the second as the first, the third 8 more", none, mixed, with)
	}
	s := &Sender{
		out:   &stream{w: nowhere{}},
		comms: map[int32]string{},
		form:  formOf(stackStreams()),
		defs:  newDefinitions(1, 0),
	}
	s.batch = make([]byte, 0, maxBatch+1024)
	number, e := s.Stack(callers(1)), tick(1)
	if n := testing.AllocsPerRun(20000, func() { s.Send(1, e, 1, "name", number) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// One receiver of two senders keeps their stacks apart.
func TestStacksOfTwoSenders(t *testing.T) {
	var sources []*Source
	for i := range 2 {
		s, log := stackSender(t, "0", Options{})
		src, err := Receive(t.Context(), log.at(t), How{})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		log.await(t, " connected", 1)
		sendStacks(s, 1+i*60, 100+i*60)
		if err := errors.Join(s.Round(0), s.Close()); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	for i, src := range sources {
		if got, _ := received(t, src); !slices.Equal(got, wantStacks(1+i*60, 100+i*60)) {
			t.Errorf("sender %d: got %.300q", i, got)
		}
	}
}
