package perfdata

import (
	"context"
	"fmt"
	"math/bits"
	"ppscript/runtime/source/bytecursor"
	"time"
)

// This file reads the parts around the records: the file header with its
// sections, and the describing records at the start of a pipe.

// checkMagic returns the header's size in the file, which distinguishes files
// from pipes.
func (h *head) checkMagic(b []byte) (uint64, error) {
	const hint = "give a file that perf record or trace-cmd record wrote (file %s tells what it is)"
	if len(b) == 0 {
		return 0, h.bad("is empty").WithHint("record again: perf record -o %s ...", h.name)
	}
	if len(b) < pipeHeaderSize {
		return 0, h.bad("at offset 0: got %d bytes, want at least %d", len(b), pipeHeaderSize).
			WithHint(hint, h.name)
	}
	switch string(b[:8]) {
	case magic:
	case magicSwapped:
		return 0, h.bad("at offset 0: recorded on a big-endian machine").
			WithHint("convert it there: perf script, or read it on a machine of its kind")
	case magicOld:
		return 0, h.bad("at offset 0: version 1 of the format").
			WithHint("record with perf of Linux 3.6 or later")
	default:
		return 0, h.bad("at offset 0: it begins as neither a perf.data nor a trace.dat does").
			WithHint(hint, h.name)
	}
	size := le.Uint64(b[8:])
	if size != pipeHeaderSize && size != fileHeaderSize {
		return 0, h.bad("at offset 8: header size: got %d, want %d or %d", size,
			fileHeaderSize, pipeHeaderSize).
			WithHint("record again; the file is damaged")
	}
	return size, nil
}

// A section is the offset and size of a part of a file.
type section struct{ off, size uint64 }

func takeSection(c *bytecursor.Cursor) section { return section{c.U64(), c.U64()} }

// in returns the section's bytes; false if some are not in b.
func (s section) in(b []byte) ([]byte, bool) {
	n := uint64(len(b))
	if s.off > n || s.size > n-s.off {
		return nil, false
	}
	return b[s.off : s.off+s.size : s.off+s.size], true
}

// readHeader reads header, attrs and features, and sets the cursor of m to the
// data section.
func (f *File) readHeader(m *mappedInput) error {
	damaged := "record again; the file's head is damaged or cut"
	if len(m.b) < fileHeaderSize {
		return f.bad("header: got %d bytes, want %d", len(m.b), fileHeaderSize).WithHint("%s", damaged)
	}
	c := &bytecursor.Cursor{B: m.b[16:fileHeaderSize], At: 16}
	attrSize := c.U64()
	attrs, data := takeSection(c), takeSection(c)
	takeSection(c) // event types: unused since 2012
	var features [featBits / 64]uint64
	for i := range features {
		features[i] = c.U64()
	}

	list, ok := attrs.in(m.b)
	switch {
	case !ok:
		return f.bad("at offset 24: attrs: %d bytes at %d are not in the file of %d bytes", attrs.size,
			attrs.off, len(m.b)).
			WithHint("%s", damaged)
	case attrSize < minAttrSize+sectionSize || attrSize > 4096:
		return f.bad("at offset 16: attr size: got %d, want at least %d", attrSize, minAttrSize+sectionSize).
			WithHint("%s", damaged)
	case attrs.size/attrSize > maxAttrs:
		return f.bad("at offset 32: got %d events, want at most %d", attrs.size/attrSize, maxAttrs).
			WithHint("%s", damaged)
	}
	for at := attrs.off; uint64(len(list)) >= attrSize; at, list = at+attrSize, list[attrSize:] {
		a, err := parseAttr(list[:attrSize-sectionSize])
		if err != nil {
			return f.bad("at offset %d: %w", at, err).WithHint("%s", damaged)
		}
		ids, ok := takeSection(&bytecursor.Cursor{B: list[attrSize-sectionSize : attrSize]}).in(m.b)
		if !ok {
			return f.bad("at offset %d: ids of event %d are not in the file",
				at+attrSize-sectionSize, len(f.attrs)).
				WithHint("%s", damaged)
		}
		a.ids = words(ids)
		f.attrs = append(f.attrs, a)
	}

	if data.off < fileHeaderSize || data.off > uint64(len(m.b)) {
		return f.bad("at offset 40: data: got offset %d in a file of %d bytes", data.off, len(m.b)).
			WithHint("%s", damaged)
	}
	m.at, m.end = int(data.off), len(m.b)
	switch {
	case data.size == 0:
		// perf record writes the size at the end.
		f.cut = true
		f.early("it was not finished, perf record was killed")
	case data.size > uint64(len(m.b))-data.off:
		f.cut = true
		f.early(fmt.Sprintf("it is cut: got %d bytes of records, want %d",
			uint64(len(m.b))-data.off, data.size))
	default:
		m.end = int(data.off + data.size)
		f.readFeatures(m.b, uint64(m.end), features[:])
	}
	return nil
}

