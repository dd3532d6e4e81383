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

// This file handles unix sockets. They need no token, since the kernel reports the user
// at the other end. A PORT without a host is a unix socket in the abstract namespace: it
// needs no directory, works for a process that sees only a part of the files, and
// vanishes with its process. Any user may listen and connect there, so both sides check
// the other's user.

// localName returns the name of the socket for a port of this machine.
func localName(port uint64) string { return "@ppscript:" + strconv.FormatUint(port, 10) }

// The range of ports from which a free one is chosen, like the dynamic ports of
// the network.
const firstPort, lastPort = 49152, 65535

// errStranger is the error for a peer of another user.
type errStranger struct{ uid uint32 }

func (e errStranger) Error() string {
	return fmt.Sprintf("the other end belongs to user %d, neither root nor you", e.uid)
}

// peerOf returns the user at the other end of a unix socket. For a listener it is the
// user that called listen.
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

// trusted reports that a user may receive this user's events, and that events
// of that user are accepted.
func trusted(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

// checkPeer refuses other users. At a path that only its owner can have made,
// it also accepts the owner, since a guest's monitor may run as another user.
func checkPeer(conn syscall.Conn, path string) error {
	uid, err := peerOf(conn)
	if err != nil || trusted(uid) || path != "" && ownsPath(path, uid) {
		return err
	}
	return errStranger{uid}
}

// ownsPath reports that uid owns a socket, and that only uid, root and this
// user can have created the socket and the directories above it.
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

// ListenUnix listens at a path, for this user only: the mode of the socket is
// set before it has a name. The socket of a sender that was killed is replaced.
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

// listenLocal listens at a port of this machine; 0 means any free port.
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

// listenMode sets the mode of the socket before bind, which copies the mode to
// the file. So other users cannot connect at any time.
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
