package perfdata

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracedat"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/poll"
	"ppscript/runtime/text/diag"
)

// Options are the options of reading. The zero value works.
type Options struct {
	// Ordered makes one ring for each CPU, sorted by time, instead of one ring
	// in the order of the file. See ordered.go.
	Ordered bool
	// Formats returns the schema of a tracepoint by id if the recording has no
	// formats, since perf record was killed. If it is nil, such events have no
	// fields. The ids of the running kernel are correct only if the recording
	// was made since it booted.
	Formats func(id uint64) *event.Schema
	// MaxPending bounds the bytes of piped or compressed input that wait to be
	// sorted; 0 means 256 MiB.
	MaxPending int
	// Begun has bytes that the caller of OpenReader has already read from the input.
	Begun []byte
	// Update is called with EVENT_UPDATE records of kinds that perf does not
	// have, for the event with that id. body is valid during the call; an error
	// ends reading. If it is nil, these records are skipped.
	Update func(kind, id uint64, body []byte) error
	// Progress is called during reading with the number of bytes read and the size of
	// the recording, 0 if unknown; may be nil.
	Progress func(read, size uint64)

	scan bool // read only deferred user parts of stacks; see deferred.go
}

// A File is an open recording. It implements event.Source.
type File struct {
	head
	opt  Options
	loss event.Loss

	recordInput
	pool   pool
	packed unpacker
	marks  marks
	// cut says that the end of the recording is known to be missing, so that an
	// incomplete record is its end, not damage.
	cut bool

	streams []*event.Stream
	common  *perf.Layout
	dec     *perf.Decoder
	out     output

	end    error // io.EOF or the error that ended reading
	closed bool
}

// recordInput is the input from which records are read.
type recordInput struct {
	in    input
	waits *poll.Poller // for a pipe; nil if the pipe cannot be polled
}

// A head is the description of a recording, as it was read so far.
type head struct {
	name     string
	info     Info
	warnings []string

	attrs    []attr
	descs    []desc
	tracing  *tracing
	byID     map[uint64]*format // formats of tracing, made at the first use
	options  *tracefs.Options   // of the recorded kernel, made at the first use
	idCPU    map[uint64]int32   // from ID_INDEX
	metadata bool               // the first record of the kernel is not read so far
}

// An output has the rings for the records of a File: either plain or sorted is
// set.
type output struct {
	split  *splitter // nil unless samples have the values of counters
	rings  []event.Ring
	plain  *fileRing     // unordered
	sorted *orderedRings // ordered
	// deferred is nil unless events have stacks whose user part comes later.
	deferred *userParts
}

// Open opens the recording at path; "-" is standard input.
//
// A pipe is read up to the first record, for which Open waits. A trace.dat from
// a pipe is read into memory up to its end, since its parts refer to each other.
func Open(path string, opt Options) (*File, error) {
	return OpenContext(context.Background(), path, opt)
}

// OpenContext is like Open, but waits only until ctx ends.
func OpenContext(ctx context.Context, path string, opt Options) (*File, error) {
	if path == "-" {
		return openOS(ctx, os.Stdin, "standard input", opt)
	}
	// Opening a pipe without a writer would block, and ctx could not end it.
	// With O_NONBLOCK the first read waits instead, until ctx ends.
	of, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "open recording", path, "%w", diag.Reason(err)).
			WithHint("give the file that perf record wrote, or - for standard input")
	}
	f, err := openOS(ctx, of, path, opt)
	if err != nil {
		of.Close()
	}
	return f, err
}

func openOS(ctx context.Context, of *os.File, name string, opt Options) (*File, error) {
	st, err := of.Stat()
	switch {
	case err != nil:
		return nil, diag.Errorf(diag.Usage, "open recording", name, "%w", err)
	case st.IsDir() && isDirectory(of.Name()):
		f, err := openDirectory(ctx, of.Name(), opt)
		if err == nil {
			of.Close()
		}
		return f, err
	case st.IsDir():
		return nil, diag.Errorf(diag.Usage, "open recording", name, "is a directory").
			WithHint("give the recording in it: ls %s", name)
	case !st.Mode().IsRegular():
		return openReader(ctx, of, name, opt, true)
	}
	m, err := mapFile(of)
	if err != nil {
		return nil, diag.Errorf(diag.Run, "map recording", name, "%w", err)
	}
	f, err := openMapped(ctx, m, name, opt)
	if err != nil {
		m.close()
	}
	return f, err
}

// OpenReader reads a recording in pipe mode (perf record -o -) from r; name is
// for messages. If r is an *os.File, the wait for the description of the events
// ends with ctx, and Poll respects its timeout. Close closes r if it is an
// io.Closer.
func OpenReader(ctx context.Context, r io.Reader, name string, opt Options) (*File, error) {
	return openReader(ctx, r, name, opt, false)
}

// openReader is like OpenReader. If spool is set, it also accepts a trace.dat, which
// it reads completely into memory.
func openReader(ctx context.Context, r io.Reader, name string, opt Options, spool bool) (*File, error) {
	f := newFile(name, opt)
	p := &pipeInput{r: r, pool: &f.pool}
	p.file, _ = r.(*os.File)
	p.begin(opt.Begun)
	p.await()
	f.in, f.waits = p, p.poll
	f.info.Pipe = true
	b, _, err := p.window(ctx, time.Time{}, pipeHeaderSize)
	if err != nil {
		return nil, f.silent(err)
	}
	if spool && tracedat.IsTraceDat(b) {
		return spoolTraceDat(ctx, p, name, opt)
	}
	size, err := f.checkMagic(b)
	if err != nil {
		return nil, err
	}
	if size != pipeHeaderSize {
		return nil, f.bad("the recording is a file's, which cannot be read from a pipe").
			WithHint("give the file's name, or record to a pipe: perf record -o - ...")
	}
	p.take(pipeHeaderSize)
	return f.start(ctx)
}

