package spread

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
)

// This file sends into a character device, which has one reader that comes and
// goes: the other end of a virtio port. Each that comes gets the head first.

type port struct {
	path   string
	f      *os.File
	sender *Sender
	mu     sync.Mutex
	q      *queue // nil while nobody reads
	gone   uint64
	ending bool // no further reader is served
	stop   chan struct{}
	work   sync.WaitGroup
}

// portTime is how often a device is looked at that nobody reads.
const portTime = 50 * time.Millisecond

func openDevice(path string, s *Sender) (*port, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, diag.Errorf(diag.Run, "push", path, "%w", diag.Reason(err)).WithHint("is it open elsewhere? look with: fuser %s", path)
	}
	p := &port{path: path, f: f, sender: s, stop: make(chan struct{})}
	s.opt.Say("push: opened %s", path)
	p.work.Go(p.run)
	return p, nil
}

// connected reports that somebody has the other end open.
func (p *port) connected(wait time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(p.f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, int(wait/time.Millisecond))
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) == 0 && fds[0].Revents&unix.POLLOUT != 0
}

func (p *port) run() {
	for !p.ends() {
		if !p.connected(portTime) {
			time.Sleep(portTime / 5) // a device that hung up is ready at once
			continue
		}
		q := newQueue(p.sender)
		p.mu.Lock()
		if p.ending {
			p.mu.Unlock()
			return
		}
		p.q = q
		p.sender.fresh.Store(true)
		p.mu.Unlock()
		p.sender.opt.Say("push: %s is connected", p.path)
		p.feed(q)
		q.close()
		p.mu.Lock()
		p.q, p.gone = nil, p.gone+q.dropped()
		p.mu.Unlock()
		p.sender.opt.Say("push: %s has hung up", p.path)
	}
}

func (p *port) ends() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending
}

// feed writes until the reader leaves or the sender ends.
func (p *port) feed(q *queue) {
	for b := q.take(); b != nil; b = q.take() {
		for len(b) > 0 {
			n, err := unix.Write(int(p.f.Fd()), b)
			switch {
			case err == nil:
				b = b[n:]
			case err == unix.EINTR:
			case err == unix.EAGAIN:
				if !p.writable() {
					return
				}
			default:
				return
			}
		}
	}
}

// writable waits for room; false if the reader left or everything ends.
func (p *port) writable() bool {
	for {
		fds := []unix.PollFd{{Fd: int32(p.f.Fd()), Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, int(portTime/time.Millisecond))
		if err == nil && n > 0 {
			return fds[0].Revents&(unix.POLLHUP|unix.POLLERR) == 0
		}
		select {
		case <-p.stop:
			return false
		default:
		}
	}
}

func (p *port) send(x *piece) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.q != nil {
		p.q.put(x)
	}
	return nil
}

func (p *port) lost() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.q != nil {
		return p.gone + p.q.dropped()
	}
	return p.gone
}

// close lets the reader take what is left for a while.
func (p *port) close() error {
	p.mu.Lock()
	p.ending = true
	if p.q != nil {
		p.q.close()
	}
	p.mu.Unlock()
	late := time.AfterFunc(drainTime, func() { close(p.stop) })
	p.work.Wait()
	late.Stop()
	return p.f.Close()
}