// readFeatures reads the table after the data, and the sections to which it
// points. Damaged features are left out; the recording is still read.
func (h *head) readFeatures(b []byte, at uint64, set []uint64) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			id := 64*w + bits.TrailingZeros64(word)
			entry, ok := section{at, sectionSize}.in(b)
			if !ok {
				h.warn("at offset %d: the table of features is cut", at)
				return
			}
			s := takeSection(&bytecursor.Cursor{B: entry})
			body, ok := s.in(b)
			if !ok {
				h.warn("at offset %d: feature %d is not in the file", at, id)
			} else if err := h.feature(id, body); err != nil {
				h.warn("at offset %d: feature %d: %v", s.off, id, err)
			}
			at += sectionSize
		}
	}
}

// readMetadata reads a pipe up to the first record that is not a description.
func (f *File) readMetadata(ctx context.Context) error {
	for {
		b, _, err := f.in.window(ctx, time.Time{}, recHeaderSize)
		if err != nil {
			return f.silent(err)
		}
		if len(b) < recHeaderSize {
			return nil // the recording has only a description
		}
		if typ := le.Uint32(b); typ < userTypeStart || !describes(typ) {
			return nil
		}
		size := int(le.Uint16(b[6:]))
		if size < recHeaderSize {
			return nil // the first Poll returns the error
		}
		if b, _, err = f.in.window(ctx, time.Time{}, size); err != nil {
			return f.silent(err)
		}
		if len(b) < size {
			return f.bad("at offset %d: the recording ends in its description", f.in.off()).
				WithHint("record again; the recording is cut")
		}
		rec := b[:size:size]
		off := f.in.off()
		skip, err := f.special(rec)
		if err != nil {
			return f.bad("at offset %d: %w", off, err).WithHint("record again; the recording is damaged")
		}
		f.in.take(size)
		if le.Uint32(rec) == recTracingData {
			err = f.readTracing(ctx, skip)
		} else {
			err = f.discard(ctx, skip)
		}
		if err != nil {
			return err
		}
	}
}

// describes reports that records of this type describe the recording, in
// contrast to its content.
func describes(typ uint32) bool {
	switch typ {
	case recFinishedRound, recFinishedInit, recCompressed, recCompressed2, recAuxtrace:
		return false
	}
	return true
}

// readTracing reads the payload after a TRACING_DATA record.
func (f *File) readTracing(ctx context.Context, size uint64) error {
	off := f.in.off()
	if size > maxTracing {
		return f.bad("at offset %d: tracing data: got %d bytes, want at most %d", off, size, maxTracing).
			WithHint("record again; the recording is damaged")
	}
	b, _, err := f.in.window(ctx, time.Time{}, int(size))
	if err != nil {
		return f.bad("at offset %d: %w", off, err)
	}
	b = b[:min(len(b), int(size))]
	if err := f.feature(featTracingData, b); err != nil {
		return f.bad("at offset %d: %w", off, err).WithHint("record again; the recording is damaged or cut")
	}
	f.in.take(len(b))
	return nil
}

// discard skips bytes of the input.
func (f *File) discard(ctx context.Context, n uint64) error {
	for n > 0 {
		b, _, err := f.in.window(ctx, time.Time{}, 1)
		if err != nil {
			return f.bad("at offset %d: %w", f.in.off(), err)
		}
		if len(b) == 0 {
			return nil
		}
		k := min(uint64(len(b)), n)
		f.in.take(int(k))
		n -= k
	}
	return nil
}

func words(b []byte) []uint64 {
	ws := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		ws = append(ws, le.Uint64(b))
	}
	return ws
}
