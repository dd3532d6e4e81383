package perfdata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/bytecursor"
	"ppscript/runtime/text/diag"
)

// This file splits the input into records. Consecutive records of the kernel
// are a run, which is passed to the rings as a whole. Records of perf itself
// end a run and are handled here.

// A run is a sequence of whole records in memory.
type run struct {
	b   []byte
	buf *buffer // the buffer with b; nil if b stays valid
}

// step reads one piece of input.
func (f *File) step(ctx context.Context, until time.Time) error {
	if f.packed.open {
		return f.inflate()
	}
	b, buf, err := f.in.window(ctx, until, recHeaderSize)
	if err != nil {
		return f.broken(ctx, err)
	}
	if len(b) == 0 {
		if f.nextPart() {
			return nil
		}
		return f.atEnd()
	}
	if len(b) >= recHeaderSize {
		// Get the whole first record.
		if size := int(le.Uint16(b[6:])); size > len(b) {
			if b, buf, err = f.in.window(ctx, until, size); err != nil {
				return f.broken(ctx, err)
			}
		}
	}
	off := f.in.off()
	used, skip, err := f.scan(b, buf, off, true)
	if used > 0 {
		f.in.take(used)
	}
	if err != nil {
		return f.damaged(err)
	}
	if skip > 0 {
		return f.discard(ctx, skip)
	}
	if used == 0 {
		// The window would have the whole record if the input had it.
		err = fmt.Errorf("at offset %d: the record is cut: %d bytes are left", off, len(b))
		if f.info.Pipe && !f.cut {
			// A pipe ends where its writer stopped.
			f.cut = true
			f.early("its last record is cut")
		}
		return f.damaged(err)
	}
	return nil
}

// damaged ends reading at bytes that cannot be decoded: with an error, or, if
// the recording is known to be cut, with a warning.
func (f *File) damaged(err error) error {
	if f.cut {
		f.warn("reading stopped %v", err)
		return io.EOF
	}
	return f.bad("%w", err).WithHint("what comes before it was read; record again, the file is damaged")
}

// atEnd is called when the input is used up.
func (f *File) atEnd() error {
	if f.packed.within() {
		f.warn("the compressed records end within a record")
		f.loss.Truncated++
	}
	switch {
	case f.marks.promised:
		f.early("its writer did not say that it was done")
	case f.info.Pipe && f.marks.rounds && f.marks.open && !f.appended():
		f.early("it ends within a pass over the rings, its writer was killed")
	}
	return io.EOF
}

// appended reports that perf writes samples after the last round, as for the
// counts of its own programs (perf record --off-cpu).
func (h *head) appended() bool {
	return slices.ContainsFunc(h.attrs, func(a attr) bool { return a.name == "offcpu-time" })
}

// broken returns the error for an input that cannot be read. A broken
// connection is not an error but an early end of the recording.
func (f *File) broken(ctx context.Context, err error) error {
	if errors.Is(err, errWait) || ctx.Err() != nil || !f.marks.promised {
		return err
	}
	f.early(diag.Reason(err).Error())
	return io.EOF
}

// scan splits b into runs and special records; off is the offset of b, for
// messages. It returns the number of bytes that it used: up to the first
// incomplete record, or to the end of a record that has a payload after it, is
// compressed, or ends a round.
func (f *File) scan(b []byte, buf *buffer, off uint64, top bool) (used int, skip uint64, err error) {
	start, p := 0, 0
	for len(b)-p >= recHeaderSize {
		size := int(le.Uint16(b[p+6:]))
		if size < recHeaderSize {
			err = fmt.Errorf("at offset %d: record size: got %d, want at least %d", off+uint64(p),
				size, recHeaderSize)
			break
		}
		if size > len(b)-p {
			break
		}
		typ := le.Uint32(b[p:])
		if typ < userTypeStart {
			f.marks.open = f.marks.open || typ == unix.PERF_RECORD_SAMPLE
			p += size
			continue
		}
		f.emit(b[start:p], buf)
		rec := b[p : p+size : p+size]
		if !top && (typ == recCompressed || typ == recCompressed2) {
			return p, 0, fmt.Errorf("at offset %d: a compressed record within a compressed one", off+
				uint64(p))
		}
		skip, err = f.special(rec)
		if err != nil {
			return p, 0, fmt.Errorf("at offset %d: %w", off+uint64(p), err)
		}
		p += size
		start = p
		if skip > 0 || f.packed.open && top || f.out.sorted != nil && typ == recFinishedRound {
			return p, skip, nil
		}
	}
	f.emit(b[start:p], buf)
	return p, 0, err
}

// emit passes a run to the rings.
func (f *File) emit(b []byte, buf *buffer) {
	switch {
	case len(b) == 0:
	case f.out.split != nil:
		f.out.split.run(b, f.give)
	default:
		f.give(b, buf)
	}
}

