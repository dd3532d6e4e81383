package session

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perfdata"

	"golang.org/x/sys/unix"
)

// TestLateEventsAreExplained checks that events that lie in a recording behind newer ones, over
// several rounds, are counted late, and a message explains that.
func TestLateEventsAreExplained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.data")
	w, err := perfdata.Create(path, perfdata.WriteOptions{Version: "test", Cmdline: []string{"test"}})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Add(perfdata.StreamInfo{Name: "cpu-clock", IDs: []uint64{1},
		Attr: unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
			Sample: 1, Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
			Bits: unix.PerfBitSampleIDAll}})
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	for _, round := range [][]uint64{{10, 20}, {30}, {40}, {5, 50}} {
		for _, at := range round {
			rec := le.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
			rec = le.AppendUint16(le.AppendUint16(rec, 2), 32)
			for _, v := range []uint64{1<<32 | 1, at, 0} {
				rec = le.AppendUint64(rec, v)
			}
			if err := w.Write(rec); err != nil {
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
	var said []string
	_, o, err := runJSON(t, Config{Options: Options{Recording: Recording{Path: path}, Interval: 1},
		Messages: func(line string) { said = append(said, line) },
		Reports: []plan.Report{count(&plan.Source{Spec: eventspec.Spec{
			Kind: eventspec.Software, Name: "cpu-clock",
		}})}})
	if err != nil {
		t.Fatal(err)
	}
	if o.Loss.Late != 1 || o.Samples != 6 {
		t.Errorf("got %d late of %d samples, want 1 of 6", o.Loss.Late, o.Samples)
	}
	want := "late: 1 events lay in the recording behind newer ones, more than reading it in order could mend: they are in the results, in that place"
	if !slices.Contains(said, want) {
		t.Errorf("got messages %q, want %q", said, want)
	}
}
