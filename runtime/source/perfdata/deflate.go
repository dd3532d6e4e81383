package perfdata

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// A deflater compresses records into COMPRESSED records. These are pieces of
// one zstd stream, each flushed so that it can be decompressed before the next
// one arrives. Like perf's stream, it has no end, since perf's reader reports a
// payload without output as an error.
type deflater struct {
	enc     *zstd.Encoder
	out     bytes.Buffer
	recs    [][]byte
	pending int // bytes that were added since the last flush
	in      uint64
	done    uint64
}

// perf's reader decompresses each COMPRESSED record into one buffer, with the
// size in the COMPRESSED feature. flushEvery is so small that a payload usually
// fits into one record (64 KiB), and its output always fits into the buffer.
const (
	flushEvery   = 48 << 10
	inflateBound = 256 << 10
	maxPayload   = 1<<16 - 1 - recHeaderSize
)

func newDeflater(level int) (*deflater, error) {
	if level == 0 {
		level = 1
	}
	d := new(deflater)
	enc, err := zstd.NewWriter(&d.out, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	d.enc = enc
	return d, err
}

// add adds a record, and returns COMPRESSED records if enough bytes were added;
// they are valid until the next call.
func (d *deflater) add(rec []byte) [][]byte {
	var out [][]byte
	if d.pending+len(rec) > flushEvery {
		out = d.flush()
	}
	d.pending += len(rec)
	// It writes to memory, which does not fail.
	if _, err := d.enc.Write(rec); err != nil {
		panic("BUG: compress: " + err.Error())
	}
	return out
}

// flush returns all records that were added since the last flush as COMPRESSED
// records.
func (d *deflater) flush() [][]byte {
	if d.pending == 0 {
		return nil
	}
	if err := d.enc.Flush(); err != nil {
		panic("BUG: compress: " + err.Error())
	}
	d.in += uint64(d.pending)
	d.done += uint64(d.out.Len())
	d.pending = 0
	d.recs = d.recs[:0]
	for d.out.Len() > 0 {
		part := d.out.Next(maxPayload)
		d.recs = append(d.recs, append(header(recCompressed, 0, uint16(recHeaderSize+len(part))), part...))
	}
	d.out.Reset()
	return d.recs
}

// ratio returns the size before compression divided by the size after it, at
// least 1.
func (d *deflater) ratio() uint32 {
	if d.done == 0 {
		return 1
	}
	return uint32(max(1, d.in/d.done))
}

func (d *deflater) close() {
	d.enc.Reset(nil)
}
