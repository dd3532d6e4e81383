package perf

import (
	"slices"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	ev := getppid(t, h.tid)
	ev.Label = "calls"
	s := openSource(t, Config{Events: []EventConfig{
		ev, {Schema: clock("cpu-clock").Schema, Freq: 99, Payload: Payload{Callchain: true}},
	},
		Target: Target{CPUs: []int{0}}, Pages: 4})
	want := []string{
		"calls = raw_syscalls:sys_enter if " + ev.Filter,
		"software:cpu-clock, 99 times a second, with stack",
		"attached to CPUs 0",
		"1 ring of 16KiB, one for each CPU, read when 50 % full; 2 open events",
	}
	if got := s.Describe(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStatsOutliveClose(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	s := openSource(t, Config{Events: []EventConfig{getppid(t, h.tid)}, Target: Target{CPUs: []int{0}}})
	h.do("call 25")
	drain(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Mode != "cpu" || st.Events != 1 || st.Opened != 1 || st.Records != 25 || st.Bytes < 25*40 ||
		len(st.Rings) != 1 || st.Rings[0].CPU != 0 || st.Rings[0].SizeBytes != 512<<10 ||
		st.Rings[0].PeakBytes != st.Bytes {
		t.Errorf("got %+v", st)
	}
}
