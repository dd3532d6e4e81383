package symbol

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"

	"ppscript/runtime/task"
)

// This file reads the maps that JIT compilers write of their code,
// /tmp/perf-PID.map: a line "START SIZE name" in hex for each function. PID is
// the number in the process's own namespace, and /tmp that of its own root.

// maxMap bounds a map file, in bytes.
const maxMap = 512 << 20

// ParsePerfMap reads the text of a perf-PID.map. Lines that are not whole, as
// the last one of a process that still writes, are skipped and counted. Where
// functions overlap, the code was made again: the later line counts.
func ParsePerfMap(text []byte) (t *Table, skipped int) {
	var b builder
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		start, size, name, ok := mapLine(line)
		if !ok || !whole {
			skipped++
			continue
		}
		b.add(name, start, size, start+size, rankGlobal)
	}
	return b.latest(), skipped
}

// latest is table for symbols of which later ones replace earlier ones.
func (b *builder) latest() *Table {
	at := make(map[uint64]int, len(b.syms))
	kept := b.syms[:0]
	for _, s := range b.syms {
		if i, ok := at[s.addr]; ok {
			kept[i] = s
			continue
		}
		at[s.addr] = len(kept)
		kept = append(kept, s)
	}
	b.syms = kept
	return b.table()
}

func mapLine(line []byte) (start, size uint64, name []byte, ok bool) {
	a, rest, ok1 := bytes.Cut(bytes.TrimLeft(line, " \t"), []byte(" "))
	s, name, ok2 := bytes.Cut(rest, []byte(" "))
	start, err1 := strconv.ParseUint(strings.TrimPrefix(string(a), "0x"), 16, 64)
	size, err2 := strconv.ParseUint(strings.TrimPrefix(string(s), "0x"), 16, 64)
	name = bytes.TrimRight(name, "\r")
	if !ok1 || !ok2 || err1 != nil || err2 != nil || len(name) == 0 || size == 0 || start+size < start {
		return 0, 0, nil, false
	}
	return start, size, name, true
}

// perfMap finds and reads the map of a process, nil if it has none. Only the
// process's own user and root are believed.
func perfMap(s *task.Space) *Table {
	pid := s.InnerPID
	if pid <= 0 {
		pid = s.PID
	}
	text, info, err := s.Root.ReadFile(path.Join("/tmp", fmt.Sprintf("perf-%d.map", pid)), maxMap)
	if err != nil {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && s.UID >= 0 && int64(st.Uid) != s.UID {
		return nil
	}
	t, _ := ParsePerfMap(text)
	if t.Len() == 0 {
		return nil
	}
	return t
}
