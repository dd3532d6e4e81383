package tracedat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// all are the records of a file, as texts.
func all(t testing.TB, f *File) (list []string) {
	t.Helper()
	r := f.Reader()
	defer r.Close()
	for rec := (Record{}); r.Next(&rec); {
		if rec.Missed > 0 {
			list = append(list, fmt.Sprintf("%d cpu%d missed %d", rec.Time, rec.CPU, rec.Missed))
			continue
		}
		list = append(list, fmt.Sprintf("%d cpu%d tid%d id%d %x", rec.Time, rec.CPU, rec.TID(), rec.ID(),
			rec.Data[8:]))
	}
	if r.Err() != nil {
		t.Errorf("got error %v, want none", r.Err())
	}
	return list
}

// several is a file with each kind of record.
func several(algorithm string) *built {
	stored := le.AppendUint64(nil, 42)
	return &built{algorithm: algorithm, cpus: [][]byte{
		slices.Concat(
			pageOf(1000, 0,
				record(0, entry(7, 1, 2, 3, 4)),
				words(5<<5|typeTimeExtend, 2), // 2<<27 + 5
				record(1, entry(8)),
				words(1<<5|typePadding, 12), make([]byte, 8), // discarded
				record(2, entry(9, bytes.Repeat([]byte{6}, 5)...)), // of odd size
				words(0<<5|typePadding)),
			pageOf(1<<30, commitMissed, record(3, entry(10))),
			// The number of missing records follows the last record.
			slices.Concat(pageOf(1<<60|7, commitMissed|commitStored, record(0, entry(11)))[:16+12], stored,
				make([]byte, testPage-16-12-8)),
			// A stamp has the lower 59 bits.
			pageOf(1<<60|7, 0, words(9<<5|typeTimeStamp, 1), record(0, entry(12))),
		),
		pageOf(1500, 0, record(0, entry(20)), record(1<<27-1, entry(21, bytes.Repeat([]byte{1}, 120)...))),
	}}
}

var severalWant = []string{
	"1000 cpu0 tid7 id5 01020304",
	"1500 cpu1 tid20 id5 ",
	"134219227 cpu1 tid21 id5 " + strings.Repeat("01", 120),
	"268436462 cpu0 tid8 id5 ",
	"268436465 cpu0 tid9 id5 0606060606",
	"1073741824 cpu0 missed 1",
	"1073741827 cpu0 tid10 id5 ",
	"1152921504606846983 cpu0 missed 42",
	"1152921504606846983 cpu0 tid11 id5 ",
	"1152921504741064713 cpu0 tid12 id5 ",
}

func TestEachKindOfRecord(t *testing.T) {
	for _, algorithm := range []string{"none", "zstd", "zlib"} {
		b := several(algorithm).bytes(t)
		f, err := Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", algorithm, err)
		}
		if got := all(t, f); !slices.Equal(got, severalWant) {
			t.Errorf("%s: got\n%s\nwant\n%s", algorithm, strings.Join(got, "\n"),
				strings.Join(severalWant, "\n"))
		}
		if f.Cmdlines != "7 seven\n" || f.Clock != "mono" || f.Formats[0].System != "s" ||
			f.First() != 1000 || f.Last() != 1152921504741064713 || len(f.Warnings) != 0 {
			t.Errorf("%s: got %q, clock %s, last %d, warnings %q", algorithm, f.Cmdlines, f.Clock, f.Last(),
				f.Warnings)
		}
		r := f.Reader()
		for rec := (Record{}); r.Next(&rec); {
		}
		if r.Missed != 43 || r.Gaps != 1 || r.Damaged != 0 || r.Short != 0 {
			t.Errorf("%s: got %+v, want 43 missing, one gap of unknown size", algorithm, r.Tally)
		}
		r.Close()
	}
}

// TestTimesOfClocks: the CPU's counter is converted to ns, and a guest's times to its
// host's clock.
func TestTimesOfClocks(t *testing.T) {
	read := func(id uint16, body []byte) *File {
		page := pageOf(3000, 0, record(0, entry(1)), record(500, entry(2)))
		b := &built{algorithm: "none", cpus: [][]byte{page}}
		b.option(id, body)
		f, err := Parse(b.bytes(t))
		if err != nil || len(f.Warnings) > 0 {
			t.Fatal(err, f.Warnings)
		}
		return f
	}
	for _, c := range []struct {
		name  string
		id    uint16
		body  []byte
		times []int64
	}{
		{"cycles", optionTSC, append(words(1<<9, 10), make([]byte, 8)...), []int64{1500, 1750}},
		{"offset", optionOffset, []byte("-1000\x00"), []int64{2000, 2500}},
		// Two corrections, +100 at 3000 and +200 at 4000: between them it grows evenly.
		{"guest", optionTimeShift, slices.Concat(make([]byte, 8), words(1, 1, 2),
			longs(3000, 4000), longs(100, 200), longs(1, 1)), []int64{3100, 3650}},
	} {
		f := read(c.id, c.body)
		r := f.Reader()
		var got []int64
		for rec := (Record{}); r.Next(&rec); {
			got = append(got, rec.Time)
		}
		if !slices.Equal(got, c.times) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.times)
		}
	}
	if f := read(optionDate, []byte("0x10\x00")); f.WallNS != 16000 {
		t.Errorf("date: got %d ns, want 16000", f.WallNS)
	}
}

