package why

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// This file checks the names in causes: of the cgroups of other threads, of files and of sockets.

// links returns the links of all parts in the JSON output of ppscript why.
func links(t testing.TB, output string) (all []result.WhyLink) {
	t.Helper()
	eachShown(t, output, func(s *result.WhySpan) {
		for _, p := range s.Parts {
			all = append(all, p.Path...)
		}
	})
	return all
}

// ownCgroup makes a cgroup, and returns its directory and its path in the hierarchy.
func ownCgroup(t testing.TB) (dir, path string) {
	t.Helper()
	options := programOptions(t)
	if len(options) < 4 {
		t.Skip("no cgroup can be made here")
	}
	dir = filepath.Join(options[3], "hog")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path = strings.TrimPrefix(dir, "/sys/fs/cgroup")
	return dir, strings.TrimPrefix(path, "/cpu")
}

// The cause names the cgroup of the thread that has the CPU meanwhile, if it is another
// one.
func TestCgroupInTheWay(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Program("taskset"))...)
	dir, path := ownCgroup(t)
	cpu := strconv.Itoa(runtime.NumCPU() - 1)
	hog := testkit.Start(t, "taskset", "-c", cpu, "sh", "-c",
		"echo $$ > "+filepath.Join(dir, "cgroup.procs")+"; while :; do :; done")
	defer hog.Signal(syscall.SIGKILL)
	testkit.Again(t, func() (wrong []string) {
		const computes = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true"
		out := testkit.Run(t, testkit.PPScript(t), "why", "--syscall", "wait4", "--than", "1ms",
			"--format", "json", "--", "sh", "-c", "taskset -c "+cpu+" "+computes).Want(t, 0)
		for _, l := range links(t, out.Stdout) {
			if l.Kind != result.WhyBehind || int(l.Whom.TID) != hog.PID() {
				continue
			}
			if !l.Foreign || l.Cgroup != "cgroup "+path {
				t.Errorf("got %+v, want a process of cgroup %s", l, path)
			}
			return nil
		}
		return []string{"nobody waited for the process of the other cgroup"}
	})
}

// serve sends a line to its client after each delay, and then closes the
// connection.
func serve(t testing.TB, delay time.Duration, lines int) (address *net.TCPAddr) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for range lines {
					time.Sleep(delay)
					fmt.Fprintln(c, "x")
				}
				time.Sleep(time.Second)
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr)
}

// The cause has the file behind a file descriptor: a path, or a socket with its peer. If the
// descriptor may refer to another file since then, the cause says so.
func TestFilesOfWaits(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Program("bash"))...)
	at := serve(t, 20*time.Millisecond, 3)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tcp := fmt.Sprintf("/dev/tcp/127.0.0.1/%d", at.Port)
	script := "(for i in 1 2 3; do sleep .02; echo; done; sleep .7) > " + fifo + " & exec 5< " + fifo +
		"; read -u 5; read -u 5; exec 6<>" + tcp + "; read -u 6; read -u 6" +
		"; exec 7<>" + tcp + "; read -u 7; exec 7< /dev/null; sleep .5"
	wanted := map[string]string{ // kinds of waits, and the expected names
		"read fd 5, woken by write": fifo,
		"read fd 6":                 "tcp " + at.String(),
		"read fd 7":                 "now /dev/null",
	}
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "why", "--syscall", "read", "--than", "5ms",
			"--format", "json", "-i", "100ms", "--", "bash", "-c", script).Want(t, 0)
		seen := map[string]string{}
		for _, l := range links(t, out.Stdout) {
			if l.What != "" && l.Task.Comm == "bash" {
				seen[l.What] = l.File
			}
		}
		for what, name := range wanted {
			if got := seen[what]; got != name {
				wrong = append(wrong, fmt.Sprintf("%s: got %q, want %q, of %q", what, got, name, seen))
			}
		}
		return wrong
	})
}

// The cause of a futex has the place of its address: a variable of the program, in its data or bss,
// or of a library; the heap, or a thread's stack.
func TestPlacesOfFutexes(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	dir := t.TempDir()
	library, locks := filepath.Join(dir, "libshared.so"), filepath.Join(dir, "locks")
	testkit.Run(t, "gcc", "-shared", "-fPIC", "-DLIBRARY", "-o", library, "testdata/locks.c").Want(t, 0)
	testkit.Run(t, "gcc", "-pthread", "-o", locks, "testdata/locks.c", library, "-Wl,-rpath,"+dir).Want(t, 0)
	seen := map[string]bool{} // on a busy machine not all are explained
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "why", "--syscall", "futex", "--than", "5ms",
			"--format", "json", "-i", "100ms", "--", locks).Want(t, 0)
		for _, l := range links(t, out.Stdout) {
			name, _, _ := strings.Cut(l.File, "/")
			seen[name] = seen[name] || l.Kind == result.WhyFutex
		}
		for _, want := range []string{
			"shared+0x8 of locks", "zero of locks", "library_lock+0x10 of libshared.so", "heap", "stack of locks",
		} {
			if !seen[want] {
				wrong = append(wrong, fmt.Sprintf("got %v, want %s", seen, want))
			}
		}
		return wrong
	})
}
