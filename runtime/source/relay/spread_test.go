package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
	"ppscript/tests/testkit"
)

const format = `name: tick
ID: 77
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int n;	offset:8;	size:4;	signed:1;

print fmt: "n=%d", REC->n
`

func streams() []perfdata.StreamInfo {
	s := Describe(1, &event.Schema{System: "test", Name: "tick", ID: 77}, "test:tick", false)
	s.System, s.Format = "test", format
	return []perfdata.StreamInfo{s}
}

func tick(n int) *event.Event {
	raw := make([]byte, 12)
	le.PutUint16(raw, 77)
	le.PutUint32(raw[8:], uint32(n))
	return &event.Event{Time: event.Time(1000 * n), PID: 7, TID: int32(7 + n%2), CPU: int32(n % 3), Raw: raw}
}

// messageLog collects the messages of a sender.
type messageLog struct {
	mu    sync.Mutex
	lines []string
}

func (s *messageLog) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// await waits until a line has a word, and returns the line.
func (s *messageLog) await(t testing.TB, word string, nth int) string {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience(time.Minute)); time.Now().
		Before(deadline); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := 0
		for _, l := range s.lines {
			if strings.Contains(l, word) {
				if n++; n == nth {
					s.mu.Unlock()
					return l
				}
			}
		}
		s.mu.Unlock()
	}
	t.Fatalf("nobody said %q: %q", word, s.lines)
	return ""
}