// TestDamage: what cannot be read is an error or a warning, which says where.
func TestDamage(t *testing.T) {
	whole := several("zstd").bytes(t)
	f := func(want string, foreign bool, change func(b []byte) []byte) {
		t.Helper()
		_, err := Parse(change(bytes.Clone(whole)))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrForeign) != foreign {
			t.Errorf("got %v, want %q (foreign: %v)", err, want, foreign)
		}
	}
	f("big-endian", true, func(b []byte) []byte { b[12] = 1; return b })
	f(`version: got "8"`, true, func(b []byte) []byte { b[10] = '8'; return b })
	f("page size", false, func(b []byte) []byte { b[14] = 0; b[15] = 0; return b })
	f("not in the file", false, func(b []byte) []byte { return b[:len(b)/2] })
	f("at byte", false, func(b []byte) []byte { return b[:len(b)-4] })
	f("lzma", true, func(b []byte) []byte {
		return bytes.Replace(b, []byte("zstd\x00"), []byte("lzma\x00"), 1)
	})
	f("comes twice", false, func(b []byte) []byte {
		at := binary.LittleEndian.Uint64(b[len(magic)+2+2+4+7:])
		copy(b[len(b)-8:], le.AppendUint64(nil, at))
		return b
	})
	f("latency tracer", true, func([]byte) []byte {
		b := &built{algorithm: "none"}
		b.option(optionText, make([]byte, 8))
		out := b.bytes(t)
		// Without its buffer.
		return bytes.Replace(out, append(le.AppendUint16(nil, optionBuffer), 22, 0, 0, 0),
			append(le.AppendUint16(nil, 60), 22, 0, 0, 0), 1)
	})

	// Version 6, cut within the records: all before the cut is there.
	b, err := os.ReadFile("../../../tests/data/cmd6.dat")
	if err != nil {
		t.Fatal(err)
	}
	count := func(b []byte) (n int, f *File) {
		f, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		return len(all(t, f)), f
	}
	n, _ := count(b)
	cut, file := count(b[:len(b)-5000])
	if cut >= n || cut == 0 || !file.Cut || len(file.Warnings) == 0 {
		t.Errorf("got %d of %d records, cut %v, warnings %q; want fewer, and a warning", cut, n, file.Cut,
			file.Warnings)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	var parts [][]byte
	for range 10000 {
		parts = append(parts, pageOf(1000, 0, record(1, entry(1)), record(1, entry(2))))
	}
	f, err := Parse((&built{algorithm: "none", cpus: [][]byte{bytes.Join(parts, nil)}}).bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	r := f.Reader()
	var rec Record
	if n := testing.AllocsPerRun(1000, func() { r.Next(&rec) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// FuzzParse: any bytes are read to their end or refused; records are of the file's
// size at most, and no more than fit.
func FuzzParse(f *testing.F) {
	for _, algorithm := range []string{"none", "zstd", "zlib"} {
		b := several(algorithm).bytes(f)
		f.Add(b)
		f.Add(b[:len(b)-20])
	}
	six, err := os.ReadFile("testdata/six.dat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(six)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(b)
		if err != nil {
			return
		}
		last := file.Last()
		r := file.Reader()
		defer r.Close()
		records, latest := 0, int64(0)
		for rec := (Record{}); r.Next(&rec); {
			if rec.Missed == 0 && len(rec.Data) < recordHead {
				t.Fatalf("got a record of %d bytes", len(rec.Data))
			}
			if rec.CPU < 0 || rec.CPU >= maxCPUs || rec.Buffer >= len(file.Buffers) {
				t.Fatalf("got CPU %d, buffer %d", rec.CPU, rec.Buffer)
			}
			if rec.Missed == 0 {
				latest = max(latest, rec.Time)
			}
			// Compressed ones can swell, by far less than this in a small file.
			if records++; records > 1<<22 && file.unzip == "" {
				t.Fatalf("got more than %d records of %d bytes", records, len(b))
			}
		}
		if last > latest && r.Err() == nil {
			t.Fatalf("last: got %d, want at most %d", last, latest)
		}
	})
}

// BenchmarkNext is what one record costs.
func BenchmarkNext(b *testing.B) {
	for _, name := range []string{"cmd6", "cmd7"} {
		b.Run(name, func(b *testing.B) {
			bytes, err := os.ReadFile("../../../tests/data/" + name + ".dat")
			if err != nil {
				b.Fatal(err)
			}
			f, err := Parse(bytes)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				r := f.Reader()
				for rec := (Record{}); r.Next(&rec); {
					n++
				}
				r.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/record")
		})
	}
}
