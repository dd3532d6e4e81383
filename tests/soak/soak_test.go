package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A soak of a few seconds: killed runs leave nothing, and the known calls are
// counted.
func TestSoak(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	wrong, err := soak(t.Context(), options{length: 8 * time.Second, kills: 12, forks: 100,
		ppscript: testkit.PPScript(t), load: testkit.Load(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// The check finds leftovers: a file, and a kernel object that only its pin holds.
func TestLeftIsSeen(t *testing.T) {
	tmp := t.TempDir()
	before := things{"file " + filepath.Join(tmp, "old"): true}
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(tmp, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := things{}
	now.entries("file", tmp)
	want := []string{"file " + filepath.Join(tmp, "new")}
	if left := now.since(before, nil).sorted(); !slices.Equal(left, want) {
		t.Errorf("got %v, want %v", left, want)
	}
	// An object that another tracer created since the first look does not
	// count.
	if left := now.since(before, things{}); len(left) != 0 {
		t.Errorf("got %v", left)
	}
}

// A profiler that grows, counts too much, or misses events without reporting them,
// is at fault.
func TestJudge(t *testing.T) {
	f := func(output string, last processUse, want int) {
		t.Helper()
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.WriteString(output); err != nil {
			t.Fatal(err)
		}
		p := &profiler{args: knownComm, cmd: exec.Command("true"), out: out}
		p.quarters[1], p.quarters[3] = processUse{50 << 10, 20, 7}, last
		if wrong := p.judge(30, true); len(wrong) != want {
			t.Errorf("%s: got %q, want %d", output, wrong, want)
		}
	}
	table := `{"type":"table","data":{"rows":[{"SYS_ENTER":10}]}}` + "\n"
	ends := `{"type":"end","data":{"missing":10}}` + "\n"
	same := processUse{55 << 10, 20, 7}
	f(table+table+table+`{"type":"end","data":{}}`, same, 0)
	f(table+table+ends, same, 0)
	f(table+ends, same, 1)
	f(table+table+table+table+ends, same, 1)
	f(table+table+table, same, 1)
	f(table+table+ends, processUse{100 << 10, 20, 7}, 1)
	f(table+table+ends, processUse{55 << 10, 60, 7}, 1)
	f(table+table+ends, processUse{55 << 10, 20, 30}, 1)
}
