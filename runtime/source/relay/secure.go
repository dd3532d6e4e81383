package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/identity"
	"ppscript/runtime/text/diag"
)

// This file handles TLS over TCP and vsock. Both sides send certificates, and trust the
// certificates that their user named (package identity). A token, if the sender has one, is checked
// too. Readers of recordings need a file descriptor to wait for and read from. So a tunnel copies
// the decrypted bytes into one end of a pair of sockets, and the reader has the other end.

// inTheClear is the warning for a connection without encryption.
const inTheClear = "events go over the network as they are, where others may read and change them; " +
	"--tls-key and --tls-peers encrypt them: ppscript help security"

// readable reports that others can read the connection. Loopback and vsock do not count,
// since only root of this machine or the host of a guest can read them.
func (a *address) readable() bool {
	if a.kind != tcp || a.host == "localhost" {
		return false
	}
	ip := net.ParseIP(a.host)
	return ip == nil || !ip.IsLoopback()
}

var (
	errPlain      = errors.New("what is there does not use TLS")
	errUnbelieved = errors.New("the sender does not believe this side's certificate")
)

// secure starts TLS; the handshake ends with the connection's context.
func (c *connection) secure(side *identity.Side) error {
	// A duplicate of the descriptor, for the poller of Go's runtime.
	fd, err := unix.FcntlInt(c.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	raw := &fileConn{os.NewFile(uintptr(fd), c.Name()), vsockAddr(c.Name())}
	t := tls.Client(raw, side.Config())
	if err := t.HandshakeContext(c.ctx); err != nil {
		return errors.Join(handshakeError(c.ctx, err), raw.Close())
	}
	c.tls, c.known, c.hears = t, true, true
	return nil
}

// handshakeError returns the reason why TLS did not start.
func handshakeError(ctx context.Context, err error) error {
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return errPlain
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return errNothing
	}
	return unbelieved(orEnd(err, errPlain))
}

// unbelieved converts an alert of the other side to errUnbelieved; other errors are returned
// unchanged. In TLS 1.3, a client gets this alert only when it reads the first bytes.
func unbelieved(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return fmt.Errorf("%w (%w)", errUnbelieved, op.Err)
	}
	return err
}

// stream returns the connection with TLS if there is TLS.
func (c *connection) stream() io.ReadWriter {
	if c.tls == nil {
		return c
	}
	if end, ok := c.ctx.Deadline(); ok {
		_ = c.tls.SetDeadline(end)
	}
	return c.tls
}

// Close closes the connection.
func (c *connection) Close() error {
	err := c.File.Close()
	switch {
	case c.tunnel != nil:
		c.tunnel.wait()
	case c.tls != nil:
		err = errors.Join(err, c.tls.NetConn().Close())
	}
	return err
}

// A tunnel copies bytes between TLS and one end of a pair of sockets. The reader has the other
// end; the tunnel ends when the reader closes it.
type tunnel struct {
	from *tls.Conn
	to   *os.File
	work sync.WaitGroup
}

// dig replaces the connection's file by the end of a tunnel.
func (c *connection) dig() error {
	if err := c.tls.SetDeadline(time.Time{}); err != nil {
		return err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[1], true); err != nil {
		return errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	name := c.Name()
	closed := c.File.Close()
	c.File = os.NewFile(uintptr(fds[0]), name)
	t := &tunnel{from: c.tls, to: os.NewFile(uintptr(fds[1]), name)}
	t.work.Go(t.in)
	t.work.Go(t.out)
	c.tunnel = t
	return closed
}

// in copies the bytes of the sender, until one of both sides ends.
func (t *tunnel) in() {
	_, _ = io.Copy(t.to, t.from)
	if raw, err := t.to.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// out copies the words of the receiver, and ends with it.
func (t *tunnel) out() {
	_, _ = io.Copy(t.from, t.to)
	_ = t.from.NetConn().Close()
}

func (t *tunnel) wait() {
	t.work.Wait()
	_ = t.to.Close()
}

// begun does the TLS handshake on a connection of a server. The caller has set
// the deadlines.
func begun(conn *tls.Conn) error {
	err := conn.Handshake()
	if err == nil {
		return nil
	}
	var who *identity.PeerError
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return errNoTLS{errors.New("it does not use TLS")}
	case errors.As(err, &who):
		return errNoTLS{who}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNoTLS{errors.New("it did not begin with TLS in time")}
	case unbelieved(err) != err:
		return errNoTLS{fmt.Errorf("it does not believe this side's certificate (%w)", diag.Reason(err))}
	}
	return err
}

// An errNoTLS is the reason why TLS with a receiver failed.
type errNoTLS struct{ error }

// Unwrap returns the reason, for errors.Is.
func (e errNoTLS) Unwrap() error { return e.error }

// peerName returns the name in the certificate of a connection's other side; ""
// without TLS.
func peerName(conn net.Conn) string {
	t, ok := conn.(*tls.Conn)
	if !ok || len(t.ConnectionState().PeerCertificates) == 0 {
		return ""
	}
	return identity.Name(t.ConnectionState().PeerCertificates[0])
}
