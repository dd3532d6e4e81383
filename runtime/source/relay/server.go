package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"ppscript/runtime/text/diag"
)

// A server is an output to each receiver that connects and is admitted.
type server struct {
	ln     net.Listener
	sender *Sender
	secret *secret // the token that receivers must prove to know; may be nil
	// tls authenticates both sides by certificates; may be nil. Without tls and secret, the
	// kernel reports the receiver's user.
	tls  *tls.Config
	log  *backlog
	name string // of the address, for messages

	mu      sync.Mutex
	waiting []net.Conn // not admitted so far, the oldest first
	clients map[net.Conn]bool
	closed  bool
	work    sync.WaitGroup
}

// Bounds on the times of a receiver.
const (
	// An emulated machine takes seconds to derive the key from its token.
	admitTime = 30 * time.Second // to prove itself
	stallTime = 30 * time.Second // to take maxTake bytes
	drainTime = 2 * time.Second  // to take the rest at the end
)

// Bounds on the receivers that are served at once, and on the connections that
// are not admitted so far. If there are more of the latter, the oldest is
// closed: an honest receiver is admitted within some milliseconds.
const (
	maxClients = 64
	maxWaiting = 64
)

func listen(ctx context.Context, a address, s *Sender) (*server, error) {
	v := &server{sender: s, log: newBacklog(s), clients: map[net.Conn]bool{}, name: a.text}
	var err error
	if a.needsToken() && s.opt.TLS != nil {
		v.tls = s.opt.TLS.Config()
	} else if a.readable() {
		s.opt.Say("push: %s: %s", a.text, inTheClear)
	}
	if a.needsToken() && s.opt.Token != "" {
		if v.secret, err = newSecret(s.opt.Token); err != nil {
			return nil, diag.Errorf(diag.Run, "push", a.text, "token: %w", err)
		}
	}
	port := a.port
	switch a.kind {
	case vsock:
		v.ln, err = listenVsock(a)
	case unixSocket:
		v.ln, err = ListenUnix(ctx, a.path)
	case local:
		v.ln, port, err = listenLocal(ctx, a.port)
	default:
		v.ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a.endpoint())
	}
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, diag.Errorf(diag.Run, "push", a.text, "%w", err).
			WithHint("is another program listening there? give another address")
	}
	if v.name = v.ln.Addr().String(); a.kind == local {
		v.name = fmt.Sprint(port)
	}
	s.opt.Say("push: listening at %s", v.name)
	v.work.Go(v.accept)
	return v, nil
}

// Pauses between attempts to accept a connection when the system is out of
// resources.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// accept serves receivers until the listener is closed. If a connection cannot
// be accepted (too many open files), it prints a message and tries again.
func (v *server) accept() {
	pause := firstPause
	for {
		conn, err := v.ln.Accept()
		switch {
		case err == nil:
			pause = firstPause
			v.begin(conn)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case pause == firstPause:
			v.sender.opt.Say("push: %s: receivers have to wait: %v", v.name, reasonOf(err))
		}
		time.Sleep(pause)
		pause = min(2*pause, lastPause)
	}
}

// reasonOf returns the error of the system call, without addresses.
func reasonOf(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// begin starts serving a connection.
func (v *server) begin(conn net.Conn) {
	v.evict(maxWaiting - 1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		conn.Close()
		return
	}
	if v.tls != nil {
		conn = tls.Server(conn, v.tls)
	}
	v.waiting = append(v.waiting, conn)
	v.work.Go(func() { v.serve(conn) })
}

// evict closes the oldest connections that are not admitted, and leaves keep of
// them.
func (v *server) evict(keep int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.waiting) > keep {
		_ = v.waiting[0].Close() // the goroutine that serves it gets an error
		v.waiting = v.waiting[1:]
	}
}

// admitted moves a connection from waiting to clients; false if it was evicted,
// or the server ends.
func (v *server) admitted(conn net.Conn, ok bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, c := range v.waiting {
		if c == conn {
			v.waiting = append(v.waiting[:i:i], v.waiting[i+1:]...)
			if ok = ok && !v.closed && len(v.clients) < maxClients; ok {
				v.clients[conn] = true
			}
			return ok
		}
	}
	return false
}

