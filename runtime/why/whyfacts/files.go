package whyfacts

import (
	"os"
	"strconv"
	"strings"

	"ppscript/runtime/system/privilege"
)

// This file finds the names of open files.

// files finds the names of files of processes on this machine.
type files struct{ sockets sockets }

// name returns the name of a process's file descriptor at this moment: a path, "pipe",
// "eventfd", a socket's kind and address; "" if it is unknown or would be useless, as for an
// epoll descriptor.
func (f *files) name(pid, fd int32) string {
	process := "/proc/" + strconv.Itoa(int(pid))
	target := ""
	privilege.Raise(privilege.Processes, func() {
		target, _ = os.Readlink(process + "/fd/" + strconv.Itoa(int(fd)))
	})
	kind, inside, ok := strings.Cut(target, ":[")
	switch {
	case !ok:
		kind = target // a path, or anon_inode:inotify
		if name, anonymous := strings.CutPrefix(kind, "anon_inode:"); anonymous {
			return name
		}
		return kind
	case kind == "socket":
		return f.sockets.name(process, strings.TrimSuffix(inside, "]"))
	case kind == "anon_inode" && inside == "eventpoll]":
		return ""
	case kind == "anon_inode":
		return strings.TrimSuffix(inside, "]")
	}
	return kind // pipe
}
