package perfdata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/tracedat"
)

// This file reads a trace.dat of trace-cmd as if perf had recorded its events:
// each record becomes a PERF_RECORD_SAMPLE with its thread, time, CPU and raw
// data, and each gap a PERF_RECORD_LOST. The records are merged by time, so a
// round can end after any record. All other code (reading a part of a recording,
// merging, sending, writing again) is then the same for both kinds of files.
//
// A kernel stack that follows a record becomes the sample's call chain.
//
// There is a stream for each event that the file describes, even if it has no
// records, since the file does not say which events were enabled. If there are
// several buffers, an event has a stream for each buffer with records of it.

const traceDatSample = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
	unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_RAW

// openTraceDat opens a trace.dat in memory.
func openTraceDat(ctx context.Context, m *mappedInput, name string, opt Options) (*File, error) {
	f := newFile(name, opt)
	t, err := tracedat.Parse(m.b)
	switch {
	case errors.Is(err, tracedat.ErrForeign):
		return nil, f.bad("trace.dat: %w", err).
			WithHint("read it with trace-cmd report, or record again: trace-cmd record -e EVENT")
	case err != nil:
		return nil, f.bad("trace.dat: %w", err).
			WithHint("record again, or copy the file again; its head is damaged or cut")
	}
	for _, x := range t.Formats {
		if x.System != text([]byte(x.System)) {
			return nil, f.bad("trace.dat: got system %q", x.System).
				WithHint("record again, or copy the file again; it is damaged")
		}
	}
	f.describeTraceDat(t)
	c := &converter{dat: t, records: t.Reader(), file: m, f: f}
	c.records.Release = m.forget
	if c.stacks = t.HasStacks(); c.stacks {
		c.records.WithStacks()
	}
	c.ids = f.traceDatAttrs(t, c.stacks)
	c.threads = threadNames(t.Cmdlines)
	f.in = c
	for _, line := range t.Warnings {
		f.warn("%s", line)
	}
	if t.Cut {
		f.cut = true
		f.early("its end is missing")
	}
	return f.start(ctx)
}

// mostSpooled bounds a trace.dat from a pipe, which is kept in memory, in bytes.
const mostSpooled = 1 << 30

