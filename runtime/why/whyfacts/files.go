package whyfacts

import (
	"os"
	"strconv"
	"strings"

	"ppscript/runtime/system/privilege"
)

// This file names what processes have open.

// files names the files of processes that run here.
type files struct{ sockets sockets }

// name is what a process has open under a number at this moment: a path, "pipe", "eventfd", a
// socket's kind and address; "" if nobody tells, or the name would tell nothing, as of an epoll.
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
