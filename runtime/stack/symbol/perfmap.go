package symbol

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// This file reads the maps of functions that JIT compilers write,
// /tmp/perf-PID.map: for each function a line "START SIZE name", in hex. PID is
// the number in the process's own namespace, and /tmp is below its own root.

// maxMap bounds the bytes that are read from a map, maxMapFuncs its functions,
// maxMapText the bytes of their names. Large maps of Java have 100,000 functions
// and 10 MB.
const (
	maxMap      = 128 << 20
	maxMapFuncs = 1 << 18
	maxMapText  = 16 << 20
)

// readPerfMap reads a perf-PID.map to its end, or until there is no more room or it takes
// too long. Incomplete lines, such as the last one of a process that still writes, are
// skipped and counted. If functions overlap, the code was replaced, so the later line
// counts.
func readPerfMap(r io.Reader, expired func() bool) (t *Table, skipped int, err error) {
	b := builders.Get().(*builder)
	defer b.recycle()
	in := bufio.NewReaderSize(r, maxMapLine)
	for n := 0; ; n++ {
		line, e := in.ReadSlice('\n')
		if e == bufio.ErrBufferFull {
			for e == bufio.ErrBufferFull {
				_, e = in.ReadSlice('\n')
			}
			line = nil
			skipped++
		}
		if e != nil {
			if len(bytes.TrimSpace(line)) > 0 {
				skipped++
			}
			if e != io.EOF {
				err = e
			}
			break
		}
		if n%1024 == 0 && expired() {
			err = dso.ErrExpired
			break
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		start, size, name, ok := mapLine(line[:len(line)-1])
		if !ok {
			skipped++
			continue
		}
		b.add(name, start, size, start+size, rankGlobal)
		if len(b.syms) > maxMapFuncs || len(b.names) > maxMapText {
			err = &dso.TooLarge{Subject: "map of a JIT compiler", Bytes: uint64(len(b.names)),
				Most: maxMapText}
			break
		}
	}
	return b.latest(), skipped, err
}

// maxMapLine bounds a line, in bytes; longer ones are left out.
const maxMapLine = 64 << 10

// latest is like table, for symbols of which later ones replace earlier ones.
func (b *builder) latest() *Table {
	for i := range b.syms {
		b.syms[i].seq = uint32(len(b.syms) - i)
	}
	b.late = true
	defer func() { b.late = false }()
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

// A jitMap is the map of a process that was read.
type jitMap struct {
	table *Table // nil if there is none
	size  int64  // size of the file when it was read
	since time.Time
	round int // jitRound of the Symbolizer at the last check
}

// perfMap finds and reads the map of a process, nil if it has none. before is
// the earlier map, which is returned if the file has not changed.
func (s *Symbolizer) perfMap(sp *task.Space, before *jitMap) *jitMap {
	f, info := s.openMap(sp)
	if f == nil {
		if f, info = s.heldMap(sp); f == nil {
			return &jitMap{}
		}
	} else {
		defer f.Close()
	}
	if before != nil && before.size == info.Size() && before.since.Equal(info.ModTime()) {
		return before
	}
	m := &jitMap{size: info.Size(), since: info.ModTime()}
	files := s.opt.Maps.Files()
	t, _, err := readPerfMap(io.NewSectionReader(f, 0, maxMap), files.Expired)
	if large := (*dso.TooLarge)(nil); errors.As(err, &large) {
		large.Bytes = uint64(info.Size())
	} else if err == nil && info.Size() > maxMap {
		err = &dso.TooLarge{Subject: "map of a JIT compiler", Bytes: uint64(info.Size()), Most: maxMap}
	}
	files.Tell(&dso.File{Path: f.Name()}, err)
	if t.Len() > 0 {
		m.table = t
	}
	return m
}

// jitTable returns the functions that a process made at run time, nil if there
// are none.
func (s *Symbolizer) jitTable(sp *task.Space) *Table {
	m, ok := s.jit.Of(sp, s.now)
	read := ok && m.round == s.jitRound
	if ok && sp.Until != 0 && m.table != nil {
		read = true // a later map belongs to the next program of the process
	}
	if !read {
		m = s.perfMap(sp, m)
		m.round = s.jitRound
		s.jit.Drop(sp)
		s.jit.Trim(maxJITs - 1)
		s.jit.Hold(sp, m, m.bytes(), s.now)
	}
	return m.table
}

// littleJIT is the size of maps, in bytes, up to which idle ones are kept; maxJITs
// bounds the processes whose map, or lack of a map, is remembered.
const (
	littleJIT = 8 << 20
	maxJITs   = 4096
)

// jitEntry is the approximate memory for a process without a map, in bytes.
const jitEntry = 256

func (m *jitMap) bytes() int {
	if m.table == nil {
		return jitEntry
	}
	return jitEntry + m.table.Bytes()
}
