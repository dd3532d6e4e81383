package perfdata

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// A deflater packs records into COMPRESSED records: pieces of one zstd stream,
// each flushed so that it can be decompressed before the next one comes. The
// stream never ends, as perf's does not: its reader takes a payload without
// output for an error.
type deflater struct {
	enc     *zstd.Encoder
	out     bytes.Buffer
	recs    [][]byte
	pending int // bytes that were put in since the last flush
	in      uint64
	done    uint64
}

// The reader unpacks each COMPRESSED record into one buffer, of the size
// that the COMPRESSED feature tells. So little is flushed at a time that a
// payload usually fits into one record (64 KiB), and the buffer holds all of
// it in any case.
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

// add puts a record in, and returns COMPRESSED records when there are enough;
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

// flush returns all that was put in as COMPRESSED records.
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

// ratio is how many times smaller the records got, at least 1.
func (d *deflater) ratio() uint32 {
	if d.done == 0 {
		return 1
	}
	return uint32(max(1, d.in/d.done))
}

func (d *deflater) close() {
	d.enc.Reset(nil)
}
