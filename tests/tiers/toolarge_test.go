package tiers

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// If a program is too large for the verifier, --engine bpf gives an error with a hint; otherwise
// ppscript does the program's work, with the same results as natively.
func TestTooLargeForTheVerifier(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	script := "def main(o):\n    return tracepoint(\"sched:sched_process_exec\").agg(\n"
	for _, sep := range []string{"a", "b", "c", "d"} {
		script += fmt.Sprintf("        n%s = agg.count(where = lambda e: "+
			"(e.filename.split(%q)[1] < e.filename[3:-2]) != e.filename.endswith(%q) "+
			"if %q in e.filename else e.filename[2:] == e.comm),\n", sep, sep, sep, sep)
	}
	file := filepath.Join(t.TempDir(), "large.star")
	if err := os.WriteFile(file, []byte(script+"    )\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(options ...string) testkit.Output {
		args := append([]string{testkit.PPScript(t), file, "--format", "json"}, options...)
		return testkit.Run(t, append(args, "--", "/bin/true")...)
	}
	forced, chosen, native := run("--engine", "bpf"), run().Want(t, 0), run("--engine", "perf").Want(t, 0)
	got, want := testkit.Tables(t, chosen.Stdout), testkit.Tables(t, native.Stdout)
	if len(got) != 1 || len(want) != 1 || !reflect.DeepEqual(got[0].Rows, want[0].Rows) {
		t.Errorf("got %v, natively %v", got, want)
	}
	if forced.Exit == 0 {
		t.Log("this kernel's verifier takes the programs")
		return
	}
	if said := forced.Stdout + forced.Stderr; !strings.Contains(said, "leave --engine bpf out") {
		t.Errorf("got status %d and %q, want a hint", forced.Exit, said)
	}
}
