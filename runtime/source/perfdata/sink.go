package perfdata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file writes recordings in pipe mode into pipes, devices and sockets.
// Readers may be slow, or not connected so far. A write waits for them until the
// context ends; then the last writes have graceTime more.

// graceTime is the time for a reader to take the rest after the end.
const graceTime = 2 * time.Second

// errStuck says that the reader of a pipe has stopped reading.
var errStuck = errors.New("its reader does not read: the rest is lost")

// CreateContext makes the recording at path, like Create. If path is a pipe,
// device or socket ("-" is standard output), the recording is in pipe mode, like
// perf record -o -. A named pipe waits for its reader until ctx ends.
func CreateContext(ctx context.Context, path string, opt WriteOptions) (*Writer, error) {
	file, name := os.Stdout, "standard output"
	if path != "-" {
		st, err := os.Stat(path)
		if err != nil || st.Mode().IsRegular() || st.IsDir() {
			return Create(path, opt)
		}
		if file, err = openSink(ctx, path); err != nil {
			return nil, diag.Errorf(diag.Usage, "create recording", path, "%w", err).
				WithHint("read it somewhere: ppscript --input %s ...", path)
		}
		name = path
	}
	if _, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS); err == nil {
		return nil, diag.Errorf(diag.Usage, "create recording", name, "is a terminal").
			WithHint("give a file, or a pipe: ppscript record -o - ... | ppscript --input - ...")
	}
	return newWriter(file, &sink{ctx: ctx, file: file}, name, opt, true)
}

// openSink opens a pipe, and waits until it has a reader.
func openSink(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil || !errors.Is(err, unix.ENXIO) {
			if err != nil {
				err = diag.Reason(err)
			}
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("it has no reader: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A sink writes to a pipe, device or socket that may be full.
type sink struct {
	ctx   context.Context
	file  *os.File
	until time.Time // last time for writes; set when ctx has ended
}

// Write implements io.Writer. It writes pieces of PIPE_BUF bytes, which never
// block if poll reports room.
func (s *sink) Write(b []byte) (done int, err error) {
	const piece = 4 << 10 // PIPE_BUF
	for done < len(b) {
		if err := s.wait(); err != nil {
			return done, err
		}
		n, err := unix.Write(int(s.file.Fd()), b[done:min(done+piece, len(b))])
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		case err != nil:
			return done, err
		default:
			done += n
		}
	}
	return done, nil
}

// wait waits until there is room.
func (s *sink) wait() error {
	for {
		if s.ctx.Err() != nil {
			if s.until.IsZero() {
				s.until = time.Now().Add(graceTime)
			}
			if time.Now().After(s.until) {
				return errStuck
			}
		}
		fds := []unix.PollFd{{Fd: int32(s.file.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(fds, 100); n > 0 || err != nil && err != unix.EINTR {
			return nil // the write returns the error
		}
	}
}
