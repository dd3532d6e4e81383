package perfdata

import (
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// This file decompresses the payloads of COMPRESSED records. They are pieces
// of one zstd stream that perf flushes at the end of each push and never
// ends. Records may cross from one payload to the next, but everything of a
// payload must come out before the next one goes in, since FINISHED_ROUND
// records lie between them uncompressed.
//
// A zstd reader pulls its input and takes an empty one for the end. So it runs
// as a coroutine: when it wants more than there is, it yields nil, and goes on
// when it is resumed with a new payload. Counting blocks instead would tie us
// to the frame format; waiting for the whole file would need all its memory.

// An inflater decompresses a stream that is fed piecewise.
type inflater struct {
	in   []byte // not taken by the decoder yet
	next func() ([]byte, bool)
	stop func()
	err  error
}

// maxWindow bounds the memory of the decoder. perf's highest level (22) uses
// 128 MiB.
const maxWindow = 128 << 20

func newInflater() *inflater {
	z := new(inflater)
	z.next, z.stop = iter.Pull(z.run)
	return z
}

// feed gives the next payload. The one before must be used up.
func (z *inflater) feed(b []byte) { z.in = b }

// more returns the next piece of output, valid until the next call; nil if
// the payload is used up.
func (z *inflater) more() ([]byte, error) {
	b, ok := z.next()
	if !ok {
		if z.err == nil {
			z.err = io.ErrUnexpectedEOF
		}
		return nil, z.err
	}
	return b, nil
}

func (z *inflater) close() { z.stop() }

// run is the coroutine.
func (z *inflater) run(yield func([]byte) bool) {
	src := readerFunc(func(p []byte) (int, error) {
		for len(z.in) == 0 {
			if !yield(nil) {
				return 0, io.EOF
			}
		}
		n := copy(p, z.in)
		z.in = z.in[n:]
		return n, nil
	})
	// Concurrency 1 decodes in the calling goroutine, as a coroutine must.
	d, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		z.err = err
		return
	}
	defer d.Close()
	out := make([]byte, 128<<10)
	for {
		n, err := d.Read(out)
		if n > 0 && !yield(out[:n]) {
			return
		}
		if err != nil {
			z.err = err
			return
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
