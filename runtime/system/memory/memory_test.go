package memory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixed is a Budget with so much room, which nobody measures.
func fixed(room int64) *Budget {
	b := &Budget{limit: 4 * room}
	b.room.Store(room)
	return b
}

func TestPartsShareTheRoom(t *testing.T) {
	b := fixed(1000)
	one, two := b.Part("one"), b.Part("two")
	if !one.Hold(600) || two.Hold(500) || !two.Hold(400) {
		t.Error("want 600 and 400 bytes of 1000, not 500")
	}
	if two.Hold(401) {
		t.Error("a part grew beyond the room")
	}
	if !one.Hold(100) || !two.Hold(900) {
		t.Error("what one part gave back is not there for the other")
	}
	two.Must(5000) // what it cannot do without
	if one.Hold(101) || !two.Hold(10) || !one.Hold(990) {
		t.Error("what a part must have does not count")
	}
	if got := b.Refused(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %q refused, want both", got)
	}
}

func TestWhatIsMeasuredCounts(t *testing.T) {
	b := fixed(1000)
	p := b.Part("rows")
	b.beside.Store(700)
	if p.Hold(301) || !p.Hold(300) {
		t.Error("want 300 bytes beside 700 that nobody took")
	}
	// Go's own limit follows what else there is, and is put back.
	b = New(Default())
	_, end := b.Begin()
	b.Measure()
	if room := b.room.Load(); room < minRoom || room > b.Limit() || b.beside.Load() < 0 {
		t.Errorf("got room for %d bytes of %d, %d beside", room, b.Limit(), b.beside.Load())
	}
	end()
	missing, end := New(Least / 8).Begin()
	end()
	if missing <= 0 {
		t.Errorf("got %d bytes missing of a sixth of a program", missing)
	}
}

func TestNoBudgetHasNoBound(t *testing.T) {
	var b *Budget
	p := b.Part("x")
	p.Must(1 << 50)
	_, end := b.Begin()
	end()
	b.Measure()
	if !p.Hold(1<<60) || b.Limit() != 0 || b.Share(3, 100, 7) != 7 || b.Refused() != nil || b.Short() {
		t.Error("a nil budget bounds something")
	}
}

func TestShares(t *testing.T) {
	b := fixed(1200)
	if b.Share(1, 1, 1200) != 1200 || b.Short() {
		t.Error("got less than usual, want all")
	}
	for _, c := range [][4]int{{2, 6, 1000, 100}, {2, 6, 50, 50}, {100, 100, 9, 1}} {
		if got := b.Share(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("share %d of units of %d, usually %d: got %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}

// writer writes files of cgroups below dir.
func writer(t *testing.T, dir string) func(path, text string) {
	return func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The least limit of the cgroups that a process is in holds, of either version.
func TestLimitOfCgroups(t *testing.T) {
	dir := t.TempDir()
	write := writer(t, dir)
	f := func(of string, want int64) {
		t.Helper()
		write("cgroup", of)
		if got := least(cgroupWalls(filepath.Join(dir, "cgroup"), filepath.Join(dir, "fs"))); got != want {
			t.Errorf("%q: got %d, want %d", of, got, want)
		}
	}
	write("fs/a/memory.max", "300\n")
	write("fs/a/b/memory.max", "max\n")
	write("fs/a/c/memory.max", "200\n")
	write("fs/memory/v/memory.limit_in_bytes", "500\n")
	write("fs/memory/memory.limit_in_bytes", "9223372036854771712\n")
	f("0::/a/b\n", 300)
	f("0::/a/c\n", 200)
	f("0::/\n", 0)
	f("4:cpu:/a\n3:memory:/v\n", 500)
	f("3:memory:/\n", 0)
	f("", 0)
	if least(cgroupWalls(filepath.Join(dir, "none"), dir)) != 0 {
		t.Error("got a limit of no process")
	}
}

// A user with too little memory is told before it is too late, and how much is needed.
func TestTightLimitsAreTold(t *testing.T) {
	for _, x := range []struct {
		limit  int64
		stacks bool
		want   string
	}{
		{0, true, ""}, {40 << 20, false, "64MiB"}, {60 << 20, true, "128MiB"}, {100 << 20, false, ""},
		{100 << 20, true, "128MiB"}, {200 << 20, true, ""},
	} {
		got := Tight(x.limit, x.stacks)
		if x.want == "" && got != "" || !strings.Contains(got, x.want) {
			t.Errorf("%d, stacks %v: got %q, want %q", x.limit, x.stacks, got, x.want)
		}
	}
}

// What can be taken back is left of a limit. In front of it are two lines.
func TestNearLimits(t *testing.T) {
	dir := t.TempDir()
	write := writer(t, dir)
	write("cgroup", "0::/a\n3:memory:/v\n")
	write("a/memory.max", "8000000\n")
	write("a/memory.stat", "anon 5\ninactive_file 1000000\nactive_file 500000\n")
	write("memory/v/memory.limit_in_bytes", "20000000\n")
	write("memory/v/memory.stat", "inactive_file 9000000\ntotal_inactive_file 1\n")
	write("memory/v/memory.usage_in_bytes", "1\n")
	b := &Budget{near: near{walls: cgroupWalls(filepath.Join(dir, "cgroup"), dir)}}
	f := func(used string, left int64, want level) {
		t.Helper()
		write("a/memory.current", used)
		b.near.at = time.Time{}
		if got, ok := b.near.least(); !ok || got != left {
			t.Errorf("%s used: got %d left, want %d", used, got, left)
		}
		if got := b.near.level(); got != want {
			t.Errorf("%s used: got level %d, want %d", used, got, want)
		}
		if b.Scarce() != (want != enough || b.Shed() != "") || (b.Out() != "") != (want == out) {
			t.Errorf("%s used: scarce %v, out %q", used, b.Scarce(), b.Out())
		}
	}
	f("5000000", 4500000, enough)
	if b.Shed() != "" {
		t.Errorf("got %q, want nothing left out", b.Shed())
	}
	f("8000000", 1500000, scarce)
	f("9400000", 100000, out)
	f("3000000", 6500000, enough)
	if !strings.Contains(b.Shed(), "names") {
		t.Errorf("got %q, want what was left out", b.Shed())
	}
}
