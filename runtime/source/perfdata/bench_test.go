package perfdata

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"ppscript/runtime/event"
)

// enlarge makes a recording with at least n samples: the records of a real
// one over and over, with later times each time. A round ends each copy.
func enlarge(t testing.TB, name string, n int) []byte {
	t.Helper()
	b := load(t, name)
	off, size := le.Uint64(b[40:]), le.Uint64(b[48:])
	data := b[off : off+size]
	f := open(t, name, Options{})
	defer f.Close()
	samples, span := 0, event.Time(0)
	var first event.Time
	for _, e := range all(t, f)[0] {
		if e.Kind == event.Sample {
			if first == 0 {
				first = e.Time
			}
			samples++
			span = max(span, e.Time-first+1)
		}
	}
	var out bytes.Buffer
	out.Write(b[:off])
	for k := 0; k*samples < n; k++ {
		copied := bytes.Clone(data)
		for at := 0; at < len(copied); {
			typ, sz := le.Uint32(copied[at:]), int(le.Uint16(copied[at+6:]))
			stamp := at + 24 // of PERF_RECORD_SAMPLE: IP, TID, TIME
			if typ != 9 {
				stamp = at + sz - 24 // TIME, ID, CPU at the end
			}
			if typ < userTypeStart && le.Uint64(copied[stamp:]) != 0 {
				le.PutUint64(copied[stamp:], le.Uint64(copied[stamp:])+uint64(k)*uint64(span))
			}
			at += sz
		}
		out.Write(copied)
		out.Write([]byte{recFinishedRound, 0, 0, 0, 0, 0, recHeaderSize, 0})
	}
	end := uint64(out.Len())
	le.PutUint64(out.Bytes()[48:], end-off)
	// The table of features points to offsets after the data.
	tail := bytes.Clone(b[off+size:])
	shift := end - (off + size)
	bitsSet := 0
	for _, x := range b[72:104] {
		for ; x != 0; x &= x - 1 {
			bitsSet++
		}
	}
	for i := range bitsSet {
		le.PutUint64(tail[16*i:], le.Uint64(tail[16*i:])+shift)
	}
	out.Write(tail)
	return out.Bytes()
}

func openBytes(t testing.TB, b []byte, opt Options) *File {
	t.Helper()
	f, err := openMapped(context.Background(), &mappedInput{b: b, end: len(b)}, "bytes", opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// BenchmarkRead measures the reading of an event from the mapping, through scan
// and decode, into a batch; one operation is one event.
func BenchmarkRead(b *testing.B) {
	const events = 1 << 20
	data := enlarge(b, "trace", events)
	for _, ordered := range []bool{false, true} {
		b.Run(fmt.Sprintf("ordered=%v/1M", ordered), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data) / events))
			dst := make([]event.Event, 256)
			ctx := context.Background()
			for done := 0; done < b.N; {
				f := openBytes(b, data, Options{Ordered: ordered})
				for err := error(nil); err == nil && done < b.N; {
					err = f.Poll(ctx, 0)
					for _, r := range f.Rings() {
						_, visible := r.Bounds()
						for r.Pos() < visible {
							done += r.Read(dst, visible)
							r.Release()
						}
					}
				}
				f.Close()
			}
		})
	}
}
