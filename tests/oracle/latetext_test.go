package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// If a file name lies in a page that is not in memory, it is read when the call ends: for
// the event itself, and for the pair of the call's begin and end, also if the pair has the
// stack of its begin.
func TestTextsOfUntouchedPages(t *testing.T) {
	live(t, testkit.AMD64)
	const begin, end = `tracepoint("syscalls:sys_enter_openat").let(file = "user_string(filename)")`,
		`tracepoint("syscalls:sys_exit_openat")`
	const pairs = `join(` + begin + `%s, ` + end + `, key = "_tid").log(fields = {"file": "start.file"})`
	for name, script := range map[string]string{
		"event":  begin + `.log(fields = {"file": "file"})`,
		"pair":   fmt.Sprintf(pairs, ""),
		"stacks": fmt.Sprintf(pairs, ".stack()"),
	} {
		t.Run(name, func(t *testing.T) { textsOfUntouchedPages(t, script) })
	}
}

func textsOfUntouchedPages(t *testing.T, script string) {
	t.Helper()
	const calls = 200
	name := func(i int) string { return fmt.Sprintf("/no/such/%d/%d", os.Getpid(), i) }
	names := testkit.UntouchedTexts(t, calls, name)

	self := strconv.Itoa(os.Getpid())
	p := testkit.Start(t, testkit.PPScript(t), "-p", self, "-v", "--format", "json", "-c", script)
	p.WaitStderr(" open event")
	runtime.LockOSThread()
	untouched := 0
	for _, at := range names {
		if !present(t, at) {
			untouched++
		}
		unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(0), at, 0, 0, 0, 0)
	}
	runtime.UnlockOSThread()
	got := map[string]int{}
	for _, e := range testkit.Events(t, p.Stop().Want(t, 0).Stdout) {
		got[fmt.Sprint(e.Fields["file"])]++
	}
	if untouched < calls/2 {
		t.Errorf("only %d of %d pages were untouched", untouched, calls)
	}
	for i := range calls {
		if got[name(i)] != 1 {
			t.Errorf("%s: got %d calls, want 1", name(i), got[name(i)])
		}
	}
	if n := got["<fault>"]; n > 0 {
		t.Errorf("got %d names as <fault>", n)
	}
}

// present reports whether the page of an address is in memory, by bit 63 of its
// entry in pagemap.
func present(t *testing.T, at uintptr) bool {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var entry [8]byte
	if _, err := f.ReadAt(entry[:], int64(at)/int64(os.Getpagesize())*8); err != nil {
		t.Fatal(err)
	}
	return entry[7]&0x80 != 0
}

// starts starts many programs, because texts are often not in memory just after
// the start.
const starts = `for i in $(seq 40); do /bin/ls /nonexistent$i; /bin/cat /etc/hostname; /bin/date; done >/dev/null 2>&1`

// The files that programs open just after their start equal those that strace
// shows.
func TestTextsOfJustStartedProgramsEqualStrace(t *testing.T) {
	live(t, testkit.AMD64, testkit.Strace, testkit.Program("bash"))
	log := filepath.Join(t.TempDir(), "strace")
	testkit.Run(t, "strace", "-f", "-qq", "-e", "trace=openat", "-o", log, "bash", "-c", starts).Want(t, 0)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := counted(regexp.MustCompile(`openat\([A-Z_]+, ("[^"]*")`), string(text))

	out := testkit.Run(t, testkit.PPScript(t), "syscall-trace", "-e", "openat", "--",
		"bash", "-c", starts).Want(t, 0)
	filename := regexp.MustCompile(`openat\(.*filename: ("[^"]*"|0x[0-9a-f]+)`)
	got, calls, missing := counted(filename, out.Stdout), 0, 0
	for name, n := range got {
		calls += n
		if strings.HasPrefix(name, "0x") {
			missing += n
		}
	}
	if calls < 400 || 100*missing > calls {
		t.Errorf("%d of %d names are missing, want less than 1 %%", missing, calls)
	}
	if missing > 0 {
		return // it is unknown which ones
	}
	var names []string
	for name, n := range want {
		if got[name] != n {
			names = append(names, fmt.Sprintf("%s: got %d, strace has %d", name, got[name], n))
		}
	}
	for name, n := range got {
		if want[name] == 0 {
			names = append(names, fmt.Sprintf("%s: got %d, strace has none", name, n))
		}
	}
	slices.Sort(names)
	for _, s := range names {
		t.Error(s)
	}
}

// counted counts the texts of a pattern's first group.
func counted(pattern *regexp.Regexp, text string) map[string]int {
	n := map[string]int{}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		n[m[1]]++
	}
	return n
}
