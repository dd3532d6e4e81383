package tiers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// manyTexts uses more texts at a time than a program's stack has room for: two names of 256 bytes
// each in keys, in pairs, in states and in emitted events, and parts of parts of names.
const manyTexts = `
begin = tracepoint("syscalls:sys_enter_renameat2").where("flags == 6999")
end = tracepoint("syscalls:sys_exit_renameat2")

def old(e):
    return user_string(e.oldname)

def new(e):
    return user_string(e.newname)

def step(s, p):
    emit(before = s.old, was = user_string(p.start.oldname), name = user_string(p.start.newname))
    s.old = user_string(p.start.oldname)

def main(o):
    calls = join([begin], [end], key = "tid")
    return [
        begin.by("user_string(oldname)", "user_string(newname)", "_comm").count(),
        begin.by(lambda e: old(e).split("/")[2], part = lambda e: new(e).split("/")[1]).count(),
        begin.where(lambda e: old(e).upper() < new(e).upper()).by(lambda e: new(e)[3:]).count(),
        calls.by(old = lambda p: old(p.start), new = lambda p: new(p.start)).agg(
            n = agg.count(),
            length = agg.max(lambda p: len(new(p.start))),
            failed = agg.count(where = "end.ret < 0"),
        ),
        calls.fold(key = "tid", state = {"old": ""}, step = step).by("before", "was", "name").count(),
    ]
`

// renames makes system calls that rename files, which the kernel refuses because of unknown flags.
// It returns the number of calls by both names.
func renames(t *testing.T) map[string]int64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	want := map[string]int64{}
	var texts []string
	for i, part := range []string{"a", "B", strings.Repeat("long", 20), strings.Repeat("longer/", 34)} {
		texts = append(texts, fmt.Sprintf("/no/%s/%d", part, i))
	}
	for i := range 48 {
		old, name := texts[i%len(texts)], texts[i/len(texts)%len(texts)]
		from, to := []byte(old+"\x00"), []byte(name+"\x00")
		unix.RawSyscall6(unix.SYS_RENAMEAT2, ^uintptr(0), uintptr(unsafe.Pointer(&from[0])), ^uintptr(0),
			uintptr(unsafe.Pointer(&to[0])), 6999, 0)
		want[old+" "+name]++
	}
	return want
}

// Operations on many texts have the same results in programs as in ppscript
// with the texts that programs send.
func TestManyTextsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	native := strings.Replace(manyTexts, "def main(", "def of_programs(", 1) + alsoLogged
	var tables [][]testkit.Table
	var want map[string]int64
	for _, program := range []string{manyTexts, native} {
		p := testkit.Start(t, testkit.PPScript(t), script(t, program), "--format", "json", "-v",
			"-p", strconv.Itoa(os.Getpid()))
		p.WaitStderr(" open event")
		want = renames(t)
		out := p.Stop().Want(t, 0)
		if in := strings.Contains(out.Stderr, "attached, no open events"); in != (program == manyTexts) {
			t.Errorf("in the kernel: got %v\n%s", in, out.Stderr)
		}
		tables = append(tables, testkit.Tables(t, out.Stdout))
		for _, table := range tables[len(tables)-1] {
			delete(table.Loss, "unmatched")
		}
	}
	for _, wrong := range compareAll(t, tables[0], tables[1]) {
		t.Error(wrong)
	}
	for _, r := range tables[0][3].Rows {
		names := fmt.Sprint(r["old"], " ", r["new"])
		n, length := want[names], int64(len(fmt.Sprint(r["new"])))
		if r.Int(t, "n") != n || r.Int(t, "failed") != n || r.Int(t, "length") != length {
			t.Errorf("got %v, want %d calls that failed", r, n)
		}
		delete(want, names)
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
}

// Pairs whose events both have long names are shown with both whole names, from programs as
// natively.
func TestLongTextsOfPairsAreWhole(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := func(c string) string { return filepath.Join(dir, strings.Repeat(c, 110-len(dir))) }
	first, second := name("f"), name("s")
	if err := errors.Join(os.Symlink(env, first), os.Symlink(env, second)); err != nil {
		t.Fatal(err)
	}
	program := script(t, strings.ReplaceAll(`
execs = tracepoint("sched:sched_process_exec")
exits = tracepoint("sched:sched_process_exec")

def main(o):
    pairs = join([execs.where('filename ~ "DIR/f*"')], [exits.where('filename ~ "DIR/s*"')], key = "_tid")
    return pairs.where("delay > 0").log()
`, "DIR", dir))
	for _, engine := range []string{"bpf", "perf"} {
		p := testkit.Start(t, testkit.PPScript(t), program, "--format", "json", "-v", "--engine", engine)
		p.WaitStderr(" open event")
		if err := exec.Command(first, second, "true").Run(); err != nil {
			t.Fatal(err)
		}
		out := p.Stop().Want(t, 0)
		for _, want := range []string{first, second} {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("engine %s: got no %s in\n%s", engine, want, out.Stdout)
			}
		}
		if sent := strings.Contains(out.Stderr, "sends what matches"); sent != (engine == "bpf") {
			t.Errorf("engine %s: sent by programs: got %t\n%s", engine, sent, out.Stderr)
		}
	}
}
