package perfdata

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// Times in recordings as users write them.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{
		"2s", "-500ms", "441.735402", "10:20:30.5", "2026-01-02 10:20:30", "2026-01-02T10:20:30Z", "-+1s",
		"9999999999999", "-9223372036s", "9223372036s", "0000-01-01", "23:59:59.999999999",
	} {
		f.Add(s)
	}
	span := Span{First: 1e9, Last: 20e9, Wall: time.Unix(1_700_000_000, 0), At: 5e9}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMoment(text)
		if (err == nil) != m.IsSet() {
			t.Fatalf("%q: got %+v and %v", text, m, err)
		}
		if err != nil {
			return
		}
		at, err := m.In(span)
		if err != nil {
			return
		}
		if m.kind == fromStart && at < span.First || m.kind == fromEnd && at > span.Last {
			t.Fatalf("%q: got %v, of a recording of %v to %v", text, at, span.First, span.Last)
		}
	})
}

// A recording in pipe mode comes piece by piece: it holds the same events as a file
// with these bytes, and ends with the same error.
func FuzzPipe(f *testing.F) {
	for _, formats := range []bool{true, false} {
		b := smallPipe(load(f, "pipe"), formats)
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 16 || string(b[:8]) != "PERFILE2" || b[8] != 16 {
			return // not in pipe mode
		}
		checkPipe(t, b)
	})
}

// Seeds are small, since each try copies, changes and reads one: a few records of each kind, and of
// the tables behind them those that are short. formats keeps the long one of tracepoints.

// fewRecords is how many bytes of records, or of a table, a seed has.
const fewRecords, fewBytes = 1500, 400

// hasTracing is the number of the section with tracepoints' formats, and of the record.
const hasTracing, tracingRecord = 1, 66

// smallFile is a file with the first of its records.
func smallFile(b []byte, formats bool) []byte {
	off, size := le.Uint64(b[40:]), le.Uint64(b[48:])
	end := off
	for end < off+size && end-off < fewRecords {
		end += uint64(le.Uint16(b[end+6:]))
	}
	bits := bytes.Clone(b[72:104])
	var kept []uint64 // offset and size in b
	for table, n := b[off+size:], 0; n < 256; n++ {
		if bits[n/8]>>(n%8)&1 == 0 {
			continue
		}
		if at := le.Uint64(table[8:]); at > fewBytes && (n != hasTracing || !formats) {
			bits[n/8] &^= 1 << (n % 8)
		} else {
			kept = append(kept, le.Uint64(table), at)
		}
		table = table[16:]
	}
	small := bytes.Clone(b[:end])
	le.PutUint64(small[48:], end-off)
	copy(small[72:], bits)
	at := end + uint64(8*len(kept))
	for i := 0; i < len(kept); i += 2 {
		small = le.AppendUint64(le.AppendUint64(small, at), kept[i+1])
		at += kept[i+1]
	}
	for i := 0; i < len(kept); i += 2 {
		small = append(small, b[kept[i]:kept[i]+kept[i+1]]...)
	}
	return small
}

// smallPipe is a recording in pipe mode with the first samples.
func smallPipe(b []byte, formats bool) []byte {
	small := bytes.Clone(b[:16])
	samples := 0
	for at := 16; at+8 <= len(b); {
		kind, size := le.Uint32(b[at:]), int(le.Uint16(b[at+6:]))
		if kind == tracingRecord { // the formats follow
			size += (int(le.Uint32(b[at+8:])) + 7) &^ 7
		}
		if kind == sampleRecord {
			samples++
		}
		if size <= fewBytes && samples <= fewSamples || kind == tracingRecord && formats {
			small = append(small, b[at:at+size]...)
		}
		at += size
	}
	return small
}

// sampleRecord is PERF_RECORD_SAMPLE; so many are enough.
const sampleRecord, fewSamples = 9, 8

// TestSmallSeeds checks that small seeds hold what large ones do, but less of it.
func TestSmallSeeds(t *testing.T) {
	for _, name := range recordings {
		for _, formats := range []bool{true, false} {
			whole := load(t, name)
			small := smallFile
			if name == "pipe" {
				small = smallPipe
			}
			b := small(whole, formats)
			if len(b) >= len(whole) {
				t.Errorf("%s: got a seed of %d bytes, as large as the recording", name, len(b))
			}
			f, err := openMapped(t.Context(), &mappedInput{b: b, end: len(b)}, name, Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			rings, err := drain(f)
			if err != io.EOF || formats && name != "zstd" && numSamples(rings) == 0 {
				t.Errorf("%s: got %d samples and %v", name, numSamples(rings), err)
			}
			f.Close()
		}
	}
}
