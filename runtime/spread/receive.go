package spread

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
	"ppscript/runtime/perfdata"
)

// dialTime is how long a connection, and the description behind it, may take.
const dialTime = 10 * time.Second

// A Source is events from elsewhere, or a recording, and what came with it of
// the stacks of its events.
type Source struct {
	*perfdata.File
	Stacks *Stacks
}

// open reads what describes the events of a source.
func open(opt perfdata.Options, read func(perfdata.Options) (*perfdata.File, error)) (*Source, error) {
	s := &Source{Stacks: NewStacks(opt.MaxPending)}
	opt.Update = s.Stacks.Update
	var err error
	s.File, err = read(opt)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open opens a recording: events that were sent to a file, or perf's.
func Open(ctx context.Context, path string, opt perfdata.Options) (*Source, error) {
	return open(opt, func(opt perfdata.Options) (*perfdata.File, error) { return perfdata.OpenContext(ctx, path, opt) })
}

// Receive connects to an address, or opens a file, and reads what describes the
// events that come from there. Bytes bounds what is held to bring them into
// order; 0 is perfdata's bound.
func Receive(ctx context.Context, from, token string, bytes int) (*Source, error) {
	a, err := parse(from)
	if err != nil {
		return nil, err
	}
	opt := perfdata.Options{Ordered: true, MaxPending: bytes}
	if a.kind == file {
		return Open(ctx, from, opt)
	}
	f, err := connect(ctx, a)
	if err != nil {
		for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
			err = e // the address is said already
		}
		return nil, diag.Errorf(diag.Attach, "pull", from, "%w", err).
			WithHint("is somebody sending there? ppscript trace -e 'sys:name//push=%s/'", from)
	}
	if token != "" && a.kind != device {
		if _, err := f.WriteString(token + "\n"); err != nil {
			return nil, errors.Join(diag.Errorf(diag.Run, "pull", from, "%w", err), f.Close())
		}
	}
	if err := await(ctx, f); err != nil {
		return nil, errors.Join(diag.Errorf(diag.Attach, "pull", from, "%w", err).
			WithHint("is it ppscript that sends there, and with the same PPSCRIPT_TOKEN?"), f.Close())
	}
	s, err := open(opt, func(opt perfdata.Options) (*perfdata.File, error) { return perfdata.OpenReader(ctx, f, from, opt) })
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// connect returns a file that can be waited for.
func connect(ctx context.Context, a address) (*os.File, error) {
	switch a.kind {
	case vsock:
		return dialVsock(a)
	case device:
		fd, err := unix.Open(a.text, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), a.text), nil
	}
	d := net.Dialer{Timeout: dialTime}
	// "localhost" is every address of this machine that it has.
	network, at := "tcp", a.join("localhost")
	if a.kind == unixSocket {
		network, at = "unix", a.path
	}
	conn, err := d.DialContext(ctx, network, at)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	f, ok := conn.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("got a %T, want one with a descriptor", conn)
	}
	return f.File()
}

// await waits for the first byte: everything up to it is the sender's answer to
// being connected to.
func await(ctx context.Context, f *os.File) error {
	for deadline := time.Now().Add(dialTime); time.Now().Before(deadline); {
		if err := ctx.Err(); err != nil {
			return err
		}
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 100); err == nil && n > 0 {
			return nil
		}
	}
	return errors.New("nothing comes")
}
