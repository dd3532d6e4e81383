// Package data tests that the recordings contain the events that their READMEs
// describe. It reads them without any profiler.
package data

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
)

// svmReasons are the exit reasons in kvm.data, named as in AMD's manual.
var svmReasons = map[int64]string{0x60: "interrupt", 0x72: "cpuid", 0x78: "hlt", 0x7b: "io", 0x400: "npf"}

// A kvmSample is an exit, or an entry if reason is empty.
type kvmSample struct {
	time   event.Time
	tid    int32
	reason string
}

// readKVM reads kvm.data and sorts it by time.
func readKVM(t *testing.T) []kvmSample {
	t.Helper()
	f, err := perfdata.Open("kvm.data", perfdata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var samples []kvmSample
	batch := make([]event.Event, 64)
	for end := false; !end; {
		if err := f.Poll(t.Context(), time.Second); errors.Is(err, io.EOF) {
			end = true
		} else if err != nil {
			t.Fatal(err)
		}
		for _, ring := range f.Rings() {
			_, visible := ring.Bounds()
			for n := len(batch); n == len(batch); {
				n = ring.Read(batch, visible)
				for i := range batch[:n] {
					samples = appendKVM(t, samples, &batch[i])
				}
			}
			ring.Release()
		}
	}
	if loss := f.Loss(); !loss.Zero() {
		t.Errorf("got loss %+v, want none", loss)
	}
	slices.SortStableFunc(samples, func(a, b kvmSample) int { return int(a.time - b.time) })
	return samples
}

func appendKVM(t *testing.T, samples []kvmSample, e *event.Event) []kvmSample {
	t.Helper()
	if e.Kind != event.Sample {
		return samples
	}
	s := kvmSample{time: e.Time, tid: e.TID}
	switch e.Stream.Schema.FullName() {
	case "kvm:kvm_entry":
	case "kvm:kvm_exit":
		field, ok := e.Stream.Schema.Field("exit_reason")
		if !ok {
			t.Fatal("kvm_exit has no exit_reason")
		}
		code, ok := field.Int(e)
		if s.reason = svmReasons[code]; !ok || s.reason == "" {
			t.Fatalf("exit_reason: got %#x, %v", code, ok)
		}
	default:
		return samples
	}
	return append(samples, s)
}

// Our reader finds the exits and entries that perf script printed.
func TestKVMCounts(t *testing.T) {
	got := map[string]int{}
	for _, s := range readKVM(t) {
		if s.reason == "" {
			got["kvm_entry"]++
		} else {
			got["reason "+s.reason]++
		}
	}
	want := map[string]int{}
	for _, words := range kvmOracle(t) {
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.Atoi(words[0]); err == nil {
			want[strings.Join(words[1:], " ")] = n
		}
	}
	if len(want) != 6 || !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Number and length of the pairs of an exit and the next entry of its thread
// equal the values of perf kvm.
func TestKVMLatency(t *testing.T) {
	pending := map[int32]kvmSample{}
	delays := map[string][]int64{}
	for _, s := range readKVM(t) {
		if s.reason != "" {
			pending[s.tid] = s
		} else if exit, ok := pending[s.tid]; ok {
			delays[exit.reason] = append(delays[exit.reason], int64(s.time-exit.time))
			delete(pending, s.tid)
		}
	}
	if len(pending) != 2 {
		t.Errorf("got %d exits without an entry, want the last of each vCPU", len(pending))
	}
	got := map[string]string{}
	for reason, ns := range delays {
		got[reason] = fmt.Sprintf("%d %.2fus %.2fus", len(ns), float64(slices.Min(ns))/1e3,
			float64(slices.Max(ns))/1e3)
	}
	want := map[string]string{}
	for _, words := range kvmOracle(t) {
		// REASON SAMPLES SAMPLES% TIME% MIN MAX AVG ...; the first table only.
		if len(words) > 6 && words[0] != "VM-EXIT" && strings.HasSuffix(words[4], "us") &&
			want[words[0]] == "" {
			want[words[0]] = words[1] + " " + words[4] + " " + words[5]
		}
	}
	if len(want) != len(svmReasons) || !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// kvmOracle returns the words of each line of kvm.txt.
func kvmOracle(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("kvm.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}
