package oracle

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"ppscript/tests/testkit"
)

// Scripts that read file names by the kernel's types report the reads, writes and syncs
// of dd: calls, bytes, file and file system.
func TestFilesOfScripts(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "source"), filepath.Join(dir, "copied")
	if err := os.WriteFile(in, make([]byte, 20*1000), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []testkit.Table {
		args = append(append([]string{testkit.PPScript(t)}, args...), "--format", "json", "--",
			"dd", "if="+in, "of="+out, "bs=1000", "conv=fsync", "status=none")
		return testkit.Tables(t, testkit.Run(t, args...).Want(t, 0).Stdout)
	}

	type file struct{ reads, writes, read, written int64 }
	want := map[string]file{"source": {21, 0, 20000, 0}, "copied": {0, 20, 0, 20000}}
	for _, r := range run("filetop", "--rows", "1000")[0].Rows {
		name := r.Text(t, "file")
		got := file{r.Int(t, "reads"), r.Int(t, "writes"), r.Int(t, "read"), r.Int(t, "written")}
		if w, mine := want[name]; mine && got != w {
			t.Errorf("filetop: %s: got %+v, want %+v", name, got, w)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("filetop: no row of %v", want)
	}

	synced := false
	for _, r := range run("syncsnoop", "--table", "--files")[0].Rows {
		synced = synced || r.Text(t, "call") == "fsync" && r.Text(t, "file") == "copied" &&
			r.Int(t, "calls") == 1
	}
	if !synced {
		t.Error("syncsnoop: no row of one fsync of copied")
	}

	text := func(args ...string) string {
		return testkit.Run(t, append([]string{testkit.PPScript(t)}, args...)...).Want(t, 0).Stdout
	}
	dd := []string{"--", "dd", "if=" + in, "of=" + out, "bs=1000", "conv=fsync", "status=none"}
	times := func(name, text, pattern string, n int) {
		t.Helper()
		if got := len(regexp.MustCompile(pattern).FindAllString(text, -1)); got != n {
			t.Errorf("%s: got %d times %q, want %d, in\n%s", name, got, pattern, n, text)
		}
	}
	dist := text(append([]string{"fsdist"}, dd...)...)
	times("fsdist", dist, `(?m)^fs=\S+ kind=write: delay, 20 events$`, 1)
	times("fsdist", dist, `(?m)^fs=\S+ kind=sync: delay, 1 events?$`, 1)
	slower := text(append([]string{"fsslower", "--than", "1ns"}, dd...)...)
	times("fsslower", slower, ` W +1000 +\d+ +\S+ copied\n`, 20)
	times("fsslower", slower, ` R +1000 +\d+ +\S+ source\n`, 20)
	times("fsslower", slower, ` S +0 +\d+ +\S+ copied\n`, 1)

	lock := filepath.Join(dir, "lock")
	waits := text("flockwait", "--than", "50ms", "--", "sh", "-c",
		"flock "+lock+" sleep 0.3 & sleep 0.1; flock "+lock+" true; wait")
	times("flockwait", waits, `(?m)^flock +lock +2 +1 +[12]\d\d\.`, 1)
}
