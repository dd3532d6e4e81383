package vm

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Events of a guest arrive on this machine through a virtio port, with the
// names of the guest's threads and of its kernel's functions, also when a
// receiver connects again.
func TestEventsOfAGuestThroughAVirtioPort(t *testing.T) {
	t.Parallel()
	t.Run("TCP with a token", func(t *testing.T) {
		t.Parallel()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := ln.Addr().String()
		ln.Close()
		_, port, err := net.SplitHostPort(at)
		if err != nil {
			t.Fatal(err)
		}
		eventsOfAGuest(t, at, port, "export PPSCRIPT_TOKEN=of-both-sides")
	})
	t.Run("a unix socket", func(t *testing.T) {
		t.Parallel()
		at := "unix:" + filepath.Join(t.TempDir(), "port")
		eventsOfAGuest(t, at, at, "true")
	})
}

// eventsOfAGuest makes a guest's monitor listen at a port, and receives events
// from it.
func eventsOfAGuest(t *testing.T, port, at, before string) {
	ppscript := build(t, "amd64", "cmd/ppscript")
	receive := testkit.StartFor(t, 2*defaultTimeout, "sh", "-c", before+`
for n in 1 2; do
	tries=0
	until "$0" trace -g -e "raw_syscalls:sys_enter//pull=\"$1\"/" -N 30 --format json; do
		tries=$((tries + 1)); [ $tries -lt 400 ] || exit 1
		sleep 0.2
	done
done`, ppscript, at)
	r := Run(t, Guest{Files: map[string]string{"/w/ppscript": ppscript}, Port: port}, before+`
ppscript trace -g -e 'raw_syscalls:sys_enter//push="/dev/vport0p3"/' --clock-offset 1000000000000 2>log & tracer=$!
until [ "$(grep -c 'has hung up' log)" -ge 2 ]; do ls / >/dev/null; sleep 0.1; done
kill -INT $tracer; wait $tracer; x=$?
cat log; exit $x`)
	if r.Status != 0 || !strings.Contains(string(r.Output), "push: /dev/vport0p3 is connected") {
		t.Fatalf("got status %d", r.Status)
	}
	events := testkit.Events(t, receive.Wait().Want(t, 0).Stdout)
	if len(events) != 60 {
		t.Fatalf("got %d events, want 30 for each connection", len(events))
	}
	names := map[string]int{}
	for _, e := range events {
		names[e.Comm]++
		// A guest that has just been started is younger than the offset.
		if e.Event != "raw_syscalls:sys_enter" || e.Time < 1e12 || e.Time > 2e12 {
			t.Errorf("got %+v", e)
		}
		// The innermost function is a kernel function at the entry of the call.
		if len(e.Stack) == 0 || !strings.HasPrefix(e.Stack[0].Addr, "0xffffffff") ||
			!strings.Contains(e.Stack[0].Symbol, "sys") {
			t.Errorf("got stack %+v, want that of a system call in the guest's kernel", e.Stack)
		}
	}
	// Sending causes system calls of its own, which are not sent.
	if names["ls"]+names["sh"]+names["sleep"]+names["busybox"] == 0 || names["ppscript"] > 0 {
		t.Errorf("got threads %v, want the guest's ls or sleep, not the sender", names)
	}
}

// Sockets between hosts and guests; their loopback is a module that must be
// loaded.
func TestVsock(t *testing.T) {
	t.Parallel()
	file := goProgram(t, "amd64", "spread.test", "test", "-c", module+"runtime/source/relay")
	r := Run(t, Guest{Modules: []string{"vsock_loopback"}, Files: map[string]string{"/w/spread.test": file}},
		"spread.test -test.v -test.run TestVsock")
	if r.Status != 0 || !strings.Contains(string(r.Output), "--- PASS: TestVsock") {
		t.Errorf("got status %d, want the test passed", r.Status)
	}
}
