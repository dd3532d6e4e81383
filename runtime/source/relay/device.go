package relay

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file sends into a character device, such as a virtio port, with one
// reader at a time at the other end. Readers may come and go; each new reader
// gets the head first.

type port struct {
	path   string
	f      *os.File
	sender *Sender
	secret *secret // the token that the reader must prove to know; nil if every reader is admitted
	log    *backlog
	mu     sync.Mutex
	ending bool  // no new reader is served
	failed error // why writing ended, if not because the reader left; only used by run
	stop   chan struct{}
	work   sync.WaitGroup
}

// portTime is the interval at which a device without a reader is checked.
const portTime = 50 * time.Millisecond

// readerPause is the least time between two readers of a device.
const readerPause = time.Second

func openDevice(path string, s *Sender) (*port, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, diag.Errorf(diag.Run, "push", path, "%w", diag.Reason(err)).
			WithHint("is it open elsewhere? look with: fuser %s", path)
	}
	p := &port{path: path, f: f, sender: s, log: newBacklog(s), stop: make(chan struct{})}
	if s.opt.Token != "" {
		if p.secret, err = newSecret(s.opt.Token); err != nil {
			return nil, errors.Join(diag.Errorf(diag.Run, "push", path, "token: %w", err), f.Close())
		}
	}
	s.opt.Say("push: opened %s", path)
	p.work.Go(p.run)
	return p, nil
}

// connected reports that a reader has opened the other end.
func (p *port) connected(wait time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(p.f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, int(wait/time.Millisecond))
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) == 0 &&
		fds[0].Revents&unix.POLLOUT != 0
}

func (p *port) run() {
	for !p.ends() {
		if !p.connected(portTime) {
			time.Sleep(portTime / 5) // poll returns at once for a device without a reader
			continue
		}
		if p.secret != nil && !p.admit() {
			continue
		}
		came := time.Now()
		r := p.log.join()
		p.sender.opt.Say("push: %s is connected", p.path)
		p.sender.joined()
		p.feed(r)
		p.log.leave(r)
		why := ""
		if p.failed != nil {
			why = ": " + p.failed.Error()
		}
		p.sender.opt.Say("push: %s has hung up%s", p.path, why)
		p.failed = nil
		// A device that accepts no bytes, and a reader that comes and goes, are
		// served at most once in this time.
		p.pause(readerPause - time.Since(came))
	}
}

// pause waits for d, or until the sender ends.
func (p *port) pause(d time.Duration) {
	for late := time.Now().Add(d); !p.ends() && time.Now().Before(late); {
		time.Sleep(portTime / 5)
	}
}

func (p *port) ends() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending
}

// feed writes until the reader leaves or the sender ends.
func (p *port) feed(r *reader) {
	for b := r.take(); b != nil; b = r.take() {
		if !p.write(b) {
			return
		}
	}
}

// write writes all of b; false if the reader left or the sender ends.
func (p *port) write(b []byte) bool {
	for len(b) > 0 {
		n, err := unix.Write(int(p.f.Fd()), b)
		switch {
		case err == nil:
			b = b[n:]
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if !p.ready(unix.POLLOUT) {
				return false
			}
		default:
			if err != unix.EPIPE && err != unix.EIO { // these mean that the reader has left
				p.failed = err
			}
			return false
		}
	}
	return true
}

// read fills b; false if the reader left or the sender ends.
func (p *port) read(b []byte) bool {
	for len(b) > 0 {
		n, err := unix.Read(int(p.f.Fd()), b)
		switch {
		case err == nil && n > 0:
			b = b[n:]
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if !p.ready(unix.POLLIN) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// wrongPause is the time after a wrong answer before the next greeting.
const wrongPause = time.Second

// admit reports that the reader has proved that it knows the token. There is no
// time limit, since not every device reports whether it has a reader.
func (p *port) admit() bool {
	p.discard()
	g, err := p.secret.greeting()
	answer := make([]byte, answerSize)
	if err != nil || !p.write(g) || !p.read(answer) {
		return false
	}
	if w := p.secret.welcome(g, answer); w != nil {
		return p.write(w)
	}
	p.write([]byte{verdictWrong})
	p.sender.opt.Say("push: %s: its reader %v", p.path, errWrongToken)
	select {
	case <-p.stop:
	case <-time.After(wrongPause):
	}
	return false
}

// discard reads and drops bytes from an earlier reader.
func (p *port) discard() {
	var b [512]byte
	for {
		if n, err := unix.Read(int(p.f.Fd()), b[:]); n <= 0 && err != unix.EINTR {
			return
		}
	}
}

// ready waits until the device can be written or read, as what says; false if
// the reader left or the sender ends.
func (p *port) ready(what int16) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(p.f.Fd()), Events: what}}
		n, err := unix.Poll(fds, int(portTime/time.Millisecond))
		if err == nil && n > 0 {
			return fds[0].Revents&(unix.POLLHUP|unix.POLLERR) == 0
		}
		select {
		case <-p.stop:
			return false
		default:
		}
		if what == unix.POLLIN && p.ends() {
			return false
		}
	}
}

func (p *port) send(x *piece) error {
	p.log.put(x)
	return nil
}

func (p *port) asking() bool { return p.log.asking() }
func (p *port) lost() uint64 { return p.log.dropped() }

// close waits at most drainTime for the reader to take the rest.
func (p *port) close() error {
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	p.log.close()
	late := time.AfterFunc(drainTime, func() { close(p.stop) })
	p.work.Wait()
	late.Stop()
	return p.f.Close()
}
