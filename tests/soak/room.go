package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A room is a cgroup whose memory is bounded.
type room struct{ dir string }

// roomBytes is what all in it have together.
const roomBytes = 100_000_000

// newRoom makes it in whichever version of cgroups has the memory controller; nil with an
// error where none can be made.
func newRoom() (*room, error) {
	name := "ppscript-soak-" + strconv.Itoa(os.Getpid())
	root, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if list, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); err == nil {
		if !strings.Contains(string(list), "memory") {
			return nil, errors.New("/sys/fs/cgroup/cgroup.subtree_control lacks the memory controller")
		}
		root, limit = "/sys/fs/cgroup", "memory.max"
	}
	r := &room{filepath.Join(root, name)}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(r.dir, limit), []byte(strconv.Itoa(roomBytes)), 0); err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

// enter is the command that runs another one in the room. Of the processes in it, the one with the higher
// score is killed when there is no memory left.
func (r *room) enter(score int, command []string) []string {
	if r == nil {
		return command
	}
	script := fmt.Sprintf("echo $$ >%s/cgroup.procs; echo %d >/proc/self/oom_score_adj; exec \"$@\"",
		r.dir, score)
	return append([]string{"sh", "-c", script, "sh"}, command...)
}

// oomReport tells how often memory ran out; what is wrong if it cannot be read.
func (r *room) oomReport() []string {
	if r == nil {
		return nil
	}
	for _, name := range []string{"memory.failcnt", "memory.events"} {
		if text, err := os.ReadFile(filepath.Join(r.dir, name)); err == nil {
			fmt.Printf("memory of the cgroup ran out: %s\n", strings.Join(strings.Fields(string(text)), " "))
			return nil
		}
	}
	return []string{"the cgroup of 100 MB has gone"}
}

func (r *room) remove() {
	if r != nil {
		os.Remove(r.dir) // one with processes stays, and left tells them
	}
}
