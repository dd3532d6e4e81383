package relay

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

const nobody = 65534

// asNobody runs f on a thread of another user, which ends with it.
func asNobody(t *testing.T, f func() error) {
	t.Helper()
	testkit.Requires(t, testkit.Root)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread keeps its user
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			done <- errno
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestOtherUsersAreStrangers checks that another user of the machine gets no events at a port of
// this machine, and is refused as a listener there.
func TestOtherUsersAreStrangers(t *testing.T) {
	s, log := sender(t, "0", Options{})
	defer s.Close()
	at := log.at(t)
	got := make(chan int, 1)
	asNobody(t, func() error {
		conn, err := net.Dial("unix", "@ppscript:"+at)
		if err != nil {
			return err
		}
		defer conn.Close()
		n, _ := conn.Read(make([]byte, 1))
		got <- n
		return nil
	})
	if n := <-got; n != 0 {
		t.Errorf("another user got %d bytes, want none", n)
	}
	log.await(t, "the other end belongs to user 65534, neither root nor you", 1)

	const taken = "@ppscript:33" // no sender takes it by chance
	var ln net.Listener
	asNobody(t, func() (err error) {
		ln, err = net.Listen("unix", taken)
		return err
	})
	defer ln.Close()
	src, err := Receive(t.Context(), "33", How{})
	if err == nil {
		src.Close()
	}
	if !errors.As(err, new(errStranger)) || diag.HintOf(err) == "" {
		t.Errorf("got %v, want another user refused", err)
	}
}

// TestOwnersOfPathsAreKnown checks that the owner of a path may listen there if no other user
// can have made the socket.
func TestOwnersOfPathsAreKnown(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	dir, err := os.MkdirTemp("/run", "ppscript-test-") // below directories of root only
	testkit.Requires(t, testkit.Core("a directory below /run", err))
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "monitor")
	asNobody(t, func() error {
		ln, err := net.Listen("unix", path)
		if err == nil {
			t.Cleanup(func() { ln.Close() })
		}
		return err
	})
	f := func(what string, want bool) {
		t.Helper()
		file, err := dial(t.Context(), "unix", path, path)
		if err == nil {
			file.Close()
		}
		if (err == nil) != want || err != nil && !errors.As(err, new(errStranger)) {
			t.Errorf("%s: got %v, want trusted %v", what, err, want)
		}
	}
	f("its own directory", true)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f("a directory of all", false)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 65533, 65533)); err != nil {
		t.Fatal(err)
	}
	f("a directory of somebody else", false)
}

// TestSocketsAreNeverOpenToOthers checks that other users can at no time connect to the socket
// of a path.
func TestSocketsAreNeverOpenToOthers(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := filepath.Join(t.TempDir(), "socket")
	stop, seen := make(chan struct{}), make(chan []string, 1)
	go func() {
		var modes []string
		for {
			select {
			case <-stop:
				seen <- modes
				return
			default:
			}
			if st, err := os.Lstat(path); err == nil && st.Mode().Perm() != 0o600 {
				modes = append(modes, st.Mode().String())
			}
		}
	}()
	for range 500 {
		ln, err := ListenUnix(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Fatalf("got mode %v, %v; want 0600", st.Mode(), err)
		}
		ln.Close()
	}
	close(stop)
	if modes := <-seen; len(modes) > 0 {
		t.Errorf("got modes %s, want 0600 all the time", strings.Join(modes, " "))
	}
}
