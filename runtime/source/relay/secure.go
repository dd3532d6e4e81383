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

// This file is TLS, over TCP and vsock: both sides show certificates, and believe those that their user
// named (package identity). The token counts besides, where the sender has one. Readers of recordings
// wait for descriptors, and read from them; so a tunnel brings what TLS has decrypted to one end of a
// pair of sockets, of which they have the other.

// inTheClear is said where neither side encrypts.
const inTheClear = "events go over the network as they are, where others may read and change them; " +
	"--tls-key and --tls-peers encrypt them: ppscript help security"

// readable reports that others can read along: root on this machine, or the host of a guest,
// could do so anyway.
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

// secure begins TLS, as long as the connection's context lasts.
func (c *connection) secure(side *identity.Side) error {
	// A descriptor of its own, which the poller of the runtime waits for.
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

// handshakeError is why TLS did not begin.
func handshakeError(ctx context.Context, err error) error {
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return errPlain
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return errNothing
	}
	return unbelieved(orEnd(err, errPlain))
}

// unbelieved is what an alert of the other side means; other errors stay. In TLS 1.3 a client hears
// only with the first bytes that the server does not believe it.
func unbelieved(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return fmt.Errorf("%w (%w)", errUnbelieved, op.Err)
	}
	return err
}

// stream is what the other side says.
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

// A tunnel moves bytes between TLS and a socket, of which readers have the other end. It ends when
// they close that.
type tunnel struct {
	from *tls.Conn
	to   *os.File
	work sync.WaitGroup
}

// dig puts the end of a tunnel in place of the connection's file.
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

// in brings what the sender says, until one of both sides ends.
func (t *tunnel) in() {
	_, _ = io.Copy(t.to, t.from)
	if raw, err := t.to.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// out brings the words of the receiver, and ends with it.
func (t *tunnel) out() {
	_, _ = io.Copy(t.from, t.to)
	_ = t.from.NetConn().Close()
}

func (t *tunnel) wait() {
	t.work.Wait()
	_ = t.to.Close()
}

// begun has TLS begin on a connection of a server, which has deadlines.
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

// An errNoTLS is why there is no TLS with a receiver.
type errNoTLS struct{ error }

// Unwrap has errors.Is find the reason.
func (e errNoTLS) Unwrap() error { return e.error }

// peerName is the name that a connection's other side has proved.
func peerName(conn net.Conn) string {
	t, ok := conn.(*tls.Conn)
	if !ok || len(t.ConnectionState().PeerCertificates) == 0 {
		return ""
	}
	return identity.Name(t.ConnectionState().PeerCertificates[0])
}
