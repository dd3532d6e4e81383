package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A room is a cgroup with a memory limit.
type room struct{ dir string }

// roomBytes is the limit for all processes in the room together.
const roomBytes = 100_000_000

// newRoom makes a room in the version of cgroups that has the memory controller; nil with
// an error if that is not possible.
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

// enter returns the command that runs another command in the room. When the memory is exhausted,
// the kernel kills the process with the highest score.
func (r *room) enter(score int, command []string) []string {
	if r == nil {
		return command
	}
	script := fmt.Sprintf("echo $$ >%s/cgroup.procs; echo %d >/proc/self/oom_score_adj; exec \"$@\"",
		r.dir, score)
	return append([]string{"sh", "-c", script, "sh"}, command...)
}

// oomReport returns how often memory ran out, or the error if this cannot be
// read.
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
		os.Remove(r.dir) // a cgroup with processes cannot be removed, and is reported as left
	}
}
