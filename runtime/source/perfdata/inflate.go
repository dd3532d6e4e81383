package perfdata

import (
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// This file decompresses the payloads of COMPRESSED records. They are pieces of
// one zstd stream, which perf flushes after each pass over the rings and never
// ends. A record may continue in the next payload. But all output of a payload
// must be read before the next one is decompressed, since FINISHED_ROUND
// records between payloads are not compressed.
//
// A zstd reader pulls its input, and an empty input means the end. So it runs
// as a coroutine: when it needs more input than there is, it yields nil, and
// continues when it is resumed with the next payload. The alternatives are
// worse: counting blocks depends on the format of frames, and waiting for the
// whole file needs memory for all of it.

// An inflater decompresses a stream that arrives in pieces.
type inflater struct {
	in   []byte // not read by the decoder so far
	next func() ([]byte, bool)
	stop func()
	err  error
}

// maxWindow bounds the decoder's window in bytes. perf's highest level (22)
// uses 128 MiB.
const maxWindow = 128 << 20

func newInflater() *inflater {
	z := new(inflater)
	z.next, z.stop = iter.Pull(z.run)
	return z
}

// feed sets the next payload. The previous one must be used up.
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
	// Concurrency 1 decodes in the calling goroutine, which a coroutine
	// requires.
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
