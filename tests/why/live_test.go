package why

import (
	"os"
	"path/filepath"
	"testing"

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

// marked are the options of ppscript why for the spans that the program marks.
var marked = []string{
	"-e", "syscalls:" + beginMark + "/pid==0x77000000/key=_tid/", "-e", "syscalls:" + endMark +
		"/pid==0x77000000/key=_tid/", "--than", "1us", "--format", "json", "-i", "1s",
}

// What the program says is what ppscript tells while it runs, and of its recording.
func TestLive(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	causes := program(t)
	var explained Proof
	testkit.Again(t, func() (wrong []string) {
		// Explaining takes a part of the time: there is some between two spans.
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
