package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

// withCgo says that this program cannot change all its threads.
var withCgo = func() bool {
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0)
	return errno == syscall.ENOTSUP
}()

// insideEnv has the test's own program enter, and try what it says; Landlock and filters are for good.
const insideEnv = "PPSCRIPT_SANDBOX_TEST"

func TestMain(m *testing.M) {
	switch which := os.Getenv(insideEnv); which {
	case "":
		m.Run()
	case "raise":
		raiseAndKeep()
	default:
		inside(which)
	}
}

// tries are what an intruder would try, and what a run does.
var tries = []struct {
	name string
	try  func(dir string) error
}{
	{"start a program", func(string) error { return exec.Command("/bin/true").Run() }},
	{"write to results", func(dir string) error { return os.WriteFile(filepath.Join(dir, "results", "x"), nil, 0o600) }},
	{"remove results", func(dir string) error { return os.Remove(filepath.Join(dir, "results", "x")) }},
	{"write elsewhere", func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) }},
	{"change a file", func(dir string) error { return os.WriteFile(filepath.Join(dir, "old"), []byte("x"), 0) }},
	{"read elsewhere", func(dir string) error { _, err := os.ReadFile(filepath.Join(dir, "old")); return err }},
	{"read of the machine", func(string) error { _, err := os.ReadFile("/proc/version"); return err }},
	{"look into a process", func(string) error {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid()))
		return err
	}},
	{"connect", func(dir string) error {
		c, err := net.Dial("unix", filepath.Join(dir, "socket"))
		if err == nil {
			err = c.Close()
		}
		return err
	}},
	{"attach to a process", func(string) error { return unix.PtraceSeize(os.Getppid()) }},
	{"load a module", func(string) error { return unix.FinitModule(-1, "", 0) }},
	{"set the clock", func(string) error {
		var now unix.Timeval
		return unix.Settimeofday(&now)
	}},
	{"make a thread", func(string) error {
		done := make(chan int)
		go func() {
			runtime.LockOSThread() // the thread ends with the function
			done <- unix.Gettid()
		}()
		if <-done == unix.Gettid() {
			return errors.New("the same thread")
		}
		return nil
	}},
}

// inside prints what goes wrong in the sandbox.
func inside(which string) {
	words := strings.Fields(which)
	dir := words[0]
	n := Needs{Writes: []string{filepath.Join(dir, "results")}}
	for _, w := range words[1:] {
		switch w {
		case "processes":
			n.Processes = true
		case "files":
			n.Files = true
		case "network":
			n.Network = true
		}
	}
	w, err := Enter(n)
	fmt.Println("entered:", w, err)
	for _, x := range tries {
		fmt.Printf("%s: %v\n", x.name, denied(x.try(dir)))
	}
	// Again, as for a recording: what was given up stays so.
	w, err = Enter(n)
	fmt.Println("again:", w, err)
}

// denied is whether an error says that something is not allowed.
func denied(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return "denied"
	}
	return err.Error()
}

func TestWalls(t *testing.T) {
	if v, err := landlockVersion(); err != nil || v == 0 {
		t.Skip("the kernel has no Landlock")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	always := []string{"write to results", "remove results", "read of the machine", "make a thread"}
	for needs, more := range map[string][]string{
		"":        nil,
		"files":   {"read elsewhere"},
		"network": {"connect"},
		"processes": {"look into a process", "read elsewhere", "write elsewhere",
			"change a file"},
	} {
		t.Run(needs, func(t *testing.T) {
			dir := t.TempDir()
			l, err := net.Listen("unix", filepath.Join(dir, "socket"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "results"), 0o755),
				os.WriteFile(filepath.Join(dir, "old"), nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), insideEnv+"="+dir+" "+needs)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := string(out)
			walls := "seccomp"
			if !withCgo {
				walls = "capabilities, seccomp"
			}
			if needs != "processes" {
				walls += ", Landlock"
			}
			want := fmt.Sprintf("entered: %s <nil>\n", walls)
			for _, x := range tries {
				result := "denied"
				if slices.Contains(always, x.name) || slices.Contains(more, x.name) {
					result = "done"
				}
				want += x.name + ": " + result + "\n"
			}
			want += fmt.Sprintf("again: %s <nil>\n", walls)
			if text != want {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
		})
	}
}

// What raises its rights for a moment while they are given up goes on, without them.
func TestKeepBesideRaise(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), insideEnv+"=raise")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Errorf("got %v\n%s\nwant done", err, out)
	}
}

// raiseAndKeep raises on many threads while everything is given up.
func raiseAndKeep() {
	var raising sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		raising.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					privilege.Raise(privilege.Processes, runtime.Gosched)
				}
			}
		})
	}
	if withCgo {
		fmt.Println("done")
		return
	}
	for _, keep := range []privilege.Set{^privilege.Set(0), privilege.Run, 0} {
		if err := privilege.Keep(keep); err != nil {
			fmt.Println(err)
		}
	}
	close(stop)
	raising.Wait()
	if os.Geteuid() == 0 {
		if _, err := os.ReadFile("/proc/1/environ"); err == nil && os.Getpid() != 1 {
			fmt.Println("rights came back")
		}
	}
	fmt.Println("done")
}