func (v *server) full() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.clients) >= maxClients
}

func (v *server) serve(conn net.Conn) {
	defer conn.Close()
	say := v.sender.opt.Say
	err := v.admit(conn)
	if ok := v.admitted(conn, err == nil); !ok {
		var stranger errStranger
		var noTLS errNoTLS
		switch {
		case errors.As(err, &noTLS):
			say("push: %s: refused a receiver: %v", conn.RemoteAddr(), noTLS)
		case errors.Is(err, errWrongToken):
			say("push: %s %v", v.nameOf(conn), errWrongToken)
		case errors.As(err, &stranger):
			say("push: %s: refused a receiver: %v", v.name, stranger)
		case errors.Is(err, errFull) || err == nil && v.full():
			say("push: %s: refused a receiver: %d are served already", v.name, maxClients)
		}
		return
	}
	r := v.log.join()
	say("push: %s connected", v.nameOf(conn))
	v.sender.joined()
	v.work.Go(func() { v.hear(conn, r) })
	err = v.feed(conn, r)
	v.log.leave(r)
	v.mu.Lock()
	delete(v.clients, conn)
	ending := v.closed
	v.mu.Unlock()
	if t, ok := conn.(*tls.Conn); ok && err != nil {
		_ = t.NetConn().Close() // closing TLS would wait for a receiver that reads nothing
	}
	switch late := errors.Is(err, os.ErrDeadlineExceeded); {
	case late && ending:
		say("push: %s did not take what was left at the end", v.nameOf(conn))
	case late:
		say("push: %s took nothing for %v: it is cut off", v.nameOf(conn), v.sender.opt.Stall)
	default:
		say("push: %s hung up", v.nameOf(conn))
	}
}

// admit returns an error if a peer may not receive the events.
func (v *server) admit(conn net.Conn) error {
	if v.secret == nil && v.tls == nil {
		c, ok := conn.(syscall.Conn)
		if !ok {
			return fmt.Errorf("got a %T, want one with a descriptor", conn)
		}
		return checkPeer(c, "")
	}
	if err := conn.SetDeadline(time.Now().Add(v.sender.opt.Admit)); err != nil {
		return err
	}
	if t, ok := conn.(*tls.Conn); ok {
		if err := begun(t); err != nil {
			return err
		}
	}
	if v.secret != nil {
		if err := v.secret.admit(conn, v.full); err != nil {
			return err
		}
	}
	return conn.SetDeadline(time.Time{})
}

// hear reads the words of a receiver until the connection is closed.
func (v *server) hear(conn net.Conn, r *reader) {
	var word [1]byte
	for {
		if _, err := conn.Read(word[:]); err != nil {
			return
		}
		if word[0] == contentWord {
			v.log.contented(r)
		}
	}
}

// feed writes until the receiver leaves, stalls, or has everything.
func (v *server) feed(conn net.Conn, r *reader) error {
	for b := r.take(); b != nil; b = r.take() {
		v.mu.Lock()
		if !v.closed { // close has already set the final deadline
			_ = conn.SetWriteDeadline(time.Now().Add(v.sender.opt.Stall))
		}
		v.mu.Unlock()
		if _, err := conn.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the receiver's address and certificate name; receivers at a
// unix socket have none.
func (v *server) nameOf(conn net.Conn) string {
	if a := conn.RemoteAddr().String(); a != "" && a != "@" {
		if who := peerName(conn); who != "" {
			a += " (" + who + ")"
		}
		return a
	}
	return "a receiver at " + v.name
}

func (v *server) send(p *piece) error {
	v.log.put(p)
	return nil
}

func (v *server) lost() uint64 { return v.log.dropped() }
func (v *server) asking() bool { return v.log.asking() }

// close waits at most drainTime for clients to take the rest.
func (v *server) close() error {
	v.mu.Lock()
	v.closed = true
	for conn := range v.clients {
		_ = conn.SetWriteDeadline(time.Now().Add(drainTime))
	}
	v.mu.Unlock()
	err := v.ln.Close()
	v.log.close()
	v.evict(0)
	v.work.Wait()
	return err
}
