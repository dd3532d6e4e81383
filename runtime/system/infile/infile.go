// Package infile reads files that the user names. Such a path may be a file, a
// pipe without a writer, or a device without an end. Session, eventtext and the
// REPL read whole files with it.
//
// The package waits for the writer of a pipe until the run ends. open(2) would
// wait for ever, and block a thread that our signals do not reach. The size is
// bounded. Package outfile is the counterpart for writing.
//
// The package does not interpret the content.
package infile

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/unit"
)

// A File is a file that is read once, from begin to end.
type File struct {
	f       *os.File
	regular bool
	most    int64
	read    int64
}

// A tooLarge is the error of a file that has more than Most bytes.
type tooLarge struct{ Most int64 }

func (e *tooLarge) Error() string {
	return fmt.Sprintf("too large: it has more than %s", unit.Size(e.Most))
}

// Open opens the file at path, of which at most most bytes are read. It does not
// wait for the writer of a pipe. The caller closes the File.
func Open(path string, most int64) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: unix.EISDIR}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{f: f, regular: st.Mode().IsRegular(), most: most}, nil
}

// Regular reports that it is a regular file, which can be read again.
func (f *File) Regular() bool { return f.regular }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// CopyTo writes the rest of the file to w as it is read, until the file or ctx
// ends. All bytes that were read are written even if it returns an error, so that
// a later call continues after them.
func (f *File) CopyTo(ctx context.Context, w io.Writer) error {
	const piece = 64 << 10
	buf := make([]byte, piece)
	for {
		if err := f.wait(ctx); err != nil {
			return err
		}
		n, err := f.f.Read(buf[:min(piece, f.most+1-f.read)])
		if f.read+int64(n) > f.most {
			return &tooLarge{f.most}
		}
		f.read += int64(n)
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// look is the period in which wait checks its context.
const look = 100 * time.Millisecond

// wait waits until something can be read, the file has ended, or ctx is done.
// poll(2) distinguishes a pipe that had no writer yet from one whose writer has
// ended; read(2) does not.
func (f *File) wait(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return &fs.PathError{Op: "wait for a writer of", Path: f.f.Name(), Err: context.Cause(ctx)}
		}
		if f.regular {
			return nil
		}
		fds := []unix.PollFd{{Fd: int32(f.f.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(look/time.Millisecond)); n > 0 || err != nil && err != unix.EINTR {
			return nil
		}
	}
}
