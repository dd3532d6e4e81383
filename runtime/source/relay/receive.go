package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/identity"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/text/diag"
)

// dialTime bounds the time for a connection and the description of events that
// follows. Tests in emulated guests raise it.
var dialTime = 20 * time.Second

// A Source is a stream of received events, or a recording, with the stacks of
// its events if they were sent.
type Source struct {
	*perfdata.File
	Stacks *Stacks

	tell   io.Writer // the connection to the sender, if the sender reads words; else nil
	tunnel *tunnel   // nil without TLS
}

// Close ends the source.
func (s *Source) Close() error {
	err := s.File.Close()
	if s.tunnel != nil {
		s.tunnel.wait()
	}
	return err
}

// contentWord is sent by a receiver that does not merge the events with others, and so
// needs no rounds while there are no events.
const contentWord = 'c'

// Content tells the sender that this receiver needs no rounds without events. A sender
// that does not read words goes on sending them.
func (s *Source) Content() {
	if s.tell != nil {
		_, _ = s.tell.Write([]byte{contentWord})
	}
}

// open reads the description of a source's events.
func open(opt perfdata.Options, read func(perfdata.Options) (*perfdata.File, error)) (*Source, error) {
	s := &Source{Stacks: NewStacks(opt.MaxPending)}
	opt.Update = s.Stacks.update
	var err error
	s.File, err = read(opt)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open opens a recording: events that were sent to a file, or perf's.
func Open(ctx context.Context, path string, opt perfdata.Options) (*Source, error) {
	return open(opt, func(opt perfdata.Options) (*perfdata.File, error) {
		return perfdata.OpenContext(ctx, path, opt)
	})
}

// How has the options of Receive. The zero value is for addresses of this
// machine.
type How struct {
	// Token is the secret of the sender, for addresses where the kernel does not report
	// the sender's user.
	Token string
	// TLS authenticates both sides by certificates, and encrypts; for addresses
	// of the network.
	TLS *identity.Side
	// Bytes bounds the memory for bringing events into order; 0 is perfdata's bound.
	Bytes int
	// Say gets the warning that others can read the events on the network; may
	// be nil.
	Say func(format string, args ...any)
}

// Receive connects to an address, or opens a file, and reads the description of
// its events. Connecting, proofs and the description take at most dialTime, and
// end with ctx.
func Receive(ctx context.Context, from string, how How) (*Source, error) {
	a, err := parse(from)
	if err != nil {
		return nil, err
	}
	opt := perfdata.Options{Ordered: true, MaxPending: how.Bytes}
	if a.kind == file {
		return Open(ctx, from, opt)
	}
	in, stop := context.WithTimeout(ctx, dialTime)
	defer stop()
	c, err := connect(in, a)
	if err != nil {
		return nil, refused(ctx, from, err)
	}
	if c.network && how.TLS != nil {
		err = c.secure(how.TLS)
	} else if how.Say != nil && a.readable() {
		how.Say("pull: %s: %s", from, inTheClear)
	}
	if err == nil {
		opt.Begun, err = c.begin(how.Token)
	}
	if err == nil && c.tls != nil {
		err = c.dig()
	}
	if err != nil {
		return nil, errors.Join(refused(ctx, from, err), c.Close())
	}
	s, err := open(opt, func(opt perfdata.Options) (*perfdata.File, error) {
		return perfdata.OpenReader(in, c.File, from, opt)
	})
	if err != nil && in.Err() != nil {
		err = refused(ctx, from, errSlow)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if s.tunnel = c.tunnel; c.hears {
		s.tell = c.File
	}
	return s, nil
}

var (
	errSlow     = errors.New("its events were not described in time")
	errNothing  = errors.New("nothing comes")
	errGone     = errors.New("the sender hung up before it sent anything")
	errBroken   = errors.New("the sender hung up during the proof of the token")
	errUnproven = errors.New("the sender there is not proven to know the token")
)

// refused makes the error of a failed connection, with a hint.
func refused(ctx context.Context, from string, err error) error {
	to := from
	if strings.ContainsAny(to, "/:") {
		to = strconv.Quote(to) // without quotes, the / would end the attribute
	}
	hint := fmt.Sprintf("is somebody sending there? ppscript trace -e 'sys:name//push=%s/'", to)
	switch {
	case ctx.Err() != nil:
		hint = "give it more time: --duration, or none"
		err = fmt.Errorf("the run ended before its events were described: %w", ctx.Err())
	case errors.Is(err, errNoToken), errors.Is(err, errRefused):
		hint = "take the token of the sender: export PPSCRIPT_TOKEN=..., or --token-file FILE"
	case errors.Is(err, errImpostor):
		hint = "find out who listens there: ss -lp"
	case errors.Is(err, errUnproven):
		hint = "have the sender ask for the token: export PPSCRIPT_TOKEN=... there too, also in a guest that sends through a port of its monitor; " +
			"or have the monitor listen at a unix socket: pull=unix:PATH"
	case errors.As(err, new(errStranger)):
		hint = "have it send as root, or as you, or over TCP with a token: export PPSCRIPT_TOKEN=..."
	case errors.As(err, new(*identity.PeerError)):
		hint = "add its certificate to --tls-peers, if it is the right one: ppscript tls show FILE there tells its fingerprint"
	case errors.Is(err, errPlain):
		hint = "give the sender --tls-key and --tls-peers too, or leave them out here: then there has to be a token"
	case errors.Is(err, errUnbelieved):
		hint = "the sender says why; add this side's certificate to its --tls-peers: ppscript tls show FILE"
	case errors.Is(err, errNothing), errors.Is(err, errSlow):
		hint = "is it ppscript that sends there? if with TLS, give --tls-key and --tls-peers here too"
	case errors.Is(err, errGone):
		hint = "did it end? else it serves as many receivers as it can, or only root and its own user: it says so"
	}
	return diag.Errorf(diag.Attach, "pull", from, "%w", cause(err)).WithHint("%s", hint)
}

// cause removes the address from an error of package net, since the message already has it.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return reasonOf(op.Err)
	}
	return diag.Reason(err)
}

