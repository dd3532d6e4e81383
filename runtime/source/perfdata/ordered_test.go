package perfdata

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// A stamp is a sample at a time on a CPU; without a time, a record that perf
// made itself.
type stamp struct {
	time event.Time
	cpu  int32
}

// record is the sample's record for sample_type TIME|CPU.
func (s stamp) record() []byte {
	if s.time == 0 {
		b := header(unix.PERF_RECORD_KSYMBOL, 0, 48)
		b = append(b, make([]byte, 16+8+8)...) // symbol, name, no time
		return le.AppendUint64(b, uint64(uint32(s.cpu)))
	}
	b := header(unix.PERF_RECORD_SAMPLE, 0, 24)
	b = le.AppendUint64(b, uint64(s.time))
	return le.AppendUint64(b, uint64(uint32(s.cpu)))
}

// writeRounds makes a recording with these rounds.
func writeRounds(t *testing.T, compress bool, rounds ...[]stamp) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rounds.data")
	w, err := Create(path, WriteOptions{Compress: compress})
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU, Bits: unix.PerfBitSampleIDAll}
	if err := w.Add(StreamInfo{Attr: attr, IDs: []uint64{7}, Name: "dummy"}); err != nil {
		t.Fatal(err)
	}
	for _, round := range rounds {
		for _, s := range round {
			if err := w.Write(s.record()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.FinishedRound(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return path
}

// polls opens a recording in time order and returns the times that each
// Poll showed, by CPU.
func polls(t *testing.T, path string, opt Options) (shown []string, biggest int) {
	t.Helper()
	opt.Ordered = true
	f, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dst := make([]event.Event, 10)
	for err == nil {
		err = f.Poll(context.Background(), time.Second)
		biggest = max(biggest, f.pool.live)
		byCPU := map[int32][]event.Time{}
		for _, r := range f.Rings() {
			_, visible := r.Bounds()
			for r.Pos() < visible {
				for _, e := range dst[:r.Read(dst, visible)] {
					byCPU[e.CPU] = append(byCPU[e.CPU], e.Time)
				}
				r.Release()
			}
		}
		shown = append(shown, fmt.Sprint(byCPU))
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return shown, biggest
}

// A Poll shows only records that were complete when the round before began: 25
// came in the second round though 30 of another CPU was in the first.
func TestRoundsShowWhatIsComplete(t *testing.T) {
	for _, compress := range []bool{false, true} {
		path := writeRounds(t, compress,
			[]stamp{{10, 0}, {30, 0}, {20, 1}},
			[]stamp{{40, 0}, {25, 1}, {50, 1}},
			[]stamp{{60, 0}, {52, 1}, {55, 1}},
		)
		got, _ := polls(t, path, Options{})
		want := []string{"map[0:[10 30] 1:[20 25]]", "map[0:[40] 1:[50]]", "map[0:[60] 1:[52 55]]"}
		if !slices.Equal(got, want) {
			t.Errorf("compressed %v: got %q, want %q", compress, got, want)
		}
	}
}

// A record without a time among others does not show them too early: 35 was
// written before 40, and comes a round later.
func TestRecordsWithoutTime(t *testing.T) {
	path := writeRounds(t, false,
		[]stamp{{10, 0}, {30, 0}, {20, 1}},
		[]stamp{{40, 0}, {0, 0}, {50, 0}},
		[]stamp{{60, 0}, {35, 1}},
	)
	got, _ := polls(t, path, Options{})
	want := []string{"map[0:[0 10 30] 1:[20]]", "map[0:[40 50] 1:[35]]", "map[0:[60]]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestThreadRingsAreSorted checks that rings of threads bring the events of a CPU in any order.
func TestThreadRingsAreSorted(t *testing.T) {
	path := writeRounds(t, false,
		[]stamp{{10, 0}, {40, 0}, {20, 0}, {30, 0}},
		[]stamp{{60, 0}, {35, 0}, {50, 0}},
	)
	got, _ := polls(t, path, Options{})
	want := []string{"map[0:[10 20 30 35 40]]", "map[0:[50 60]]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Without rounds all is sorted at the end.
func TestNoRounds(t *testing.T) {
	path := writeRounds(t, false, []stamp{{30, 0}, {10, 1}, {20, 0}, {5, -1}})
	got, _ := polls(t, path, Options{})
	if want := []string{"map[-1:[5] 0:[20 30] 1:[10]]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMaxPending checks that compressed records without rounds are not held back without limit.
func TestMaxPending(t *testing.T) {
	const n = 200_000
	round := make([]stamp, n)
	for i := range round {
		round[i] = stamp{event.Time(1000 + i), int32(i % 3)}
	}
	path := writeRounds(t, true, round)
	got, biggest := polls(t, path, Options{MaxPending: 1 << 20})
	if len(got) < 4 {
		t.Errorf("got all in %d Polls", len(got))
	}
	if biggest > 3<<20 {
		t.Errorf("got %d bytes held back, want about %d", biggest, 1<<20)
	}
	f, err := Open(path, Options{Ordered: true, MaxPending: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	total := 0
	for i, r := range all(t, f) {
		total += len(r)
		for k := 1; k < len(r); k++ {
			if r[k].Time < r[k-1].Time {
				t.Fatalf("ring %d: time went back", i)
			}
		}
	}
	if total != n || f.Early() == 0 || f.Early() >= n {
		t.Errorf("got %d events, %d of them early; want %d, and some early", total, f.Early(), n)
	}
}

// TestWildCPUs checks that damaged CPU numbers do not make an unlimited number of
// rings.
func TestWildCPUs(t *testing.T) {
	var round []stamp
	for i := range 20_000 {
		round = append(round, stamp{event.Time(i + 1), int32(i * 100_003)})
	}
	f, err := Open(writeRounds(t, false, round), Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for _, r := range all(t, f) {
		n += len(r)
	}
	if n != len(round) || len(f.Rings()) > maxRings {
		t.Errorf("got %d events in %d rings, want %d in at most %d", n, len(f.Rings()), len(round), maxRings)
	}
}

// TestCPUOfID checks that samples without a CPU have the CPU of their id.
func TestCPUOfID(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		f := open(t, "stacks", Options{Ordered: ordered})
		n := 0
		for _, r := range all(t, f) {
			for i := range r {
				if r[i].Kind != event.Sample {
					continue
				}
				n++
				if r[i].CPU != 0 {
					t.Fatalf("ordered %v: sample %d: CPU: got %d, want 0", ordered, n, r[i].CPU)
				}
			}
		}
		if n == 0 {
			t.Error("no samples")
		}
		f.Close()
	}
}