// spoolTraceDat reads a trace.dat from a pipe to its end.
func spoolTraceDat(ctx context.Context, p *pipeInput, name string, opt Options) (*File, error) {
	h := &head{name: name}
	m, err := p.spool(ctx)
	switch {
	case errors.Is(err, errTooLarge):
		err = h.bad("trace.dat: %w", err).WithHint("write it to a file, and give the file's name")
	case errors.Is(err, context.DeadlineExceeded):
		err = h.bad("trace.dat: it did not end in the time that was given: %w", err).
			WithHint("write it to a file first, or give it more time: --duration")
	case err != nil:
		err = h.bad("trace.dat: %w", err)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	f, err := openTraceDat(ctx, m, name, opt)
	if err != nil {
		return nil, errors.Join(err, m.close(), p.close())
	}
	f.info.Pipe = true // the input cannot be opened again
	return f, p.close()
}

var errTooLarge = fmt.Errorf("from a pipe it is read into memory: more than %d MiB", mostSpooled>>20)

// spool reads the rest of a pipe into memory outside of Go's heap.
func (p *pipeInput) spool(ctx context.Context) (*mappedInput, error) {
	fd, err := unix.MemfdCreate("recording", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "recording")
	for total := 0; ; {
		b, _, err := p.window(ctx, time.Time{}, 1)
		if err == nil && len(b) == 0 {
			break
		}
		if total += len(b); err == nil && total > mostSpooled {
			err = errTooLarge
		}
		if err == nil {
			_, err = file.Write(b)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		p.take(len(b))
	}
	return mapFile(file)
}

// describeTraceDat copies the description in the file to Info.
func (f *File) describeTraceDat(t *tracedat.File) {
	in := &f.info
	in.TraceDat = t.Version
	in.PageSize, in.Printk, in.Kallsyms = t.PageSize, t.Printk, t.Kallsyms
	in.CPUsOnline, in.CPUsAvail = t.CPUs, t.CPUs
	if t.Writer != "" {
		in.Version = "trace-cmd " + text([]byte(t.Writer))
	}
	// Linux HOST 6.1.0-1-amd64 #1 SMP ... x86_64
	if words := strings.Fields(text([]byte(t.Uname))); len(words) > 3 {
		in.Hostname, in.OSRelease, in.Arch = words[1], words[2], words[len(words)-1]
	}
	f.tracing = &tracing{longSize: t.LongSize, pageSize: t.PageSize, headerPage: t.HeaderPage}
	for _, x := range t.Formats {
		f.tracing.formats = append(f.tracing.formats, format{x.System, x.Text})
	}
	f.tracing.printk, f.tracing.kallsyms, f.tracing.cmdlines = t.Printk, t.Kallsyms, t.Cmdlines
	in.Clock = traceDatClock(t)
	in.FirstSample, in.LastSample = event.Time(t.First()), event.Time(t.Last())
	if t.Unit != "" {
		f.warn("its clock %s counts %s, not ns: times and durations are in these", t.Clock, t.Unit)
	}
	if len(t.Guests) > 0 {
		f.warn("recorded along with guests, which have files of their own: %s",
			text([]byte(strings.Join(t.Guests, ", "))))
	}
}

// traceDatClock converts tracefs's name of the events' clock. Clocks based on
// the kernel's sched_clock are the same as perf's clock.
func traceDatClock(t *tracedat.File) (c Clock) {
	if id, ok := map[string]int32{
		"mono": unix.CLOCK_MONOTONIC, "mono_raw": unix.CLOCK_MONOTONIC_RAW, "boot": unix.CLOCK_BOOTTIME,
		"tai": unix.CLOCK_TAI,
	}[t.Clock]; ok {
		c.Set, c.ID = true, id
	}
	if t.WallNS != 0 {
		c.Wall = time.Unix(0, t.WallNS)
	}
	return c
}

// traceDatAttrs makes the attrs of the events of all buffers. ids has the id of
// a record's event by buffer and type.
func (f *File) traceDatAttrs(t *tracedat.File, stacks bool) (ids [][]uint32) {
	var last uint64
	numbers := make([]uint64, len(t.Formats))
	for i, x := range t.Formats {
		if id := formatID(x.Text); id < 1<<16 {
			numbers[i] = id
			last = max(last, id)
		}
	}
	wanted := func(int, uint16) bool { return true }
	if len(t.Buffers) > 1 {
		wanted = severalBuffers(t)
	}
	twice := map[uint64]int{}
	for i := range t.Buffers {
		b := &t.Buffers[i]
		of := make([]uint32, last+1)
		for j, x := range t.Formats {
			id := numbers[j]
			if id == 0 || of[id] != 0 || len(f.attrs) >= maxAttrs || !wanted(i, uint16(id)) {
				continue
			}
			a := attr{ids: []uint64{uint64(len(f.attrs) + 1)}}
			a.Type, a.Config, a.Sample = unix.PERF_TYPE_TRACEPOINT, id, 1
			a.Sample_type, a.Bits = traceDatSample, unix.PerfBitSampleIDAll
			if stacks {
				a.Sample_type |= unix.PERF_SAMPLE_CALLCHAIN
			}
			if len(f.attrs) == 0 {
				a.Bits |= unix.PerfBitComm
			}
			name := x.System + ":" + formatName(x.Text)
			if b.Name != "" {
				a.name = text([]byte(b.Name)) + "/" + name
			}
			if twice[id]++; twice[id] == 2 {
				f.warn("%s is in several buffers: a script that reads it gets the events of all", name)
			}
			f.attrs = append(f.attrs, a)
			of[id] = uint32(len(f.attrs))
		}
		ids = append(ids, of)
	}
	return ids
}

// severalBuffers returns a function that reports whether an event has a stream
// for a buffer: if the buffer has records of it; if no buffer has any, the
// first buffer.
func severalBuffers(t *tracedat.File) func(buffer int, id uint16) bool {
	kinds := t.Kinds()
	happened := map[uint16]bool{}
	for _, of := range kinds {
		for id := range of {
			happened[id] = true
		}
	}
	return func(buffer int, id uint16) bool {
		return kinds[buffer][id] || buffer == 0 && !happened[id]
	}
}

// formatName returns the name in a format.
func formatName(text string) string {
	_, rest, _ := strings.Cut(text, "name:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// processOf returns the process of a thread: -1, unknown, since trace-cmd does not
// record it; 0 for the idle thread.
func processOf(tid int32) int32 {
	if tid == 0 {
		return 0
	}
	return -1
}

// threadNames makes records of threads' names from lines "TID NAME".
func threadNames(saved string) (b []byte) {
	for line := range strings.Lines(saved) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		tid, err := strconv.ParseInt(id, 10, 32)
		if err != nil || tid <= 0 || rest == "" {
			continue
		}
		const longest = 15
		name := text([]byte(rest))
		b = appendComm(b, processOf(int32(tid)), int32(tid), name[:min(len(name), longest)])
	}
	return b
}

// appendComm appends a PERF_RECORD_COMM without a time, so that it is valid from
// the begin.
func appendComm(b []byte, pid, tid int32, name string) []byte {
	size := (len(name) + 8) &^ 7
	b = appendHeader(b, unix.PERF_RECORD_COMM, recHeaderSize+8+size+traceDatTrailer)
	b = le.AppendUint32(le.AppendUint32(b, uint32(pid)), uint32(tid))
	b = append(append(b, name...), make([]byte, size-len(name))...)
	return append(b, make([]byte, traceDatTrailer)...)
}

// traceDatTrailer is the size of the sample_id that ends records other than
// samples: TID, TIME, CPU, IDENTIFIER.
const traceDatTrailer = 4 * 8

// A converter is an input that converts the records of a trace.dat to perf's.
type converter struct {
	dat         *tracedat.File
	records     *tracedat.Reader
	file        *mappedInput
	f           *File
	threads     []byte // records of the threads' names, which come first
	ids         [][]uint32
	buf         *buffer
	at          int // cursor in buf
	recordCount uint64
	stacks      bool // samples have a call chain, of the kernel
	round       int  // records since the last end of a round
	eof         bool
}

// largestRecord is the largest size that fits in a record's header.
const largestRecord = 1<<16 - 8

// window implements input.
func (c *converter) window(ctx context.Context, _ time.Time, n int) ([]byte, *buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	have := 0
	if c.buf != nil {
		have = len(c.buf.b) - c.at
	}
	if have < n && !c.eof {
		next := c.f.pool.get(max(bufferSize, have+2*largestRecord+len(c.threads)))
		if c.buf != nil {
			next.b = append(next.b, c.buf.b[c.at:]...)
			c.f.pool.unref(c.buf)
		}
		c.buf, c.at = next, 0
		c.fill()
	}
	if c.buf == nil {
		return nil, nil, nil
	}
	return c.buf.b[c.at:len(c.buf.b):len(c.buf.b)], c.buf, nil
}

// fill fills the buffer with whole records.
//
// Fast path: no allocation; one copy of each record.
func (c *converter) fill() {
	const roundEach = 4096
	b := append(c.buf.b, c.threads...)
	c.threads = nil
	var rec tracedat.Record
	for cap(b)-len(b) >= largestRecord {
		if !c.records.Next(&rec) {
			c.eof = true
			break
		}
		b = c.append(b, &rec)
		if c.round++; c.round == roundEach {
			c.round = 0
			b = appendHeader(b, recFinishedRound, recHeaderSize)
		}
	}
	c.buf.b = b
	if c.eof {
		c.buf.b = appendHeader(c.buf.b, recFinishedRound, recHeaderSize)
		c.end()
	}
}

// append appends a record or a gap.
func (c *converter) append(b []byte, rec *tracedat.Record) []byte {
	if rec.Missed > 0 {
		b = appendHeader(b, unix.PERF_RECORD_LOST, recHeaderSize+16+traceDatTrailer)
		b = le.AppendUint64(le.AppendUint64(b, 1), rec.Missed)
		b = le.AppendUint64(b, ^uint64(0)) // no thread
		b = le.AppendUint64(b, uint64(rec.Time))
		b = le.AppendUint64(b, uint64(uint32(rec.CPU)))
		return le.AppendUint64(b, 1)
	}
	fixed := recHeaderSize + 4*8 + 4
	if c.stacks {
		fixed += 8 + len(rec.Stack)
		if len(rec.Stack) > 0 {
			fixed += 8
		}
	}
	id := uint32(0)
	if of := c.ids[rec.Buffer]; int(rec.ID()) < len(of) {
		id = of[rec.ID()]
	}
	size := (fixed + len(rec.Data) + 7) &^ 7
	if id == 0 || size > largestRecord {
		c.f.loss.Truncated++
		return b
	}
	tid := rec.TID()
	b = appendHeader(b, unix.PERF_RECORD_SAMPLE, size)
	b = le.AppendUint64(b, uint64(id))
	b = le.AppendUint64(b, uint64(uint32(processOf(tid)))|uint64(uint32(tid))<<32)
	b = le.AppendUint64(b, uint64(rec.Time))
	b = le.AppendUint64(b, uint64(uint32(rec.CPU)))
	if c.stacks {
		b = appendChain(b, rec.Stack)
	}
	b = le.AppendUint32(b, uint32(size-fixed))
	b = append(b, rec.Data...)
	return append(b, zeros[:size-fixed-len(rec.Data)]...)
}

// appendChain appends a call chain: the number of addresses, and the addresses,
// marked as the kernel's.
func appendChain(b, stack []byte) []byte {
	if len(stack) == 0 {
		return le.AppendUint64(b, 0)
	}
	const contextKernel = ^uint64(127) // PERF_CONTEXT_KERNEL
	b = le.AppendUint64(b, uint64(len(stack)/8+1))
	return append(le.AppendUint64(b, contextKernel), stack...)
}

var zeros [8]byte

func appendHeader(b []byte, typ uint32, size int) []byte {
	return le.AppendUint64(b, uint64(typ)|uint64(size)<<48)
}

// end adds warnings about faults after all records were read.
func (c *converter) end() {
	r, f := c.records, c.f
	if r.Gaps > 0 {
		f.warn("records are missing at %d places; their number is unknown: one is counted for each place",
			r.Gaps)
	}
	if n := c.dat.Overrun; n > r.Missed && r.Gaps == 0 {
		f.warn("the kernel counted %d lost records, and %d are missing between the records of the file",
			n, r.Missed)
	}
	if n := r.Damaged + r.Short; n > 0 {
		f.loss.Truncated += n
		f.warn("%d pages or records are damaged", n)
	}
	if r.Err() != nil {
		f.cut = true
		f.early(r.Err().Error())
	}
}

func (c *converter) take(n int) {
	c.at += n
	c.recordCount += uint64(n)
}

func (c *converter) off() uint64 { return c.recordCount }

func (c *converter) close() error {
	if c.buf != nil {
		c.f.pool.unref(c.buf)
		c.buf = nil
	}
	c.eof = true
	c.records.Close()
	return c.file.close()
}