func sender(t testing.TB, to string, opt Options) (*Sender, *messageLog) {
	t.Helper()
	log := &messageLog{}
	opt.Say = log.add
	s, err := NewSender(t.Context(), to, streams(), perfdata.WriteOptions{Version: "test"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// at is where a sender listens.
func (s *messageLog) at(t testing.TB) string {
	return strings.TrimPrefix(s.await(t, "listening at", 1), "push: listening at ")
}

// received reads a source to its end and returns the events in order, and the losses.
func received(t *testing.T, f event.Source) (texts []string, lost uint64) {
	t.Helper()
	comms := map[int32]string{}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		err := f.Poll(context.Background(), 100*time.Millisecond)
		var evs []event.Event
		for _, r := range f.Rings() {
			_, visible := r.Bounds()
			for r.Pos() < visible {
				var buf [64]event.Event
				n := r.Read(buf[:], visible)
				for i := range buf[:n] {
					var e event.Event
					buf[i].Keep(&e)
					e.Stream = buf[i].Stream
					evs = append(evs, e)
				}
				r.Release()
			}
		}
		slices.SortStableFunc(evs, func(a, b event.Event) int { return int(a.Time - b.Time) })
		for i := range evs {
			switch e := &evs[i]; e.Kind {
			case event.Sample:
				n, _ := e.Stream.Schema.Field("n")
				v, _ := n.Int(e)
				period, _ := e.Stream.Members.Member(e, event.MemberPeriod)
				texts = append(texts, fmt.Sprintf("%s@%d n=%d pid %d tid %d cpu %d x%d %s%s",
					e.Stream.Schema.FullName(), e.Time, v, e.PID, e.TID, e.CPU, period, comms[e.TID],
					stackOf(f, e)))
			case event.Comm:
				if c, ok := perf.DecodeComm(e); ok {
					comms[c.TID] = c.Name
				}
			case event.Lost:
				lost += uint64(e.Count)
			}
		}
		if errors.Is(err, io.EOF) {
			return texts, lost
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the stream does not end")
	return nil, 0
}

func want(from, to int) (texts []string) {
	for n := from; n < to; n++ {
		texts = append(texts, fmt.Sprintf("test:tick@%d n=%d pid 7 tid %d cpu %d x1 name%d", 1000*n,
			n, 7+n%2, n%3, n%2))
	}
	return texts
}

func send(s *Sender, from, to int) {
	for n := from; n < to; n++ {
		s.Send(1, tick(n), 1, fmt.Sprintf("name%d", n%2), 0)
	}
}

func check(t *testing.T, f event.Source, want []string) {
	t.Helper()
	got, lost := received(t, f)
	if !slices.Equal(got, want) || lost != 0 {
		t.Errorf("got %d events %.300q, lost %d; want %d %.300q", len(got), got, lost, len(want), want)
	}
}

// TestReceiversGetWhatIsSentSinceTheyCame checks that every receiver gets the events from the
// moment when it connected, with the names of their threads.
func TestReceiversGetWhatIsSentSinceTheyCame(t *testing.T) {
	s, log := sender(t, "0", Options{})
	at := log.at(t)
	if strings.Trim(at, "0123456789") != "" {
		t.Fatalf("got %s, want a port of this machine only", at)
	}
	receive := func(from string, nth int) *Source {
		f, err := Receive(t.Context(), from, How{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		log.await(t, " connected", nth)
		return f
	}
	first := receive(at, 1)
	send(s, 1, 50)
	if err := s.Round(50_500); err != nil {
		t.Fatal(err)
	}
	second := receive(":"+at, 2)
	send(s, 51, 100)
	if err := errors.Join(s.Round(200_000), s.Close()); err != nil {
		t.Fatal(err)
	}
	check(t, first, append(want(1, 50), want(51, 100)...))
	check(t, second, want(51, 100))
}

func TestFilesAreRecordings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	s, _ := sender(t, path, Options{})
	send(s, 1, 2000)
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := Receive(t.Context(), path, How{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check(t, f, want(1, 2000))
	if f.Info().Version != "test" || f.Info().Arch == "" {
		t.Errorf("got %+v, want what the machine is", f.Info())
	}
}

// A receiver that does not read uses no more memory than the bound; the events
// that it does not get are counted and reported to it.
func TestSlowReceiverLosesAndIsTold(t *testing.T) {
	s, log := sender(t, "0", Options{Bytes: 64 << 10})
	f, err := Receive(t.Context(), log.at(t), How{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log.await(t, " connected", 1)
	const all = 400_000 // 40 MB: more than the kernel's buffers take
	for n := 1; n <= all; n += 1000 {
		send(s, n, n+1000)
		if err := s.Round(0); err != nil {
			t.Fatal(err)
		}
	}
	dropped := s.Dropped()
	if dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	done := make(chan error, 1)
	go func() {
		// The count comes with the next piece for which there is room.
		for n := all + 1; ; n++ {
			send(s, n, n+1)
			if err := s.Round(0); err != nil {
				done <- err
				return
			}
			if s.Dropped() == dropped {
				break
			}
			dropped = s.Dropped()
			time.Sleep(time.Millisecond)
		}
		done <- s.Close()
	}()
	got, lost := received(t, f)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if lost != dropped || uint64(len(got))+lost < all {
		t.Errorf("got %d events and %d lost, want %d lost of more than %d", len(got), lost, dropped, all)
	}
}

// A unix socket is for this user only; the socket that a killed sender left is
// replaced.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if _, err := NewSender(t.Context(), "unix:"+path, streams(), perfdata.WriteOptions{}, Options{}); err ==
		nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want the address in use", err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	s, log := sender(t, "unix:"+path, Options{})
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600", st.Mode(), err)
	}
	var got []*Source
	for i, from := range []string{path, "unix:" + path} {
		f, err := Receive(t.Context(), from, How{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log.await(t, "a receiver at "+path+" connected", i+1)
		got = append(got, f)
	}
	send(s, 1, 40)
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		check(t, f, want(1, 40))
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no socket left behind", err)
	}
}

// A character device has one reader that comes and goes.
func TestDevice(t *testing.T) {
	master, slave := pseudoTerminal(t)
	s, log := sender(t, slave, Options{})
	log.await(t, "is connected", 1)
	checkDevice(t, s, master)
}

// checkDevice sends events to a device whose other end is master, and checks that they
// arrive there.
func checkDevice(t *testing.T, s *Sender, master io.Reader) {
	t.Helper()
	send(s, 1, 300)
	var got bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&got, master) // ends when the other side closes
	}()
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	<-read
	f, err := perfdata.OpenReader(t.Context(), &got, "device", perfdata.Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	check(t, f, want(1, 300))
}

// pseudoTerminal is a character device that passes bytes on unchanged.
func pseudoTerminal(t *testing.T) (master *os.File, slave string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	testkit.Requires(t, testkit.Core("pseudo-terminals", err))
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	raw.Oflag, raw.Iflag, raw.Lflag = 0, 0, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, raw); err != nil {
		t.Fatal(err)
	}
	return master, fmt.Sprintf("/dev/pts/%d", n)
}

func TestVsock(t *testing.T) {
	const local, anyPort = unix.VMADDR_CID_LOCAL, unix.VMADDR_PORT_ANY
	ln, err := listenVsock(address{cid: local, port: anyPort})
	testkit.Requires(t, testkit.Optional("vsock with its loopback: modprobe vsock_loopback", err))
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		_, _ = ln.Accept()
	}()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	<-accepted

	// The guest that runs this may have a tenth of an emulated CPU.
	defer func(d time.Duration) { dialTime = d }(dialTime)
	dialTime = 2 * time.Minute
	const at = "vsock:1:54873"
	if _, err := NewSender(t.Context(), at, streams(), perfdata.WriteOptions{}, Options{}); err == nil {
		t.Error("got no refusal to serve other machines without a token")
	}
	s, log := sender(t, at, Options{Token: "t"})
	f, err := Receive(t.Context(), at, How{Token: "t"})
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	defer f.Close()
	log.await(t, " connected", 1)
	send(s, 1, 20)
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	check(t, f, want(1, 20))
}

func TestAddresses(t *testing.T) {
	f := func(text string, kind kind, host string, port uint64) {
		t.Helper()
		a, err := parse(text)
		if err != nil || a.kind != kind || a.host != host || a.port != port {
			t.Errorf("%s: got %+v, %v", text, a, err)
		}
	}
	f("9900", local, "", 9900)
	f(":9900", local, "", 9900)
	f("127.0.0.1:9900", tcp, "127.0.0.1", 9900)
	f("10.0.0.1:9900", tcp, "10.0.0.1", 9900)
	f("[::1]:9900", tcp, "::1", 9900)
	f("vsock:9900", vsock, "", 9900)
	f("vsock:3:9900", vsock, "", 9900)
	f("/dev/null", device, "", 0)
	f("unix:/run/x", unixSocket, "", 0)
	f(filepath.Join(t.TempDir(), "new"), file, "", 0)
	for text, why := range map[string]string{"": "is empty", "99999": "at most 65535",
		"vsock:x": "want a number", "unix:": "got 0 bytes",
		"unix:" + strings.Repeat("x", 108): "want 1 to 107", "vsock:x:1": "want a number",
		"1.2.3.4:70000": "at most 65535", t.TempDir(): "is a directory"} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want %s", text, err, why)
		}
	}
	// A text like a port is never a file.
	if _, err := Receive(t.Context(), "1", How{}); err == nil ||
		!strings.Contains(err.Error(), "pull 1: connection refused") {
		t.Errorf("got %v, want a refused connection", err)
	}
}

func TestSendDoesNotAllocate(t *testing.T) {
	s := &Sender{out: &stream{w: nowhere{}}, comms: map[int32]string{}, form: formOf(streams())}
	e := tick(1)
	s.batch = make([]byte, 0, maxBatch+1024)
	if n := testing.AllocsPerRun(20000, func() { s.Send(1, e, 1, "name", 0) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Close() error                { return nil }

type full struct{ nowhere }

func (full) Write([]byte) (int, error) { return 0, unix.ENOSPC }

// Why sending failed is said once.
func TestFailuresAreSaidOnce(t *testing.T) {
	s := &Sender{out: &stream{path: "x", w: full{}}, comms: map[int32]string{}, form: formOf(streams())}
	send(s, 1, 2)
	if err := s.Round(0); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want no space", err)
	}
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Errorf("got %v again", err)
	}
}

// The wait for the reader of a pipe ends with the run; a reader of the pipe gets
// the recording.
func TestPipesWaitForTheirReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := NewSender(ctx, path, streams(), perfdata.WriteOptions{}, Options{}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the run", err)
	}
	got := make(chan []byte, 1)
	go func() {
		b, _ := os.ReadFile(path)
		got <- b
	}()
	s, _ := sender(t, path, Options{})
	send(s, 1, 5000)
	if err := errors.Join(s.Round(0), s.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := perfdata.OpenReader(t.Context(), bytes.NewReader(<-got), "pipe",
		perfdata.Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	check(t, f, want(1, 5000))
}