// A connection is a file whose reads end with ctx.
type connection struct {
	*os.File
	ctx context.Context
	// known says that the kernel reported the sender's user.
	known bool
	// hears says that the sender reads words. The port of a guest, which a monitor may
	// connect to any address, would read them as the next proof.
	hears bool
	// network says that others may read the connection. tls is set by secure; tunnel is
	// set by dig, and moves the bytes of tls to File.
	network bool
	tls     *tls.Conn
	tunnel  *tunnel
}

// connect opens an address.
func connect(ctx context.Context, a address) (*connection, error) {
	c := &connection{ctx: ctx}
	var err error
	switch a.kind {
	case vsock:
		c.network = true
		c.File, err = dialVsock(a)
	case device:
		c.known = true
		var fd int
		if fd, err = unix.Open(a.text, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
			c.File = os.NewFile(uintptr(fd), a.text)
		}
	case unixSocket:
		c.known = true
		c.File, err = dial(ctx, "unix", a.path, a.path)
	case local:
		c.known, c.hears = true, true
		c.File, err = dial(ctx, "unix", localName(a.port), "")
		if errors.Is(err, unix.ECONNREFUSED) {
			// The port may be a TCP port of a monitor, or the end of a tunnel.
			c.known, c.hears, c.network, a.host = false, false, true, "localhost"
			c.File, err = dial(ctx, "tcp", a.endpoint(), "")
		}
	default:
		c.network = true
		c.File, err = dial(ctx, "tcp", a.endpoint(), "")
	}
	return c, err
}

// dial connects a socket. For a unix socket it checks the listener's user; path is the
// path if the socket is a file, else "".
func dial(ctx context.Context, network, at, path string) (*os.File, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, at)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	f, ok := conn.(interface {
		syscall.Conn
		File() (*os.File, error)
	})
	if !ok {
		return nil, fmt.Errorf("got a %T, want one with a descriptor", conn)
	}
	if network == "unix" {
		if err := checkPeer(f, path); err != nil {
			return nil, err
		}
	}
	return f.File()
}

// Read implements io.Reader; it ends with ctx.
func (c *connection) Read(b []byte) (int, error) {
	for {
		if c.ctx.Err() != nil {
			return 0, errNothing
		}
		fds := []unix.PollFd{{Fd: int32(c.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 100); err == nil && n > 0 {
			return c.File.Read(b)
		}
	}
}

// orEnd replaces an end of the stream by the error end; other errors are returned
// unchanged.
func orEnd(err, end error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return end
	}
	return err
}

// begin exchanges the proofs, and returns the bytes of the recording that it
// has read already.
func (c *connection) begin(token string) ([]byte, error) {
	from := c.stream()
	first := make([]byte, len(greetingMagic), greetingSize)
	if _, err := io.ReadFull(from, first); err != nil {
		return nil, orEnd(unbelieved(err), errGone)
	}
	if string(first) == greetingMagic {
		g := first[:greetingSize]
		if _, err := io.ReadFull(from, g[len(first):]); err != nil {
			return nil, orEnd(err, errGone)
		}
		return nil, orEnd(prove(from, g, token), errBroken)
	}
	if !c.known {
		return nil, errUnproven
	}
	return first, nil
}
