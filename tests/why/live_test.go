package why

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// program compiles testdata/causes.c.
func program(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "causes")
	testkit.Run(t, "gcc", "-O2", "-static", "-pthread", "-o", file, "testdata/causes.c").Want(t, 0)
	return file
}

// marked are the options of ppscript why that select the spans marked by the
// program.
var marked = []string{
	"-e", "syscalls:" + beginMark + "/pid==0x77000000/key=_tid/", "-e", "syscalls:" + endMark +
		"/pid==0x77000000/key=_tid/", "--than", "1us", "--format", "json", "-i", "1s",
}

// ppscript reports the causes that the program measured, live and from a recording.
func TestLive(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	causes := program(t)
	var explained Proof
	testkit.Again(t, func() (wrong []string) {
		// Explaining may take only a part of the time, so there is a pause
		// between two spans.
		args := append([]string{testkit.PPScript(t), "why", "--before", "30ms"}, marked...)
		file := filepath.Join(t.TempDir(), "truth")
		args = append(append(args, "--", causes, "-w", "120", "-o", file), programOptions(t)...)
		out := testkit.Run(t, append(args, scenarios()...)...).Want(t, 0)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return explained.Output(t, out.Stdout+string(text))
	})
}

// If the reader is stopped again and again, with the smallest buffers, less of the program's spans
// is explained, but nothing wrongly.
func TestLiveLosses(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	causes := program(t)
	names := []string{"timer", "mutex-sleep", "computes", "chain", "inversion"}
	all := 0
	for engine, pages := range map[string]string{"perf": "8", "auto": "1"} {
		file := filepath.Join(t.TempDir(), "truth")
		args := append([]string{testkit.PPScript(t), "why", "--engine", engine, "-m", pages}, marked...)
		args = append(append(args, "--", causes, "-w", "30", "-o", file), programOptions(t)...)
		p := testkit.Start(t, append(args, names...)...)
		waitLines(t, file, 1)
		steady := p.Stutter(5*time.Millisecond, 5*time.Millisecond)
		waitLines(t, file, len(names))
		steady()
		out := p.Wait().Want(t, 0)
		told := readShown(t, out.Stdout)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lost := int64(0)
		for _, want := range readTruth(t, string(text)) {
			got := told[want.TID]
			if got == nil {
				continue // the mark of its begin or its end was lost
			}
			if got.Task.Comm == filepath.Base(causes) {
				want = want.unnamed(got.Task.Comm)
			}
			var proof Proof
			for _, w := range append(checkSum(got), proof.wrong(want, got)...) {
				t.Errorf("%s: %s\n%s", engine, w, story(got))
			}
			lost += unknown(got)
		}
		all += len(told)
		t.Logf("%s: %d spans, %d ns of them unknown\n%s", engine, len(told), lost, out.Stderr)
	}
	if all == 0 {
		t.Error("no span was told")
	}
}

// waitLines waits until a file has this many lines.
func waitLines(t testing.TB, file string, n int) {
	t.Helper()
	for range 12_000 {
		if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: got fewer than %d lines in a minute", file, n)
}
