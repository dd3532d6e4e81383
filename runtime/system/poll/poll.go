package poll

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// A Poller waits for rings, for tasks that end and for a context, with one
// epoll instance and no goroutine.
type Poller struct {
	ep      int
	wake    *waker
	ctx     context.Context
	unwatch func() bool
	events  [64]unix.EpollEvent
	wait
	cpuSocket

	// Watched counts the descriptors whose hang-up has not come. Hung is
	// filled by Wait and emptied by the caller.
	Watched int
	Hung    []int
	Signs
}

// Signs say what else the last Wait has met.
type Signs struct {
	Called bool // somebody called Ring, or a task of End has ended
	Ended  bool // such a task has ended at any time
	CPUs   bool // CPUs came or went; the caller resets it
}

// A wait is one call of Wait.
type wait struct {
	file    *os.File // of ep: Go's own poller waits for it
	conn    syscall.RawConn
	look    func(fd uintptr) bool
	filled  func() bool
	looks   int
	ready   int  // events that are there
	stirred bool // there was one, which is told only once
	failed  error
}

// The tags of descriptors that are no rings'.
const (
	wakeTag = -1
	cpusTag = -2
	Buffer  = -3 // wakes when its writer wants so
	bellTag = -4
	End     = -5 // a task whose end ends Wait, and nothing else
	nestTag = -6 // another Poller
	// PIDs and tags below it are tasks whose end is told as a hang-up.
	PIDs = -16
)

// New makes a Poller. filled reports that some ring is so full that the kernel has
// woken the thread that waits; it is asked before each wait.
func New(filled func() bool) (*Poller, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, waitError(err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(ep)
		return nil, waitError(err)
	}
	p := &Poller{ep: ep, wake: &waker{fd: wake}, wait: wait{filled: filled}, cpuSocket: cpuSocket{-1}}
	if err := errors.Join(p.open(), p.Add(wake, wakeTag)); err != nil {
		p.Close()
		return nil, err
	}
	p.Watched = 0
	return p, nil
}

// open hands the instance to Go's poller. A thread that waits in a system call of
// ours would keep the runtime's monitor awake, which looks after it many times
// before it takes that for a long wait.
func (p *Poller) open() (err error) {
	if err = unix.SetNonblock(p.ep, true); err != nil {
		return err
	}
	p.file = os.NewFile(uintptr(p.ep), "epoll")
	if p.conn, err = p.file.SyscallConn(); err != nil {
		return err
	}
	p.look = p.awake
	return nil
}

func waitError(err error) error {
	return &diag.Error{Op: "wait for", Subject: "events", Cause: err, Class: diag.Attach}
}

// Close releases everything but what is watched.
func (p *Poller) Close() error {
	if p.unwatch != nil {
		p.unwatch()
	}
	err := errors.Join(p.wake.close(), p.cpuSocket.close())
	if p.file != nil {
		return errors.Join(err, p.file.Close())
	}
	return errors.Join(err, unix.Close(p.ep))
}

// Add watches fd; Wait reports its hang-up as tag.
func (p *Poller) Add(fd, tag int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)}
	if err := unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return err
	}
	p.Watched++
	return nil
}

// Edge watches fd; Wait wakes once for what happens there, not as long as there is
// something in it.
func (p *Poller) Edge(fd int, tag int32) error {
	return unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLET, Fd: tag,
	})
}

// Nest has p's Wait end with what would end that of inner, which is not told: the caller then
// looks at inner.
func (p *Poller) Nest(inner *Poller) error { return p.Edge(inner.ep, nestTag) }

// Remove ends the watch: a hung-up descriptor would wake every wait.
func (p *Poller) Remove(fd int) {
	if unix.EpollCtl(p.ep, unix.EPOLL_CTL_DEL, fd, nil) == nil {
		p.Watched--
	}
}

// Ring ends a Wait, or the next one. Any goroutine may call it.
func (p *Poller) Ring() { p.wake.ring() }

// Wait sleeps until a ring wakes it, it is called, the context is done, or timeout.
func (p *Poller) Wait(ctx context.Context, timeout time.Duration) (woken bool, err error) {
	if ctx != p.ctx {
		p.watchContext(ctx)
	}
	p.Called = false
	n, err := p.sleep(timeout)
	if err == unix.EINTR {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	woken = p.stirred && n == 0
	for _, ev := range p.events[:n] {
		switch {
		case ev.Fd == wakeTag:
			var b [8]byte
			unix.Read(p.wake.fd, b[:])
			p.Called = true
		case ev.Fd == cpusTag:
			p.CPUs = p.changed() || p.CPUs
		case ev.Fd == End:
			p.Called, p.Ended = true, true
		case ev.Fd == bellTag:
			woken = true // also if its task has ended
		case ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0, ev.Fd < PIDs:
			p.Hung = append(p.Hung, int(ev.Fd))
			woken = true
		default:
			woken = true
		}
	}
	return woken, nil
}

// sleep waits for events, and returns how many there are.
func (p *Poller) sleep(timeout time.Duration) (n int, err error) {
	p.looks, p.stirred = 0, false
	if timeout <= 0 {
		return unix.EpollWait(p.ep, p.events[:], 0)
	}
	if err := p.file.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	if err := p.conn.Read(p.look); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.stirred = false
			return 0, nil
		}
		return 0, err
	}
	return p.ready, p.failed
}

// awake reports that the wait is over. A ring tells only once that it woke somebody
// (perf_poll in kernel/events/core.c), and Go's poller may have been the one that
// asked. So whatever makes that call again counts, and before the first wait
// nobody may sleep over a ring that is full enough.
func (p *Poller) awake(fd uintptr) bool {
	p.looks++
	p.ready, p.failed = unix.EpollWait(int(fd), p.events[:], 0)
	p.stirred = p.looks > 1 || p.ready == 0 && p.filled()
	return p.ready != 0 || p.failed != nil || p.stirred
}

// watchContext lets ctx's end interrupt Wait. The registration is kept as
// long as the caller comes with the same context.
func (p *Poller) watchContext(ctx context.Context) {
	if p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
	p.ctx = ctx
	if ctx.Done() == nil {
		return
	}
	p.unwatch = context.AfterFunc(ctx, p.wake.ring)
}

// A waker is an eventfd that may be rung from another goroutine, also while
// it is being closed.
type waker struct {
	mu sync.Mutex
	fd int
}

func (w *waker) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (w *waker) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := unix.Close(w.fd)
	w.fd = -1
	return err
}

// Hear calls fn for each word of a channel, until end is called.
func Hear(words <-chan struct{}, fn func()) (end func()) {
	stop := make(chan struct{})
	var hearing sync.WaitGroup
	hearing.Go(func() {
		for {
			select {
			case <-words:
				fn()
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		hearing.Wait()
	}
}
