package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// This file is unix sockets, where the kernel tells the user at the other end: no
// token is needed. Ports of this machine without a host are such sockets too,
// in the abstract namespace: they need no directory, work for a process that sees only a
// part of the files, and are gone with their process. Anybody may listen and
// connect there, so both sides check the other's user.

// localName is the socket of a port of this machine.
func localName(port uint64) string { return "@ppscript:" + strconv.FormatUint(port, 10) }

// Ports that are tried if any will do, as those of the network.
const firstPort, lastPort = 49152, 65535

// errStranger is a peer that has no business with us.
type errStranger struct{ uid uint32 }

func (e errStranger) Error() string {
	return fmt.Sprintf("user %d is there, who is neither root nor you", e.uid)
}

// peerOf is the user at the other end of a unix socket. Of a listener it is the user who
// began to listen.
func peerOf(conn syscall.Conn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if cerr != nil {
		return 0, cerr
	}
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return cred.Uid, nil
}

// trusted reports that a user may see our events, and that we believe the
// user's events.
func trusted(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

// checkPeer refuses strangers. At a path that only its owner can have made, the
// owner is expected: a guest's monitor runs as a user of its own.
func checkPeer(conn syscall.Conn, path string) error {
	uid, err := peerOf(conn)
	if err != nil || trusted(uid) || path != "" && ownsPath(path, uid) {
		return err
	}
	return errStranger{uid}
}

// ownsPath reports that a socket is uid's, and that nobody else but root and us
// can have put it, or a directory above it, there.
func ownsPath(path string, uid uint32) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if real, err = filepath.Abs(real); err != nil {
		return false
	}
	owner, _, err := ownerOf(real)
	if err != nil || owner != uid {
		return false
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		owner, mode, err := ownerOf(dir)
		if err != nil || owner != uid && !trusted(owner) || mode.Perm()&0o022 != 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

func ownerOf(path string) (uid uint32, mode fs.FileMode, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("stat %s: no owner", path)
	}
	return sys.Uid, st.Mode(), nil
}

// ListenUnix listens at a path, for this user only: the socket has its mode
// before it has its name. The socket of a sender that was killed is in nobody's
// way.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		conn, err := net.Dial("unix", path)
		switch {
		case err == nil:
			conn.Close()
			return nil, unix.EADDRINUSE
		case errors.Is(err, unix.ECONNREFUSED):
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
	}
	return listenMode(ctx, path)
}

// listenLocal listens at a port of this machine; 0 is any.
func listenLocal(ctx context.Context, port uint64) (net.Listener, uint64, error) {
	if port != 0 {
		ln, err := listenMode(ctx, localName(port))
		return ln, port, err
	}
	var last error
	start := uint64(os.Getpid())
	for n := range uint64(lastPort - firstPort + 1) {
		port := firstPort + (start+n)%(lastPort-firstPort+1)
		ln, err := listenMode(ctx, localName(port))
		if err == nil {
			return ln, port, nil
		}
		if last = err; !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	return nil, 0, last
}

// listenMode gives the socket its mode before bind, which takes it over to the
// file: at no time can others connect.
func listenMode(ctx context.Context, path string) (net.Listener, error) {
	l := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		cerr := raw.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) })
		if cerr != nil {
			return cerr
		}
		return os.NewSyscallError("fchmod", err)
	}}
	return l.Listen(ctx, "unix", path)
}
