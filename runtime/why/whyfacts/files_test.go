package whyfacts

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNamesOfFiles checks that files of this process have the names that it knows.
func TestNamesOfFiles(t *testing.T) {
	var f files
	is := func(fd uintptr, want string) {
		t.Helper()
		if got := f.name(int32(os.Getpid()), int32(fd)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	is(file.Fd(), path)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	is(r.Fd(), "pipe")
	made := func(fd int, err error) uintptr {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return uintptr(fd)
	}
	is(made(unix.Eventfd(0, unix.EFD_CLOEXEC)), "eventfd")
	is(made(unix.EpollCreate1(unix.EPOLL_CLOEXEC)), "")
	is(made(unix.InotifyInit1(unix.IN_CLOEXEC)), "inotify")
	netlink := made(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0))
	if err := unix.Bind(int(netlink), &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	is(netlink, "netlink")
	is(1<<20, "")
}

// Sockets are named by their service, and the process at the other end.
func TestNamesOfSockets(t *testing.T) {
	fd := func(c interface {
		File() (*os.File, error)
	}) int32 {
		t.Helper()
		file, err := c.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return int32(file.Fd())
	}
	for _, address := range []string{"127.0.0.1", "[::1]"} {
		l, err := net.Listen("tcp", address+":0")
		if err != nil {
			t.Log(err) // no IPv6
			continue
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var f files
		pid := int32(os.Getpid())
		serves, reaches := fd(l.(*net.TCPListener)), fd(c.(*net.TCPConn))
		want := fmt.Sprintf("tcp port %d", l.Addr().(*net.TCPAddr).Port)
		if got := f.name(pid, serves); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := f.name(pid, reaches), "tcp "+l.Addr().String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "socket")
	u, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	var f files
	if got := f.name(int32(os.Getpid()), fd(u.(*net.UnixListener))); got != "unix "+path {
		t.Errorf("got %q, want unix %s", got, path)
	}
}

// A connection of many to one port is told by that port.
func TestConnections(t *testing.T) {
	f := func(own, other, want string) {
		t.Helper()
		a, ok1 := address([]byte(own))
		b, ok2 := address([]byte(other))
		if got := connection("tcp", a, b); !ok1 || !ok2 || got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("0100007F:1538", "0200000A:C822", "tcp port 5432 from 10.0.0.2:51234")
	f("0100007F:C822", "0200000A:1538", "tcp 10.0.0.2:5432")
	f("00000000:0050", "00000000:0000", "tcp port 80")
	f("0000000000000000FFFF00000100007F:C822", "0000000000000000FFFF00000200000A:1538", "tcp 10.0.0.2:5432")
	f("B80D0120000000000000000001000000:C822", "B80D0120000000000000000002000000:0050", "tcp [2001:db8::2]:80")
	for _, wrong := range []string{"", "0100007F", "01007F:1538", "0100007G:1538", "0100007F:15381"} {
		if a, ok := address([]byte(wrong)); ok {
			t.Errorf("%s: got %v", wrong, a)
		}
	}
}
