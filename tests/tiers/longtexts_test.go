package tiers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// longTexts groups by file names of any length: unchanged, from the start of a pair, in the
// state of a fold, with constants, and by their beginnings.
const longTexts = `
execs = tracepoint("sched:sched_process_exec").where('filename ~ "DIR/*"').let(task = "pid", file = "filename", begins = 1)
exits = tracepoint("sched:sched_process_exit").where("pid == _pid").let(task = "pid", file = '""', begins = 0)

def step(s, e):
    if e.begins:
        s.file = e.file
    elif s.file:
        emit(file = s.file, again = s.file == s.last)
        s.last = s.file
        s.file = ""

def main(o):
    lives = join([execs], [exits], key = "task")
    return [
        execs.by("file").count(),
        execs.by(lambda e: e.filename if len(e.filename) > 200 else "short").count(),
        execs.by(lambda e: e.filename == "DIR/short", "_comm").count(),
        execs.where('filename ~ "*l/llll*l"').by("file").count(),
        execs.by(lambda e: e.filename.endswith("/short"), same = lambda e: e.filename.endswith("ll")).count(),
        lives.by(program = "start.file").agg(n = agg.count()),
        lives.where(lambda p: p.start.file.startswith("DIR/l")).by(lambda p: p.start.file).count(),
        merge(execs, exits).fold(key = "_tid", state = {"file": "", "last": ""}, step = step).by("file", "again").count(),
    ]
`

// longFiles makes executable files with names of these lengths.
func longFiles(t *testing.T, dir string, lengths ...int) (files []string) {
	t.Helper()
	truth, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range append(lengths, len(dir)+len("/short")) {
		file := filepath.Join(dir, "short")
		if i < len(lengths) {
			const part = 200
			file = dir
			for len(file)+part+2 < n {
				file += "/" + strings.Repeat("l", part)
			}
			file += "/" + strings.Repeat("l", n-len(file)-1)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(truth, file); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// Texts of all possible lengths of a file's name are whole and the same in both tiers, as
// keys and in states.
func TestLongTextsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	dir := t.TempDir()
	lengths := []int{120, 125, 126, 127, 128, 129, 130, 136, 255, 256, 1000, 2500, 4000}
	files := longFiles(t, dir, lengths...)
	program := script(t, strings.ReplaceAll(longTexts, "DIR", dir))
	out, err := exec.Command(testkit.PPScript(t), "explain", program).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nengine          bpf: ") {
		t.Fatalf("got %v, want all of it in the kernel\n%s", err, out)
	}
	var runs []*testkit.Process
	for _, engine := range []string{"auto", "perf"} {
		p := testkit.Start(t, testkit.PPScript(t), program, "--format", "json", "-v", "--engine", engine)
		p.WaitStderr(" open event")
		runs = append(runs, p)
	}
	for range 3 {
		for _, file := range files {
			// The executed program chooses its function by its file name and
			// fails here, because the name is unknown.
			if err := exec.Command(file).Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
		}
	}
	var tables [][]testkit.Table
	for _, p := range runs {
		tables = append(tables, testkit.Tables(t, p.Stop().Want(t, 0).Stdout))
	}
	for _, wrong := range compareAll(t, tables[0], tables[1]) {
		t.Error(wrong)
	}
	seen := map[string]int64{}
	for _, r := range tables[0][0].Rows {
		seen[fmt.Sprint(r["file"])] = r.Int(t, "count")
	}
	for _, file := range files {
		if seen[file] != 3 {
			t.Errorf("%d bytes: got %d, want 3 of %s", len(file), seen[file], file)
		}
	}
}
