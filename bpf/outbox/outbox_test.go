package outbox_test

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

const (
	stream = 5
	size   = sent.HeadSize + 16 // of a record: two numbers behind its head
	inRing = size + 8           // with the head that the kernel gives it
)

// A sender is a program that sends its input, and the buffer to which all CPUs send.
type sender struct {
	t      *testing.T
	p      *bpftest.Program
	buffer *ebpf.Map
	reader *ringbuf.Reader
	cpus   uint32
}

// newSender makes a sender whose reader is woken when so many bytes wait. Without buffers no CPU has one.
func newSender(t *testing.T, wake uint64, buffers bool) *sender {
	t.Helper()
	testkit.Requires(t, testkit.Programs, testkit.Sysfs)
	onOneCPU(t)
	s := &sender{t: t, cpus: uint32(ebpf.MustPossibleCPU())}
	b := bpftest.Builder{In: 16, Out: 8}
	outbox.Maps(func(id load.MapID, m *ebpf.MapSpec) {
		m.MaxEntries = s.cpus
		b.Define(id, m)
	})
	b.Define(load.StatsMap.Of(0), &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
		ValueSize: uint32(8 * load.Stats(0, 0)), MaxEntries: 1})
	s.p = b.OnStack(t, func(c *assembler.Code, in, _ int16, fail assembler.Label) {
		schema := &event.Schema{System: "test", Name: "event", Size: 96}
		h := hook.New(c, &features.Host{}, &hook.Event{Schema: schema}, 0, &load.Target{})
		m := hook.NewMembers(h)
		m.Foresee(expr.NewField(&event.Field{Name: "_pid", Place: event.InMember, Member: event.MemberPID},
			expr.Self))
		m.Check(&load.Target{}, nil, fail)
		at := c.Alloc(size)
		for i := int16(0); i < 16; i += 8 {
			c.Load(asm.R0, in+i)
			c.Store(at+sent.HeadSize+i, asm.R0)
		}
		box := outbox.Outbox{Code: c, Hook: h, Members: m}
		box.Send(&outbox.Record{At: at, Size: size, Stream: stream})
	})
	var err error
	s.buffer, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.buffer.Close() })
	if s.reader, err = ringbuf.NewReader(s.buffer); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.reader.Close() })
	state := make([]byte, load.SendSize)
	binary.NativeEndian.PutUint64(state[load.SendWake:], wake)
	for cpu := range s.cpus {
		err := s.p.Map(load.SendMap.Of()).Put(cpu, state)
		if err == nil && buffers {
			err = s.p.Map(load.BuffersMap.Of()).Put(cpu, s.buffer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// onOneCPU keeps the test on a CPU: each tells of its own losses.
func onOneCPU(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !before.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

func (s *sender) send(number uint64) {
	s.t.Helper()
	if _, ok := s.p.Words(number, ^number); !ok {
		s.t.Fatal("the program failed")
	}
}

// next is the next record; nil if there is none.
func (s *sender) next() []byte {
	s.t.Helper()
	s.reader.SetDeadline(time.Now()) // it reads what is there
	r, err := s.reader.Read()
	if err != nil {
		return nil
	}
	return r.RawSample
}

func word(b []byte, at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }

// state adds a number up over the CPUs.
func (s *sender) state(at int) (sum uint64) {
	s.t.Helper()
	for cpu := range s.cpus {
		b, err := s.p.Map(load.SendMap.Of()).LookupBytes(cpu)
		if err != nil {
			s.t.Fatal(err)
		}
		sum += word(b, at)
	}
	return sum
}

// TestRecords checks that records come in their order, each with its time, its task and its stream.
func TestRecords(t *testing.T) {
	s := newSender(t, 1<<20, true)
	last := uint64(0)
	for i := range uint64(10) {
		s.send(i)
	}
	for i := range uint64(10) {
		b := s.next()
		if len(b) < size {
			t.Fatalf("record %d: got %d bytes, want %d", i, len(b), size)
		}
		if got := word(b, sent.HeadStream); got != stream {
			t.Errorf("record %d: got stream %d, want %d", i, got, stream)
		}
		if word(b, sent.HeadTime) <= last || word(b, sent.HeadTask) == 0 {
			t.Errorf("record %d: got time %d behind %d, task %#x", i, word(b, sent.HeadTime), last,
				word(b, sent.HeadTask))
		}
		last = word(b, sent.HeadTime)
		if x, y := word(b, sent.HeadSize), word(b, sent.HeadSize+8); x != i || y != ^i {
			t.Errorf("record %d: got %d, %#x", i, x, y)
		}
	}
	if b := s.next(); b != nil {
		t.Errorf("got one more, %x", b)
	}
}

// The reader is woken when as many bytes wait as the mark says, once, and not for each record.
func TestWakeups(t *testing.T) {
	const before = 4
	s := newSender(t, inRing*before, true)
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	add := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(s.buffer.FD())}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, s.buffer.FD(), &add); err != nil {
		t.Fatal(err)
	}
	// The kernel wakes from an interrupt, which may come later.
	woken := func(within time.Duration) bool {
		for {
			n, err := unix.EpollWait(epoll, make([]unix.EpollEvent, 1), int(within.Milliseconds()))
			if err == nil {
				return n > 0
			} else if !errors.Is(err, unix.EINTR) {
				t.Fatal(err)
			}
		}
	}
	woken(0) // it can be read from the beginning
	for round := range 2 {
		for i := range uint64(2 * before) {
			s.send(i)
			want, within := i == before-1, time.Duration(0)
			if want {
				within = 20 * time.Second
			}
			if got := woken(within); got != want {
				t.Errorf("round %d, record %d: got woken %t, want %t", round, i, got, want)
			}
		}
		for s.next() != nil {
		}
		woken(0)
	}
}

// TestRecordsThatDoNotFit checks that records that do not fit are counted, and told of in front of
// the next one that does, once.
func TestRecordsThatDoNotFit(t *testing.T) {
	s := newSender(t, 1<<20, true)
	fit := uint64(os.Getpagesize() / inRing)
	const over = 7
	for i := range fit + over {
		s.send(i)
	}
	// The kernel leaves one byte of a buffer free.
	failed := s.state(load.SendFailed)
	if failed != over && failed != over+1 || s.state(load.SendTold) != 0 {
		t.Fatalf("got %d that did not fit, %d told, want %d and 0", failed, s.state(load.SendTold), over)
	}
	read := uint64(0)
	for s.next() != nil {
		read++
	}
	if read+failed != fit+over {
		t.Errorf("got %d records and %d that did not fit, want %d together", read, failed, fit+over)
	}
	s.send(1)
	s.send(2)
	loss := s.next()
	if len(loss) < sent.LossSize || int64(word(loss, sent.HeadStream)) != sent.LossStream ||
		word(loss, sent.HeadSize) != failed || word(loss, sent.HeadTime) == 0 {
		t.Errorf("got %x, want a record of %d lost", loss, failed)
	}
	for i := range uint64(2) {
		b := s.next()
		if len(b) < size || word(b, sent.HeadStream) != stream || word(b, sent.HeadSize) != i+1 {
			t.Errorf("got %x, want record %d", b, i+1)
		}
	}
	if told := s.state(load.SendTold); told != failed {
		t.Errorf("got %d told, want %d", told, failed)
	}
}

// A CPU without a buffer, which came later, loses its records, and they are counted.
func TestCPUWithoutBuffer(t *testing.T) {
	s := newSender(t, 0, false)
	const records = 3
	for i := range uint64(records) {
		s.send(i)
	}
	if b := s.next(); b != nil {
		t.Errorf("got %x, want nothing", b)
	}
	byCPU, err := s.p.Map(load.StatsMap.Of(0)).LookupBytes(uint32(0))
	if err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	for ; len(byCPU) > 0; byCPU = byCPU[8*load.Stats(0, 0):] {
		lost += word(byCPU, 8*load.StatLost)
	}
	if lost != records {
		t.Errorf("got %d lost, want %d", lost, records)
	}
}