func (f *File) give(b []byte, buf *buffer) {
	if d := f.out.deferred; d != nil && !d.scanned {
		d.take(b)
	}
	switch {
	case f.out.sorted != nil:
		f.out.sorted.add(run{b, buf})
	case f.out.plain != nil:
		f.out.plain.add(run{b, buf})
	}
}

// special handles a record of perf itself. skip is the size of the payload
// after it, which is not part of the record.
func (f *File) special(rec []byte) (skip uint64, err error) {
	body := rec[recHeaderSize:]
	c := &bytecursor.Cursor{B: body}
	switch le.Uint32(rec) {
	case recFinishedRound:
		f.marks.rounds, f.marks.open = true, false
		if f.out.sorted != nil && !f.info.Directory {
			f.out.sorted.round()
		}
	case recCompressed:
		f.startInflate(body)
	case recCompressed2:
		n := c.U64()
		f.startInflate(c.Take(n))
	case recAuxtrace:
		skip = c.U64()
	case recTracingData:
		skip = uint64(c.U32())
	case recBuildID:
		f.buildID(le.Uint16(rec[4:]), body)
	case recIDIndex:
		f.idIndex(c)
	case recHeaderAttr:
		return 0, f.headerAttr(body)
	case recEventUpdate:
		return 0, f.eventUpdate(c)
	case recHeaderFeature:
		id := c.U64()
		if c.Err == nil && id < featBits && id != featTracingData {
			if err := f.feature(int(id), c.B); err != nil {
				f.warn("feature %d: %v", id, err)
			}
		}
	}
	return skip, c.Err
}

// headerAttr reads the description of an event at the start of a pipe.
func (h *head) headerAttr(body []byte) error {
	if !h.metadata {
		h.warn("an event was described after the first record: it is not read")
		return nil
	}
	a, err := parseAttr(body)
	if err != nil {
		return err
	}
	size := int(a.Size)
	if size == 0 {
		size = minAttrSize
	}
	if size > len(body) {
		return fmt.Errorf("attr: size: got %d, want at most %d", size, len(body))
	}
	// Parse it again without the ids after it.
	if a, err = parseAttr(body[:size]); err != nil {
		return err
	}
	a.ids = words(body[size:])
	if len(h.attrs) >= maxAttrs {
		return fmt.Errorf("attr: more than %d events", maxAttrs)
	}
	h.attrs = append(h.attrs, a)
	return nil
}

// eventUpdate reads the name of an event. Other kinds of updates are passed to
// Options.Update.
func (f *File) eventUpdate(c *bytecursor.Cursor) error {
	kind, id := c.U64(), c.U64()
	if c.Err == nil && kind == endKind {
		return f.marks.take(c)
	}
	if c.Err == nil && f.opt.Update != nil && kind > eventUpdateLast {
		return f.opt.Update(kind, id, c.B)
	}
	if c.Err != nil || kind != eventUpdateName || !f.metadata {
		return c.Err
	}
	for i := range f.attrs {
		for _, have := range f.attrs[i].ids {
			if have == id {
				f.attrs[i].name = text(c.B)
				return nil
			}
		}
	}
	return nil
}

// idIndex reads the CPU of each id, for samples without a CPU.
func (h *head) idIndex(c *bytecursor.Cursor) {
	n := c.U64()
	if h.idCPU == nil {
		h.idCPU = map[uint64]int32{}
	}
	for ; n > 0 && len(c.B) >= 32; n-- {
		id, _, cpu, _ := c.U64(), c.U64(), c.U64(), c.U64()
		if len(h.idCPU) < maxAttrs*16 {
			h.idCPU[id] = int32(cpu)
		}
	}
}

// startInflate starts with the payload of a compressed record.
func (f *File) startInflate(b []byte) {
	f.info.Compressed = true
	f.packed.begin(b)
}

// inflate decompresses until the payload is used up, or bufferSize bytes were
// made, since the output of a payload may be very large.
func (f *File) inflate() error {
	z := &f.packed
	for n := 0; n < bufferSize; {
		b, err := z.z.more()
		if err != nil {
			return f.damaged(fmt.Errorf("at offset %d: compressed records: %w", f.in.off(), err))
		}
		if b == nil {
			z.open = false
			return nil
		}
		n += len(b)
		z.add(b, &f.pool)
		used, skip, err := f.scan(z.rest(), z.buf, f.in.off(), false)
		z.at += used
		if err == nil && skip > 0 {
			err = fmt.Errorf("at offset %d: a record with a payload within compressed records", f.in.off())
		}
		if err != nil {
			return f.damaged(err)
		}
	}
	return nil
}
