package unwind

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/stack/symbol"

	"ppscript/tests/testkit"
)

// perfFrames are the stacks that perf prints, as "symbol (dso)".
func perfFrames(t testing.TB, data string) (all [][]string) {
	t.Helper()
	for line := range strings.Lines(
		run(t, "perf", "script", "-i", data, "-F", "comm,tid,time,ip,sym,dso", "--no-inline")) {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case strings.HasSuffix(text, ":"):
			all = append(all, nil)
		default:
			_, frame, _ := strings.Cut(text, " ")
			at := strings.LastIndex(frame, " (")
			name := frame[:at]
			if !strings.HasSuffix(name, "@plt") {
				name, _, _ = strings.Cut(name, "@") // our names have no version
			}
			all[len(all)-1] = append(all[len(all)-1], name+frame[at:])
		}
	}
	return all
}

// For one recording of several programs that start and end, kernel and user, all
// frames agree with perf script. Where perf has no name we may have one: it
// does not read Go's own table.
func TestNamesAgreeWithPerf(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Perf, testkit.GXX)
	dir := t.TempDir()
	cpp, data := filepath.Join(dir, "shop"), filepath.Join(dir, "perf.data")
	run(t, "g++", "-O1", "-fno-omit-frame-pointer", "-o", cpp, "../symbol/testdata/shop.cc")
	script := "for i in 1 2 3; do " + cpp +
		" 0.1; ls -lR /usr/share/doc /proc/self >/dev/null; cat /proc/kallsyms >/dev/null; done"
	run(t, "perf", "record", "-q", "-B", "-N", "--no-bpf-event", "-m", "1024", "-g", "-e", "cpu-clock", "-F", "997", "-o", data, "sh", "-c", script)
	r := load(t, data)
	slices.SortStableFunc(r.events, func(a, b event.Event) int { return int(a.Time - b.Time) })
	kernel := symbol.NewKernel("")
	r.syms = symbol.New(symbol.Options{Maps: r.maps, Kernel: kernel})
	for i := range r.side {
		r.syms.Record(&r.side[i])
	}
	want := perfFrames(t, data)
	if len(want) != len(r.events) || len(want) < 100 {
		t.Fatalf("got %d samples, want %d and at least 100", len(r.events), len(want))
	}
	frames, differ := 0, 0
	for i := range r.events {
		e := &r.events[i]
		at := 0
		for _, addr := range e.Stream.Members.Callchain(e) {
			if addr >= ^uint64(4095) || at >= len(want[i]) {
				continue // a marker
			}
			theirs := want[i][at]
			at++
			f := r.syms.Resolve(e.PID, e.TID, addr, e.Time)[0]
			if frames++; f.Symbol+" ("+f.DSO+")" == theirs || strings.HasPrefix(theirs, symbol.Unknown) {
				continue
			}
			// Of several names for an address in the kernel, perf likes
			// another one.
			name, _, _ := strings.Cut(theirs, " (")
			if start, ok := kernel.Address(name); f.Kernel && ok && start+f.Offset == addr {
				continue
			}
			// Both have no name for an entry of a linkage table without a symbol,
			// but print different signs for it.
			if strings.HasSuffix(f.Symbol, "*@plt") && name == "@plt" {
				continue
			}
			// perf makes a DSO of each BPF program, and of those that
			// another tracer loaded and took away nobody knows the name.
			if f.DSO == "[bpf]" && name == f.Symbol || strings.HasPrefix(name, "bpf_prog_") ||
				strings.HasPrefix(name, "bpf_trampoline_") {
				continue
			}
			if differ++; differ < 10 {
				t.Logf("%#x: got %s (%s), want %s", addr, f.Symbol, f.DSO, theirs)
			}
		}
		if at != len(want[i]) {
			t.Errorf("sample %d: got %d frames, want %d", i, at, len(want[i]))
		}
	}
	if frames < 1000 || differ > 0 {
		t.Errorf("got %d of %d frames that differ, want none", differ, frames)
	}
}
