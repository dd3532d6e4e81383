package symbol

import (
	"fmt"
	"os"
	"path"
	"syscall"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/target/task"
)

// This file opens the maps that JIT compilers write, while their processes exist. The /tmp of a
// container ends with it, and some programs remove their map when they end.

// maxHeldMaps bounds the open maps.
const maxHeldMaps = 128

// A heldMaps has the open maps of processes, the oldest first.
type heldMaps struct {
	files map[*task.Space]*os.File
	order []*task.Space
}

// Keep opens the map of a process, if there is one, and keeps it open. Call it when the process has
// its first stack, and when it ends, since some programs write their map last. If the process
// executes another program, its map is read at once, since the next program may write its own map
// to the same file.
func (s *Symbolizer) Keep(sp *task.Space) {
	if sp.Until != 0 && s.opt.Live {
		s.jitTable(sp)
		return
	}
	if s.heldMaps.files[sp] != nil || !s.opt.Live {
		return
	}
	f, _ := s.openMap(sp)
	if f == nil {
		return
	}
	if s.heldMaps.files == nil {
		s.heldMaps.files = map[*task.Space]*os.File{}
	}
	if len(s.heldMaps.order) >= maxHeldMaps {
		first := s.heldMaps.order[0]
		s.heldMaps.files[first].Close()
		delete(s.heldMaps.files, first)
		s.heldMaps.order = s.heldMaps.order[1:]
	}
	s.heldMaps.files[sp] = f
	s.heldMaps.order = append(s.heldMaps.order, sp)
}

// Close closes the open maps.
func (s *Symbolizer) Close() {
	for _, f := range s.heldMaps.files {
		f.Close()
	}
	s.heldMaps = heldMaps{}
}

func (s *Symbolizer) heldMap(sp *task.Space) (*os.File, os.FileInfo) {
	f := s.heldMaps.files[sp]
	if f == nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || s.ofAnother(sp, info.ModTime()) {
		return nil, nil
	}
	return f, info
}

// openMap opens the map of a process, nil if it has none.
//
// It must be below the process's own root, not a link, and owned by root or the
// user of the process, since other users could give the code wrong names.
func (s *Symbolizer) openMap(sp *task.Space) (*os.File, os.FileInfo) {
	pid := sp.InnerPID
	if pid <= 0 {
		pid = sp.PID
	}
	f, err := sp.Root.OpenPlain(path.Join("/tmp", fmt.Sprintf("perf-%d.map", pid)))
	if err != nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		foreign := ok && st.Uid != 0 && sp.UID >= 0 && int64(st.Uid) != sp.UID
		if !foreign && !s.ofAnother(sp, info.ModTime()) {
			return f, info
		}
	}
	f.Close()
	return nil, nil
}

// coarse is the error of file times, which are the times of the kernel's last tick.
const coarse = 10 * time.Millisecond

// ofAnother reports that a file was not written by the program of this space: it was written before
// the program began, by an earlier process with the same number or by the program before the exec,
// or after the process executed another program.
func (s *Symbolizer) ofAnother(sp *task.Space, written time.Time) bool {
	now, ok := perf.Monotonic()
	if !s.opt.Live || !ok {
		return false
	}
	at := func(t event.Time) time.Time { return time.Now().Add(-time.Duration(now-t) - coarse) }
	return sp.From > 0 && written.Before(at(sp.From)) || sp.Until > 0 && !written.Before(at(sp.Until))
}
