package tiers

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// callTexts groups by texts of system calls, and uses them in conditions: texts that are in
// memory when the call begins, and texts that are only when it ends.
const callTexts = `
enter = tracepoint("syscalls:sys_enter_openat").where("mode == 6999")
exit = tracepoint("syscalls:sys_exit_openat")
any = tracepoint("raw_syscalls:sys_enter").where("id == 257 && args[3] == 6999")
ended = tracepoint("raw_syscalls:sys_exit").where("id == 257")

def main(o):
    calls = join([enter.let(file = "user_string(filename)")], [exit], key = "tid").let(file = "start.file")
    raw = join([any], [ended], key = "tid")
    return [
        calls.by("file").agg(n = agg.count(), failed = agg.count(where = "end.ret < 0")),
        calls.where('file ~ "*3"').by("file", comm = "start.comm").count(),
        calls.where(lambda p: user_string(p.start.filename).startswith("/no") and p.end.ret < 0).count(),
        raw.by(lambda p: user_string(p.start.args[1])).count(),
        enter.by(lambda e: user_string(e.filename)).agg(n = agg.count(), named = agg.count(where = lambda e: user_string(e.filename)[:3] == "/no")),
        enter.where('user_string(filename) ~ "/no*"').by("_comm", "flags", "user_string(filename)").count(),
        any.by("user_string(args[1])", least = lambda e: e.args[2]).count(),
        raw.by(lambda p: len(user_string(p.start.args[1])) > 40, named = lambda p: user_string(p.start.args[1])[:4]).count(),
    ]
`

// openTexts makes system calls that open files that do not exist. Their names lie in
// pages that are in memory and in pages that are not. It returns the number of calls by
// name.
func openTexts(t *testing.T, untouched []uintptr, name func(i int) string) map[string]int64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	want := map[string]int64{}
	open := func(at uintptr, text string) {
		unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(0), at, 0, 6999, 0, 0)
		want[text]++
	}
	for i, at := range untouched {
		open(at, name(i))
	}
	for i := range 12 {
		text := []byte(name(i%4) + "\x00")
		open(uintptr(unsafe.Pointer(&text[0])), name(i%4))
	}
	long := []byte("/" + strings.Repeat("x", 300) + "\x00")
	open(uintptr(unsafe.Pointer(&long[0])), "/"+strings.Repeat("x", 251)+"...")
	open(0, "")
	open(16, "<fault>")
	return want
}

// Texts are sent if ppscript groups by them, which it does for scripts with a
// log.
const alsoLogged = `
logged = tracepoint("syscalls:sys_enter_openat").where("mode == 6998")

def main(o):
    return of_programs(o) + [logged.log()]
`

// The tables are the same in both tiers, with the names that were opened.
func TestTextsOfCallsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	name := func(i int) string { return fmt.Sprintf("/no/such/%d/%d", os.Getpid(), i%7) }
	native := strings.Replace(callTexts, "def main(", "def of_programs(", 1) + alsoLogged
	var tables [][]testkit.Table
	var want map[string]int64
	for _, program := range []string{callTexts, native} {
		p := testkit.Start(t, testkit.PPScript(t), script(t, program), "--format", "json", "-v",
			"-p", strconv.Itoa(os.Getpid()))
		p.WaitStderr(" open event")
		want = openTexts(t, testkit.UntouchedTexts(t, 40, name), name)
		out := p.Stop().Want(t, 0)
		if in := strings.Contains(out.Stderr, "attached, no open events"); in != (program == callTexts) {
			t.Errorf("in the kernel: got %v\n%s", in, out.Stderr)
		}
		tables = append(tables, testkit.Tables(t, out.Stdout))
		for _, table := range tables[len(tables)-1] {
			delete(table.Loss, "unmatched") // returns from other calls of this process meanwhile
		}
	}
	for _, wrong := range compareAll(t, tables[0], tables[1]) {
		t.Error(wrong)
	}
	for _, r := range tables[0][0].Rows {
		if file := fmt.Sprint(r["file"]); r.Int(t, "n") != want[file] || r.Int(t, "failed") != want[file] {
			t.Errorf("%s: got %v, want %d calls that failed", file, r, want[file])
		}
		delete(want, fmt.Sprint(r["file"]))
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
}

// A call that does not end while programs run is in no group, and is reported.
func TestCallsThatDoNotEnd(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	pipe := t.TempDir() + "/pipe"
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	at := testkit.UntouchedTexts(t, 1, func(int) string { return pipe })[0]
	p := testkit.Start(t, testkit.PPScript(t), script(t, `
def main(o):
    return tracepoint("syscalls:sys_enter_openat").where("mode == 6999").by("user_string(filename)").count()
`), "--format", "json", "-v", "-p", strconv.Itoa(os.Getpid()))
	p.WaitStderr(" open event")
	waiter, opened := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		waiter <- unix.Gettid()
		fd, _, _ := unix.Syscall6(unix.SYS_OPENAT, ^uintptr(0), at, 0, 6999, 0, 0)
		opened <- int(fd)
	}()
	call := fmt.Sprintf("/proc/self/task/%d/syscall", <-waiter)
	for in := ""; !strings.HasPrefix(in, fmt.Sprint(unix.SYS_OPENAT)+" "); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(call)
		if err != nil {
			t.Fatal(err)
		}
		in = string(text)
	}
	tables := testkit.Tables(t, p.Stop().Want(t, 0).Stdout)
	end, err := unix.Open(pipe, unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(end)
	unix.Close(<-opened)
	if len(tables) != 1 || len(tables[0].Rows) != 0 || tables[0].Loss["unmatched"] != 1 {
		t.Errorf("got %v, want no row, and 1 unmatched", tables)
	}
}
