package perfdata

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// WriteOptions has the description that is written to a recording. Its zero
// value describes the running machine.
type WriteOptions struct {
	// Compress writes COMPRESSED records; Level is zstd's; 0 means 1, as in
	// perf.
	Compress bool
	Level    int

	Cmdline []string // nil: this process's own
	Version string   // of the writing program; perf shows it
	// Clock relates the times of events to wall-clock time; it is not written
	// if Wall is zero.
	Clock Clock

	// BuildIDs identify the files with code in the samples.
	BuildIDs []BuildID

	// Tracefs is the directory from which formats are read that StreamInfo does
	// not have; "/sys/kernel/tracing" if empty.
	Tracefs string
	// Roots are the /proc and /sys of the recorded machine.
	Roots kernel.Roots
	// Info, if not nil, is the description of the machine, from a recording
	// that is written again.
	Info *Info
}

// A StreamInfo is one opened event of a recording.
type StreamInfo struct {
	Attr unix.PerfEventAttr
	IDs  []uint64 // one for each descriptor that was opened with Attr
	Name string   // the name that perf shows
	// System and Format are for tracepoints: the system, and the text of the
	// format file. If Format is empty, it is read from tracefs, for the event
	// that Schema names, or Name if Schema is nil.
	System, Format string
	Schema         *event.Schema
}

// A Writer makes a recording from the records of live rings, or of another
// recording. perf's own commands read the result.
//
// Add all streams first. Then write the records of one pass over all rings,
// ring by ring, then call FinishedRound, and so on: readers need these rounds
// to sort the records (see ordered.go). Finish completes the file. Without
// Finish the recording looks like after a crash, but can still be read.
//
// A Writer is used by one goroutine.
type Writer struct {
	opt     WriteOptions
	to      destination
	streams []StreamInfo
	form    form
	started bool
	z       *deflater
	data    section
	dirty   bool // records since the last round
	span    span
	err     error
}

// A destination is the file to which the recording is written.
type destination struct {
	path string
	file *os.File
	out  *bufio.Writer
	off  uint64 // offset of the next write
	pipe bool   // in pipe mode: the description comes first
}

// A form is the layout that the records of all events have in common.
type form struct {
	common  *perf.Layout
	dec     *perf.Decoder
	trailer int // size of the SampleID of synthesized records
}

// A span is the time span of the samples; probe is scratch for decoding.
type span struct {
	probe       event.Event
	first, last event.Time
}

// Create makes the file at path. An existing recording is replaced at once; any
// other existing file is an error.
func Create(path string, opt WriteOptions) (*Writer, error) {
	file, err := outfile.OpenNow(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "create recording", path, "%w", diag.Reason(err)).
			WithHint("give a file name in a directory that can be written to: -o FILE")
	}
	return newWriter(file, file, path, opt, false)
}

func newWriter(file *os.File, out io.Writer, path string, opt WriteOptions, pipe bool) (*Writer, error) {
	w := &Writer{opt: opt, to: destination{
		path: path, file: file, out: bufio.NewWriterSize(out, 256<<10), pipe: pipe,
	}}
	if opt.Compress {
		var err error
		if w.z, err = newDeflater(opt.Level); err != nil {
			file.Close()
			return nil, diag.Errorf(diag.Usage, "create recording", path, "compression: %w", err).
				WithHint("use a level from 1 to 22")
		}
	}
	return w, nil
}

// Add adds a stream. If there are several streams, their samples must have an
// id at the same offset; otherwise it is an error.
func (w *Writer) Add(s StreamInfo) error {
	if w.started {
		panic("BUG: Writer.Add after the first record")
	}
	a := attr{PerfEventAttr: s.Attr}
	if len(w.streams) > 0 {
		first := attr{PerfEventAttr: w.streams[0].Attr}
		if a.idPlace() == 0 || a.idPlace() != first.idPlace() {
			return w.fail("event %s: samples do not have their id at the same offset as samples of %s",
				s.Name, w.streams[0].Name)
		}
	}
	w.streams = append(w.streams, s)
	return nil
}

func (w *Writer) fail(format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Run, "write recording", w.to.path, format, args...)
}

// start writes the head: header, ids, attrs. Sizes that are not known so far
// are 0, which means to readers that the recording was not finished.
func (w *Writer) start() error {
	if w.started {
		return w.err
	}
	w.started = true
	if len(w.streams) == 0 {
		w.err = w.fail("no events were added")
		return w.err
	}
	for i := range w.streams {
		s := &w.streams[i]
		l := perf.NewLayout(perf.FormatOf(&s.Attr))
		if i == 0 {
			w.form.common, w.form.dec = l, perf.NewDecoder(l)
			w.form.trailer = trailerSize(l.Format)
		}
		st := &event.Stream{Index: i, Label: s.Name, Members: l}
		for _, id := range s.IDs {
			w.form.dec.Add(id, st, l)
		}
		if len(s.IDs) == 0 {
			w.form.dec.Add(0, st, l)
		}
		if s.Attr.Type == unix.PERF_TYPE_TRACEPOINT && s.Format == "" {
			if w.err = w.readFormat(s); w.err != nil {
				return w.err
			}
		}
	}
	if w.to.pipe {
		return w.startPipe()
	}
	w.put(w.head())
	for _, s := range w.streams {
		for _, id := range s.IDs {
			w.put(le.AppendUint64(nil, id))
		}
	}
	at := uint64(fileHeaderSize)
	for i := range w.streams {
		s := &w.streams[i]
		b := encodeAttr(&s.Attr)
		b = le.AppendUint64(b, at)
		b = le.AppendUint64(b, uint64(8*len(s.IDs)))
		w.put(b)
		at += uint64(8 * len(s.IDs))
	}
	w.data.off = w.to.off
	return w.err
}

