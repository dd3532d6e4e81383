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

// Options says how to read. The zero value works.
type Options struct {
	// Ordered gives one ring for each CPU, each in time order, instead of
	// one ring in the order of the file. See ordered.go.
	Ordered bool
	// Formats finds the schema of a tracepoint by id where the recording
	// has no formats (perf record was killed). Nil: such events have no
	// fields. The running kernel's ids are right if it made the recording.
	Formats func(id uint64) *event.Schema
	// MaxPending bounds the bytes that ordered reading of piped or
	// compressed input holds back; 0 means 256 MiB.
	MaxPending int
	// Begun is the beginning of the input, which the caller has read already, for OpenReader.
	Begun []byte
	// Update takes the EVENT_UPDATE records of kinds that perf does not have,
	// which are about the event with that id. Body is valid during the call;
	// an error ends reading. Nil: they are skipped, as perf does.
	Update func(kind, id uint64, body []byte) error
	// Progress is told, while the recording is read, how many bytes were read, and how
	// many it has; 0 if that is not known. Nil: nobody asks.
	Progress func(read, size uint64)

	scan bool // only the parts of stacks that came later are wanted
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
	// cut says that the end of the recording is known to be missing, so a
	// broken record is where it ends, not damage.
	cut bool

	streams []*event.Stream
	common  *perf.Layout
	dec     *perf.Decoder
	out     output

	end    error // io.EOF or the error that ended reading
	closed bool
}

// recordInput is the input that records are read from.
type recordInput struct {
	in    input
	waits *poll.Poller // of a pipe; nil if it cannot be waited for
}

// A head is the description of a recording, as it was read so far.
type head struct {
	name     string
	info     Info
	warnings []string

	attrs    []attr
	descs    []desc
	tracing  *tracing
	byID     map[uint64]*format // of tracing, made when it is asked for
	options  *tracefs.Options   // of the recorded kernel, likewise
	idCPU    map[uint64]int32   // from ID_INDEX
	metadata bool               // still in front of the first record of the kernel
}

// An output is where the records of a File go: plain or sorted.
type output struct {
	split  *splitter // of samples that bring the values of counters; nil: none do
	rings  []event.Ring
	plain  *fileRing     // unordered
	sorted *orderedRings // ordered
	// deferred is nil if no event has stacks of which a part comes later.
	deferred *userParts
}

// Open opens the recording at path; "-" is standard input.
//
// A pipe is read up to the first record, which waits for it to come. A trace.dat
// is read from a pipe to its end, into memory: its parts refer to each other.
func Open(path string, opt Options) (*File, error) {
	return OpenContext(context.Background(), path, opt)
}

// OpenContext is Open that waits no longer than ctx lasts.
func OpenContext(ctx context.Context, path string, opt Options) (*File, error) {
	if path == "-" {
		return openOS(ctx, os.Stdin, "standard input", opt)
	}
	// Opening a pipe that nobody writes to yet would wait, deaf to everything;
	// reading it waits as well, and no longer than ctx.
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
// for messages. If r is an *os.File, it waits for the records that describe the
// events as long as ctx lasts, and Poll keeps its timeout. Close closes r if it
// is an io.Closer.
func OpenReader(ctx context.Context, r io.Reader, name string, opt Options) (*File, error) {
	return openReader(ctx, r, name, opt, false)
}

// openReader is OpenReader that also takes a trace.dat, if spool says so: it is read
// whole before anything is known of it.
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

// silent is the error of a pipe of which the head could not be read.
func (h *head) silent(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return h.bad("nothing came in the time that was given: %w", err).
			WithHint("look whether somebody writes to it: perf record -o - ..., and give it more time: --duration")
	}
	return h.bad("%w", err)
}

// openMapped opens a recording in memory, of a file or of a pipe that went
// into a file.
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

// Info returns the recording's description of itself. In a pipe the build
// ids come last, so they are complete only at the end.
func (f *File) Info() *Info { return &f.info }

// Warnings are sentences about missing and odd parts of the recording. They
// grow while it is read.
func (f *File) Warnings() []string {
	if lacks := f.out.deferred.lacks(); lacks != "" {
		return append(slices.Clip(f.warnings), lacks)
	}
	return f.warnings
}

// Early is how many records were shown before their order was certain, since
// more than Options.MaxPending would have been held.
func (f *File) Early() uint64 {
	if f.out.sorted == nil {
		return 0
	}
	return f.out.sorted.early
}

// Live reports that records may come while they are read: the recording is no
// regular file.
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

// copied reports that records lie in buffers although the input is a mapping.
func (f *File) copied() bool { return f.info.Compressed || f.out.split != nil }

// Streams implements event.Source.
func (f *File) Streams() []*event.Stream { return f.streams }

// Rings implements event.Source.
func (f *File) Rings() []event.Ring { return f.out.rings }

// Poll implements event.Source. It makes a piece of the recording visible;
// after a piece that is damaged it returns the error, and all before it
// can still be read.
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
			return nil // records come that show nothing
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

// size is how many bytes the recording has; 0 if that is not known.
func (f *File) size() uint64 {
	if m, ok := f.in.(*mappedInput); ok {
		return uint64(len(m.memory()))
	}
	return 0
}

// Wake ends a Poll that waits for a pipe. It may be called by others than the reader.
func (f *File) Wake() {
	if f.waits != nil {
		f.waits.Ring()
	}
}

// show counts records that become visible.
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

// Close implements event.Source. Events die with it.
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
