package perf

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// A sample of a group becomes a sample for each counter, in every layout.
func TestCounted(t *testing.T) {
	words := func(ws ...uint64) (b []byte) {
		for _, w := range ws {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	head := func(b []byte) []byte {
		h := binary.LittleEndian.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
		h = binary.LittleEndian.AppendUint16(h, 2)
		return append(binary.LittleEndian.AppendUint16(h, uint16(len(b)+8)), b...)
	}
	const base = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_READ
	const group = unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_ID
	f := func(format Format, rec []byte, want []Reading, counted []byte, raw bool) {
		t.Helper()
		l := NewLayout(format)
		got, ok := l.Readings(nil, rec)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%+v: readings: got %v and %v, want %v", format, got, ok, want)
			return
		}
		out, ok := l.AppendCounted(nil, rec, 77, 5, raw)
		if !ok || !slices.Equal(out, counted) {
			t.Errorf("%+v: got % x and %v, want % x", format, out, ok, counted)
		}
		// The layout of such samples says the same.
		e := &event.Event{Kind: event.Sample, Rec: out}
		as := NewLayout(format.Counted(raw))
		if p, ok := as.Member(e, event.MemberPeriod); !ok || p != 5 {
			t.Errorf("%+v: period: got %d and %v, want 5", format, p, ok)
		}
		for n := range rec {
			if _, ok := l.AppendCounted(nil, rec[:n], 1, 1, raw); ok && n < l.fixed {
				t.Errorf("%+v: %d bytes of it: got no error", format, n)
			}
		}
	}
	f(Format{SampleType: base, ReadFormat: group},
		head(words(9, 3<<32|2, 2, 100, 9, 200, 10)), []Reading{{9, 100}, {10, 200}},
		head(words(77, 3<<32|2, 5)), false)
	f(Format{SampleType: base | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_CALLCHAIN,
		ReadFormat: group | unix.PERF_FORMAT_LOST | unix.PERF_FORMAT_TOTAL_TIME_ENABLED},
		head(words(9, 3, 1, 2, 8, 100, 9, 0, 200, 10, 0, 1, 0xaaa, 4|0xbb<<32)),
		[]Reading{{9, 100}, {10, 200}}, head(words(77, 3, 5, 1, 0xaaa, 4|0xbb<<32)), true)
	f(Format{SampleType: base | unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_PHYS_ADDR, ReadFormat: group},
		head(words(9, 3, 1, 100, 9, 4|0xbb<<32, 0xccc)), []Reading{{9, 100}},
		head(words(77, 3, 5, 0xccc)), false)
	f(Format{SampleType: base, ReadFormat: unix.PERF_FORMAT_TOTAL_TIME_RUNNING},
		head(words(9, 3, 100, 8)), []Reading{{9, 100}}, head(words(77, 3, 5)), true)

	// More members than a record holds.
	l := NewLayout(Format{SampleType: base, ReadFormat: group})
	if got, ok := l.Readings(nil, head(words(9, 3, 1<<40, 1, 1))); ok {
		t.Errorf("a group of 2^40: got %v", got)
	}
}
