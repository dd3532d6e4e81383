package perf

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
)

// A poller waits for rings, for tasks that end and for a context, with one
// epoll instance and no goroutine.
type poller struct {
	ep      int
	wake    *waker
	ctx     context.Context
	unwatch func() bool
	events  [64]unix.EpollEvent

	// watched counts the descriptors whose hang-up has not come. hung is
	// filled by wait and emptied by the caller.
	watched int
	hung    []int
}

// The poller's tags that are no rings'.
const (
	wakeTag   = -1
	bufferTag = -2
)

func newPoller() (*poller, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, waitError(err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(ep)
		return nil, waitError(err)
	}
	p := &poller{ep: ep, wake: &waker{fd: wake}}
	if err := p.add(wake, wakeTag); err != nil {
		p.close()
		return nil, err
	}
	p.watched = 0
	return p, nil
}

func waitError(err error) error {
	return &diag.Error{Op: "wait for", Subject: "events", Cause: err, Class: diag.Attach}
}

func (p *poller) close() error {
	if p.unwatch != nil {
		p.unwatch()
	}
	return errors.Join(p.wake.close(), unix.Close(p.ep))
}

// add watches fd; wait reports its hang-up as tag.
func (p *poller) add(fd, tag int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)}
	if err := unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return err
	}
	p.watched++
	return nil
}

// addBuffer watches a buffer: it wakes when the writer wants so, not whenever
// there is something in it. It never hangs up.
func (p *poller) addBuffer(fd int) error {
	return unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLET, Fd: bufferTag,
	})
}

// remove ends the watch: a hung-up descriptor would wake every wait.
func (p *poller) remove(fd int) {
	if unix.EpollCtl(p.ep, unix.EPOLL_CTL_DEL, fd, nil) == nil {
		p.watched--
	}
}

// wait sleeps until a ring wakes it, the context is done, or timeout.
func (p *poller) wait(ctx context.Context, timeout time.Duration) (woken bool, err error) {
	if ctx != p.ctx {
		p.watchContext(ctx)
	}
	ms := int((timeout + time.Millisecond - 1) / time.Millisecond)
	n, err := unix.EpollWait(p.ep, p.events[:], max(0, ms))
	if err == unix.EINTR {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, ev := range p.events[:n] {
		switch {
		case ev.Fd == wakeTag:
			var b [8]byte
			unix.Read(p.wake.fd, b[:])
		case ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0, ev.Fd < pidTag:
			p.hung = append(p.hung, int(ev.Fd))
			woken = true
		default:
			woken = true
		}
	}
	return woken, nil
}

// watchContext lets ctx's end interrupt wait. The registration is kept as
// long as the caller comes with the same context.
func (p *poller) watchContext(ctx context.Context) {
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
