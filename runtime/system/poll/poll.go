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

// A Poller waits for rings, for the end of tasks and for a context, with one
// epoll instance and no goroutine.
type Poller struct {
	ep      int
	wake    *waker
	ctx     context.Context
	unwatch func() bool
	events  [64]unix.EpollEvent
	wait
	cpuSocket

	// Watched counts the descriptors that have not hung up. Hung has the tags
	// of descriptors that have; Wait fills it, the caller empties it.
	Watched int
	Hung    []int
	Signs
}

// Signs are the other causes for which Wait has returned.
type Signs struct {
	Called bool // Ring was called, or a task with the tag End has ended
	Ended  bool // a task with the tag End has ended; never reset
	CPUs   bool // CPUs came or went; the caller resets it
}

// A wait is the state of one call of Wait.
type wait struct {
	file    *os.File // ep as a file, so that Go's own poller waits for it
	conn    syscall.RawConn
	look    func(fd uintptr) bool
	filled  func() bool
	looks   int
	ready   int  // number of pending events
	stirred bool // a wake-up was consumed, which the kernel reports only once
	failed  error
}

// Tags of descriptors that are not rings.
const (
	wakeTag = -1
	cpusTag = -2
	Buffer  = -3 // a buffer whose writer decides when to wake
	bellTag = -4
	End     = -5 // a task whose end ends a Wait, without being listed in Hung
	nestTag = -6 // another Poller
	// PIDs is the limit for tags of tasks whose end is listed in Hung: tags
	// below it.
	PIDs = -16
)

// New makes a Poller. filled must report whether some ring is so full that the
// kernel has already sent its wake-up; it is called before each wait.
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

// open registers the epoll instance with Go's poller. A thread that waits in a
// system call of its own would keep the runtime's monitor thread awake, which
// checks it many times before it treats the wait as long.
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

// Close releases everything except the watched descriptors.
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

// Add watches fd; if it hangs up, Wait adds tag to Hung.
func (p *Poller) Add(fd, tag int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)}
	if err := unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return err
	}
	p.Watched++
	return nil
}

// Edge watches fd edge-triggered: new data ends a Wait once, even if it is not
// read.
func (p *Poller) Edge(fd int, tag int32) error {
	return unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLET, Fd: tag,
	})
}

// Nest makes p's Wait return when inner's would. The cause is not reported; the caller then
// calls inner's Wait.
func (p *Poller) Nest(inner *Poller) error { return p.Edge(inner.ep, nestTag) }

// Remove stops watching fd: a descriptor that has hung up would end every Wait.
func (p *Poller) Remove(fd int) {
	if unix.EpollCtl(p.ep, unix.EPOLL_CTL_DEL, fd, nil) == nil {
		p.Watched--
	}
}

// Ring ends the current Wait, or the next one. Any goroutine may call it.
func (p *Poller) Ring() { p.wake.ring() }

// Wait sleeps until a ring wakes it, Ring is called, ctx is done, or timeout has
// passed. woken reports that rings or tasks have something new.
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
			woken = true // even if its task has ended
		case ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0, ev.Fd < PIDs:
			p.Hung = append(p.Hung, int(ev.Fd))
			woken = true
		default:
			woken = true
		}
	}
	return woken, nil
}

// sleep waits for events, and returns their number.
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

// awake reports that the wait is over. The kernel reports the wake-up of a ring
// only once (perf_poll in kernel/events/core.c), and Go's poller may have consumed
// it. So a second call counts as a wake-up, and the first call also checks filled,
// so that a ring that is full enough is not missed.
func (p *Poller) awake(fd uintptr) bool {
	p.looks++
	p.ready, p.failed = unix.EpollWait(int(fd), p.events[:], 0)
	p.stirred = p.looks > 1 || p.ready == 0 && p.filled()
	return p.ready != 0 || p.failed != nil || p.stirred
}

// watchContext makes the end of ctx interrupt Wait. The registration is kept as
// long as Wait is called with the same context.
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

// A waker is an eventfd that another goroutine may ring, also while it is being
// closed.
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

// Hear calls fn for each value of a channel, until end is called.
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