const attrSize = int(unsafe.Sizeof(unix.PerfEventAttr{}))

// encodeAttr encodes a with the size of the struct in this program. Members
// that a newer kernel has after that are lost; they are not needed for
// decoding.
func encodeAttr(a *unix.PerfEventAttr) []byte {
	out := *a
	out.Size = uint32(attrSize)
	b := make([]byte, attrSize, attrSize+sectionSize)
	if _, err := binary.Encode(b, le, &out); err != nil {
		panic("BUG: encode perf_event_attr: " + err.Error())
	}
	return b
}

// head encodes the file header, with the values that are known so far.
func (w *Writer) head() []byte {
	ids := 0
	for _, s := range w.streams {
		ids += 8 * len(s.IDs)
	}
	entry := uint64(attrSize + sectionSize)
	b := append(make([]byte, 0, fileHeaderSize), magic...)
	b = le.AppendUint64(b, fileHeaderSize)
	b = le.AppendUint64(b, entry)
	b = le.AppendUint64(b, uint64(fileHeaderSize+ids))
	b = le.AppendUint64(b, entry*uint64(len(w.streams)))
	b = le.AppendUint64(b, uint64(fileHeaderSize+ids)+entry*uint64(len(w.streams)))
	b = le.AppendUint64(b, w.data.size)
	return append(b, make([]byte, fileHeaderSize-len(b))...)
}

// trailerSize returns the size of the SampleID that ends synthesized records.
func trailerSize(f perf.Format) int {
	if !f.SampleIDAll {
		return 0
	}
	n := 0
	for _, bit := range []uint64{unix.PERF_SAMPLE_TID, unix.PERF_SAMPLE_TIME, unix.PERF_SAMPLE_ID,
		unix.PERF_SAMPLE_STREAM_ID, unix.PERF_SAMPLE_CPU, unix.PERF_SAMPLE_IDENTIFIER} {
		if f.SampleType&bit != 0 {
			n += 8
		}
	}
	return n
}

// put appends to the file. It keeps the first error.
func (w *Writer) put(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.to.out.Write(b)
	w.to.off += uint64(n)
	if err != nil {
		w.err = w.fail("%w", err)
	}
}

// Write appends a copy of one record of a ring, including its header.
//
// Fast path: this runs for every record.
func (w *Writer) Write(rec []byte) error {
	if !w.started {
		if err := w.start(); err != nil {
			return err
		}
	}
	if w.err != nil {
		return w.err
	}
	if len(rec) < recHeaderSize || int(le.Uint16(rec[6:])) != len(rec) || le.Uint32(rec) >= userTypeStart {
		return w.fail("record: got %d bytes that are not a record of the kernel", len(rec))
	}
	sp := &w.span
	if le.Uint32(rec) == unix.PERF_RECORD_SAMPLE && w.form.dec.Decode(rec, &sp.probe) && sp.probe.Time != 0 {
		t := sp.probe.Time
		if sp.first == 0 || t < sp.first {
			sp.first = t
		}
		sp.last = max(sp.last, t)
	}
	w.record(rec)
	return w.err
}

func (w *Writer) record(rec []byte) {
	w.dirty = true
	if w.z == nil {
		w.put(rec)
		return
	}
	for _, out := range w.z.add(rec) {
		w.put(out)
	}
}

// FinishedRound ends a pass over all rings.
func (w *Writer) FinishedRound() error {
	if err := w.start(); err != nil || !w.dirty {
		return err
	}
	w.dirty = false
	w.flush()
	w.put(header(recFinishedRound, 0, recHeaderSize))
	if w.to.pipe && w.err == nil {
		// A reader waits for it.
		if err := w.to.out.Flush(); err != nil {
			w.err = w.fail("%w", err)
		}
	}
	return w.err
}

// flush writes the data that are buffered for compression.
func (w *Writer) flush() {
	if w.z != nil {
		for _, out := range w.z.flush() {
			w.put(out)
		}
	}
}

// header encodes a perf_event_header.
func header(typ uint32, misc, size uint16) []byte {
	b := le.AppendUint32(make([]byte, 0, size), typ)
	b = le.AppendUint16(b, misc)
	return le.AppendUint16(b, size)
}

// SetBuildIDs sets the files with code in the samples. Call it before Finish.
func (w *Writer) SetBuildIDs(ids []BuildID) { w.opt.BuildIDs = ids }

// Flush writes all records so far to the file, which can then be read as an
// unfinished recording.
func (w *Writer) Flush() error {
	if err := w.FinishedRound(); err != nil {
		return err
	}
	if err := w.to.out.Flush(); err != nil && w.err == nil {
		w.err = w.fail("%w", err)
	}
	return w.err
}

// Finish writes the description of the recording and closes the file.
// Calling it again does nothing.
func (w *Writer) Finish() error {
	if w.to.file == nil {
		return w.err
	}
	switch err := w.FinishedRound(); {
	case err != nil:
	case w.to.pipe:
		w.put(AppendEnd(nil, w.streams))
	default:
		w.data.size = w.to.off - w.data.off
		w.writeFeatures()
	}
	if err := w.to.out.Flush(); err != nil && w.err == nil {
		w.err = w.fail("%w", err)
	}
	if w.z != nil {
		w.z.close()
	}
	if w.to.file != os.Stdout {
		if err := w.to.file.Close(); err != nil && w.err == nil {
			w.err = w.fail("%w", err)
		}
	}
	w.to.file = nil
	return w.err
}

// isSet reports that the clock has a wall-clock time.
func (c Clock) isSet() bool { return c.Wall != time.Time{} }
