// Package infile reads files that the user names and that may be anything: a
// file, a pipe that nobody writes to yet, a device without an end. Session,
// eventtext and the REPL call it for files that they read whole.
//
// A pipe is waited for as long as the run is, and no longer: open(2) would wait
// for ever, and hold a thread that no signal of ours reaches. The size has a
// bound. outfile is the same for writing.
//
// The package looks at no bytes, and keeps none.
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

// A File is one that is read from begin to end.
type File struct {
	f       *os.File
	regular bool
	most    int64
	read    int64
}

// A tooLarge is the error of a file that has more than may be read of it.
type tooLarge struct{ Most int64 }

func (e *tooLarge) Error() string {
	return fmt.Sprintf("too large: it has more than %s", unit.Size(e.Most))
}

// Open opens the file at path, of which at most most bytes are read. A pipe that
// nobody writes to yet is opened at once. The caller closes the File.
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

// Regular reports that the file is there to be read again.
func (f *File) Regular() bool { return f.regular }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// CopyTo writes the rest of the file to w, as it comes, until its end or that of
// ctx. All bytes that were read are written even if an error is returned, so that
// a later call goes on behind them.
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

// look is how often it is looked whether the run goes on.
const look = 100 * time.Millisecond

// wait waits until there is something to read, or the end. poll(2) knows a pipe
// without a writer from one whose writer has ended; read(2) does not.
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
