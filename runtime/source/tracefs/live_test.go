package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"

	"ppscript/tests/testkit"
)

// live returns this machine's tracefs; the test is skipped without it.
func live(t testing.TB) *FS {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
	f, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func split(t testing.TB, name string) (sys, ev string) {
	sys, ev, ok := strings.Cut(name, ":")
	if !ok {
		t.Fatalf("event name: got %q, want sys:name", name)
	}
	return sys, ev
}

func TestLiveEveryFormatParses(t *testing.T) {
	f := live(t)
	names, err := f.Events()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 500 {
		t.Errorf("got %d events, want at least 500", len(names))
	}
	ids := map[uint64]string{}
	for _, name := range names {
		sys, ev := split(t, name)
		s, err := f.Schema(sys, ev)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if s.FullName() != name || s.PrintFmt == "" {
			t.Errorf("%s: got name %s, print fmt %q", name, s.FullName(), s.PrintFmt)
		}
		if other := ids[s.ID]; other != "" {
			t.Errorf("%s and %s: same id %d", name, other, s.ID)
		}
		ids[s.ID] = name
		for _, fl := range s.Fields {
			if strings.HasPrefix(fl.Type, "char[") && fl.Kind != event.Str {
				t.Errorf("%s: %s: got kind %d, want text", name, &fl, fl.Kind)
			}
			if fl.Kind == event.Array && fl.Elem == 0 {
				t.Errorf("%s: %s: array without element size", name, &fl)
			}
			if fl.Kind == event.Bytes && !aggregate(fl.Type) && fl.Type != "uuid_t" && fl.Type != "guid_t" {
				t.Errorf("%s: %s: not classified", name, &fl)
			}
		}
	}
}

func TestLiveNoPermission(t *testing.T) {
	live(t)
	// The file-system user decides, and belongs to the thread. A thread that
	// ends locked is not used again.
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setfsuid(65534)
		if err == nil {
			// Nor may package privilege have anything to raise.
			err = unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3},
				&make([]unix.CapUserData, 2)[0])
		}
		if err != nil {
			done <- err
			return
		}
		_, err = Find()
		done <- err
	}()
	err := <-done
	if !errors.Is(err, fs.ErrPermission) || diag.ClassOf(err) != diag.Attach ||
		!strings.Contains(diag.HintOf(err), "setcap") {
		t.Errorf("got %v (hint %q), want a permission error of class Attach with a hint",
			err, diag.HintOf(err))
	}
}

func TestLiveFindMounts(t *testing.T) {
	live(t)
	var fs unix.Statfs_t
	if err := unix.Statfs(mountPoint, &fs); err != nil || fs.Type != unix.TRACEFS_MAGIC {
		testkit.Requires(t, testkit.Core("tracefs",
			fmt.Errorf("%s is of type %#x (%v)", mountPoint, fs.Type, err)))
	}
	// In a mount namespace of its own, which dies with the thread.
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			unix.Unmount("/sys/kernel/debug", unix.MNT_DETACH)
			err = unix.Unmount(mountPoint, unix.MNT_DETACH)
		}
		if err == nil {
			if _, there := os.Stat(mountPoint + "/events"); there == nil {
				err = errors.New("tracefs is still there")
			}
		}
		if err == nil {
			var f *FS
			if f, err = Find(); err == nil && f.Root() != mountPoint {
				err = errors.New("found " + f.Root())
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// BenchmarkSchema measures the cost of opening one event, the kernel's part included.
func BenchmarkSchema(b *testing.B) {
	f := live(b)
	b.ReportAllocs()
	for b.Loop() {
		clear(f.schemas)
		if _, err := f.Schema("sched", "sched_switch"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	f := live(b)
	for b.Loop() {
		if _, err := f.Events(); err != nil {
			b.Fatal(err)
		}
	}
}
