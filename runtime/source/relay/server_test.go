package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perfdata"
	"ppscript/tests/testkit"
)

// failing is a listener whose Accept fails for a while.
type failing struct {
	net.Listener
	remaining int
}

func (l *failing) Accept() (net.Conn, error) {
	if l.remaining > 0 {
		l.remaining--
		return nil, &net.OpError{Op: "accept", Err: unix.EMFILE}
	}
	return l.Listener.Accept()
}

// A sender sends rounds without events as long as a receiver needs them, and calls Joined
// for each receiver.
func TestReceiversThatWaitForNothing(t *testing.T) {
	came := make(chan struct{}, 2)
	s, log := sender(t, "0", Options{Joined: func() { came <- struct{}{} }})
	defer s.Close()
	if s.Asking() {
		t.Error("without receivers: got one that asks, want none")
	}
	receive := func() *Source {
		f, err := Receive(t.Context(), log.at(t), How{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		<-came
		return f
	}
	first, second := receive(), receive()
	asks := func() bool {
		for range 2000 {
			if !s.Asking() {
				return false
			}
			time.Sleep(time.Millisecond)
		}
		return true
	}
	first.Content()
	v := s.out.(*server)
	content := func() (n int) {
		v.log.mu.Lock()
		defer v.log.mu.Unlock()
		for r := range v.log.readers {
			if r.content {
				n++
			}
		}
		return n
	}
	for tries := 0; content() != 1; tries++ {
		if tries == 20_000 {
			t.Fatal("the sender does not hear that one is content")
		}
		time.Sleep(time.Millisecond)
	}
	if !s.Asking() {
		t.Error("one of two is content: got none that asks, want the other")
	}
	if second.Content(); asks() {
		t.Error("both are content: got one that asks, want none")
	}
}

// A sender that had too many open files accepts again when it can, and reports
// the cause.
func TestAcceptsAgainAfterTooManyFiles(t *testing.T) {
	log := &messageLog{}
	s := &Sender{
		opt:   Options{Bytes: 1 << 20, Say: log.add, Stall: time.Minute},
		form:  formOf(streams()),
		comms: map[int32]string{},
	}
	ln, port, err := listenLocal(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := &server{
		ln: &failing{ln, 3}, sender: s, log: newBacklog(s), name: "here", clients: map[net.Conn]bool{},
	}
	v.work.Go(v.accept)
	conn, err := net.Dial("unix", localName(port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log.await(t, "too many open files", 1)
	log.await(t, " connected", 1)
	if err := v.close(); err != nil {
		t.Fatal(err)
	}
}

// Receivers that read nothing are disconnected; other receivers are not
// affected.
func TestStalledReceiversAreCutOff(t *testing.T) {
	s, log := sender(t, "0", Options{Bytes: 64 << 10, Stall: 50 * time.Millisecond})
	conn, err := net.Dial("unix", "@ppscript:"+log.at(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log.await(t, " connected", 1)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 1; ; n += 1000 {
			send(s, n, n+1000)
			if err := s.Round(0); err != nil {
				done <- err
				return
			}
			select {
			case <-stop:
				done <- s.Close()
				return
			default:
			}
		}
	}()
	log.await(t, "took nothing for 50ms: it is cut off", 1)
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestStalledReceiversShareOneBound checks that with any number of receivers that do not read, the
// sender keeps within its bound, and those that read get everything.
func TestStalledReceiversShareOneBound(t *testing.T) {
	const bound, stalled = 1 << 20, maxClients - 1
	s, log := sender(t, "0", Options{Bytes: bound})
	at := log.at(t)
	for range stalled {
		conn, err := net.Dial("unix", "@ppscript:"+at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	log.await(t, " connected", stalled)
	f, err := Receive(t.Context(), at, How{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log.await(t, " connected", stalled+1)

	v := s.out.(*server)
	behind := func() (least uint64) { // the first chunk that the reading receiver has not taken
		v.log.mu.Lock()
		defer v.log.mu.Unlock()
		next := uint64(0)
		for r := range v.log.readers {
			next = max(next, r.next)
		}
		return v.log.first + uint64(len(v.log.chunks)) - next
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const all = 400_000
	var sent sync.WaitGroup
	sent.Go(func() {
		for n := 1; n <= all; n += 1000 {
			send(s, n, n+1000)
			if err := s.Round(0); err != nil {
				t.Error(err)
			}
			for behind() > 2 {
				time.Sleep(100 * time.Microsecond)
			}
		}
		v.log.mu.Lock()
		if v.log.size > bound {
			t.Errorf("got %d bytes held, want at most %d", v.log.size, bound)
		}
		v.log.mu.Unlock()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	got, lost := received(t, f)
	sent.Wait()
	if !slices.Equal(got, want(1, all+1)) || lost != 0 {
		t.Errorf("got %d events and %d lost, want all %d", len(got), lost, all)
	}
	// Each stalled receiver has a buffer of maxTake bytes and one record. The
	// memory of the receiver in this test is subtracted.
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc) - int64(len(got))*300
	if most := int64(4*bound + maxClients*2*maxTake); held > most {
		t.Errorf("got %d bytes more than before, want at most %d", held, most)
	}
	if s.Dropped() < stalled*all/4 {
		t.Errorf("got %d dropped, want those that the others did not take", s.Dropped())
	}
}

// Five thousand hostile connections at once: garbage, silence, half of an answer,
// single bytes, overheard answers. The receiver that knows the token gets all
// events, and no connection or goroutine is left.
func TestHostileReceivers(t *testing.T) {
	const hostile, token = 5000, "secret"
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var tooFew error
	if limit.Cur < hostile+1000 {
		tooFew = fmt.Errorf("ulimit -n is %d", limit.Cur)
	}
	testkit.Requires(t, testkit.Optional("6000 open files", tooFew))

	s, log := sender(t, "127.0.0.1:0", Options{Token: token})
	at := log.at(t)
	heard := hearReal(t, at, token)
	begun := runtime.NumGoroutine()
	attacks := []func(net.Conn){
		func(net.Conn) {}, // silence
		func(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 64)) },
		func(c net.Conn) { _, _ = c.Write(make([]byte, answerSize-1)) },
		func(c net.Conn) { _, _ = c.Write(make([]byte, answerSize)) },
		func(c net.Conn) { _, _ = c.Write(heard) },
		func(c net.Conn) { // a reflected greeting
			g := make([]byte, greetingSize)
			if _, err := io.ReadFull(c, g); err == nil {
				_, _ = c.Write(g)
			}
		},
		func(c net.Conn) { // byte by byte
			for range answerSize {
				if _, err := c.Write([]byte{0}); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		},
	}
	var conns []net.Conn
	var busy sync.WaitGroup
	v := s.out.(*server)
	most := 0
	for n := range hostile {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if n%100 != 0 {
			busy.Go(func() { attacks[n%len(attacks)](conn) })
		}
		v.mu.Lock()
		most = max(most, len(v.waiting))
		v.mu.Unlock()
	}
	f, err := Receive(t.Context(), at, How{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log.await(t, " connected", 2) // hearReal was the first
	send(s, 1, 1000)
	if err := s.Round(0); err != nil {
		t.Fatal(err)
	}
	busy.Wait()
	if most > maxWaiting {
		t.Errorf("got %d connections that had proved nothing, want at most %d", most, maxWaiting)
	}
	served := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.clients)
	}
	if n := served(); n > 2 {
		t.Errorf("got %d served, want one, and the one that was heard", n)
	}
	for _, c := range conns {
		c.Close()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, f, want(1, 1000))
	// All that served them has ended.
	if n := runtime.NumGoroutine(); n > begun+3 {
		t.Errorf("got %d goroutines, want no more than the %d of before", n, begun)
	}
}

// A receiver that connects when the server is full gets an error that says so.
func TestTooManyReceivers(t *testing.T) {
	s, log := sender(t, "127.0.0.1:0", Options{Token: "secret"})
	defer s.Close()
	at := log.at(t)
	v := s.out.(*server)
	v.mu.Lock()
	for range maxClients {
		c, _ := net.Pipe()
		v.clients[c] = true
	}
	v.mu.Unlock()
	if _, err := Receive(t.Context(), at, How{Token: "secret"}); err == nil ||
		!strings.Contains(err.Error(), "as many receivers as it can") {
		t.Errorf("got %v, want to be told that there is no room", err)
	}
	log.await(t, "64 are served already", 1)
}

// The wait for a sender whose description comes byte by byte ends with the run,
// and the user gets the reason.
func TestSlowDescriptionsEndWithTheRun(t *testing.T) {
	head, err := perfdata.PipeHead(streams(), perfdata.WriteOptions{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	at := listener(t, "unix", filepath.Join(t.TempDir(), "s"), func(c net.Conn) {
		for i := 0; ; i = (i + 1) % len(head) {
			if _, err := c.Write(head[i : i+1]); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	src, err := Receive(ctx, "unix:"+at, How{})
	if err == nil {
		src.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "pull unix:"+at+": the run ended before") {
		t.Errorf("got %v, want the end of the run", err)
	}
}