// silent returns the error for a pipe whose head could not be read.
func (h *head) silent(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return h.bad("nothing came in the time that was given: %w", err).
			WithHint("look whether somebody writes to it: perf record -o - ..., and give it more time: --duration")
	}
	return h.bad("%w", err)
}

// openMapped opens a recording in memory: a mapped file, or a pipe whose
// content was written to a file.
func openMapped(ctx context.Context, m *mappedInput, name string, opt Options) (*File, error) {
	if tracedat.IsTraceDat(m.b) {
		return openTraceDat(ctx, m, name, opt)
	}
	f := newFile(name, opt)
	f.in = m
	f.info.Directory = m.parts != nil
	size, err := f.checkMagic(m.b)
	if err != nil {
		return nil, err
	}
	if size == pipeHeaderSize {
		f.info.Pipe = true
		m.take(pipeHeaderSize)
	} else if err := f.readHeader(m); err != nil {
		return nil, err
	}
	return f.start(ctx)
}

func newFile(name string, opt Options) *File {
	if opt.MaxPending <= 0 {
		opt.MaxPending = 256 << 20
	}
	return &File{head: head{name: name, metadata: true}, opt: opt}
}

// start reads the description of the recording and makes the rings.
func (f *File) start(ctx context.Context) (*File, error) {
	if f.info.Pipe {
		if err := f.readMetadata(ctx); err != nil {
			return nil, err
		}
	}
	f.metadata = false
	if err := f.openStreams(); err != nil {
		return nil, err
	}
	if f.opt.Ordered && f.common.SampleType&unix.PERF_SAMPLE_TIME != 0 {
		f.out.sorted = newOrdered(f)
	} else {
		f.out.plain = &fileRing{f: f}
		f.out.rings = []event.Ring{f.out.plain}
	}
	deferStacks(f)
	return f, nil
}

// Info returns the description in the recording. In a pipe the build ids come
// last, so they are complete only at the end.
func (f *File) Info() *Info { return &f.info }

// Warnings returns sentences about missing or faulty parts of the recording.
// More are added while it is read.
func (f *File) Warnings() []string {
	if lacks := f.out.deferred.lacks(); lacks != "" {
		return append(slices.Clip(f.warnings), lacks)
	}
	return f.warnings
}

// Early returns the number of records that became visible before their order
// was certain, because of the bound Options.MaxPending.
func (f *File) Early() uint64 {
	if f.out.sorted == nil {
		return 0
	}
	return f.out.sorted.early
}

// Live reports that records may still be written during reading, since the
// recording is not a regular file.
func (f *File) Live() bool {
	_, live := f.in.(*pipeInput)
	return live
}

// Loss counts records that could not be decoded as truncated. The kernel's
// own losses are in the recording as Lost events.
func (f *File) Loss() event.Loss {
	l := f.loss
	if f.out.split != nil {
		l.Truncated += f.out.split.damaged
	}
	return l
}

// copied reports that records are in buffers even if the input is a mapping.
func (f *File) copied() bool { return f.info.Compressed || f.out.split != nil }

// Streams implements event.Source.
func (f *File) Streams() []*event.Stream { return f.streams }

// Rings implements event.Source.
func (f *File) Rings() []event.Ring { return f.out.rings }

// Poll implements event.Source. It makes a piece of the recording visible. At a
// damaged piece it returns the error; all records before it can still be read.
func (f *File) Poll(ctx context.Context, timeout time.Duration) error {
	if f.end != nil {
		return f.end
	}
	if err := scanDeferred(ctx, f); err != nil {
		return err
	}
	if f.opt.Progress != nil {
		f.opt.Progress(f.in.off(), f.size())
	}
	var until time.Time
	if f.info.Pipe {
		until = time.Now().Add(timeout)
	}
	for before := f.show(); f.end == nil && f.show() == before; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := f.step(ctx, until)
		switch {
		case err == nil && !until.IsZero() && !time.Now().Before(until):
			return nil // the records that arrived did not make any visible
		case errors.Is(err, errWait):
			return nil
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			f.finish(err)
			return f.end
		}
	}
	if f.end == io.EOF {
		return io.EOF
	}
	return nil
}

// size returns the size of the recording in bytes; 0 if unknown.
func (f *File) size() uint64 {
	if m, ok := f.in.(*mappedInput); ok {
		return uint64(len(m.memory()))
	}
	return 0
}

// Wake ends a Poll that waits for a pipe. It may be called by any goroutine.
func (f *File) Wake() {
	if f.waits != nil {
		f.waits.Ring()
	}
}

// show returns the amount that is visible, to detect progress.
func (f *File) show() uint64 {
	if f.out.sorted != nil {
		return f.out.sorted.shown
	}
	return f.out.plain.visible
}

// finish ends reading; all pending records become visible.
func (f *File) finish(err error) {
	f.end = err
	if f.out.sorted != nil {
		f.out.sorted.finish()
	}
}

// Close implements event.Source. Events become invalid.
func (f *File) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.end = os.ErrClosed
	f.packed.close()
	if f.out.sorted != nil {
		f.out.sorted.drop()
	}
	if f.out.plain != nil {
		f.out.plain.drop()
	}
	return f.in.close()
}
