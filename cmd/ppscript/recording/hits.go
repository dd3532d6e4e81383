package recording

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack/dso"
)

// This file finds out which files the samples of a recording hit, as perf record
// does at its end: their build-ids go into the recording, so that its reader
// elsewhere, or later, can tell whether he has the same files.
//
// The recording is read twice, in the order of the file: first for the mappings,
// then for the samples. A mapping that came and went counts for all of the time: a
// file too many does no harm, one too few does.

// mapping is a mapping of a process.
type mapping struct {
	start, end uint64
	file       *hitFile
}

// A hitFile is a file that was mapped.
type hitFile struct {
	path  string
	inode uint64
	id    []byte // from its record
	hit   bool
}

// hits are the files that the samples of a recording hit.
type hits struct {
	maps    map[int32][]mapping
	parents map[int32]int32
	files   map[hitKey]*hitFile
	kernel  bool
}

type hitKey struct {
	path  string
	inode uint64
}

// hitsOf reads the recording at path, which is not finished.
func hitsOf(path string) (*hits, error) {
	h := &hits{maps: map[int32][]mapping{}, parents: map[int32]int32{}, files: map[hitKey]*hitFile{}}
	for _, look := range []func(*event.Event){h.mapping, h.sample} {
		f, err := perfdata.Open(path, perfdata.Options{})
		if err != nil {
			return nil, err
		}
		err = eachEvent(f, look)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// eachEvent hands on all events of a file.
func eachEvent(f *perfdata.File, look func(*event.Event)) error {
	batch := make([]event.Event, 256)
	for {
		err := f.Poll(context.Background(), time.Second)
		if err != nil && err != io.EOF {
			return err
		}
		for _, ring := range f.Rings() {
			_, visible := ring.Bounds()
			for ring.Pos() < visible {
				n := ring.Read(batch, visible)
				for i := range batch[:n] {
					look(&batch[i])
				}
				ring.Release()
				if n == 0 {
					break
				}
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (h *hits) mapping(e *event.Event) {
	if f, ok := perf.DecodeFork(e); ok && e.Kind == event.Fork && f.PID != f.PPID {
		h.parents[f.PID] = f.PPID
		return
	}
	m, ok := perf.DecodeMmap(e)
	if !ok || m.Data || m.Kernel || !strings.HasPrefix(m.Name, "/") {
		return
	}
	key := hitKey{m.Name, m.Ino}
	file := h.files[key]
	if file == nil {
		file = &hitFile{path: m.Name, inode: m.Ino, id: m.BuildID}
		h.files[key] = file
	}
	h.maps[m.PID] = append(h.maps[m.PID], mapping{m.Addr, m.Addr + m.Len, file})
}

// sample marks the files of a sample's address and of its stack.
func (h *hits) sample(e *event.Event) {
	if e.Kind != event.Sample || e.Stream == nil || e.Stream.Members == nil {
		return
	}
	if ip, ok := e.Stream.Members.Member(e, event.MemberIP); ok {
		h.address(e.PID, ip)
	}
	for _, addr := range e.Stream.Members.Callchain(e) {
		h.address(e.PID, addr)
	}
}

func (h *hits) address(pid int32, addr uint64) {
	if int64(addr) < 0 {
		h.kernel = true
		return
	}
	// A process has the mappings of its parent until it begins another program.
	for range 64 {
		list := h.maps[pid]
		for i := range slices.Backward(list) {
			if m := &list[i]; addr >= m.start && addr < m.end {
				m.file.hit = true
				return
			}
		}
		parent, ok := h.parents[pid]
		if !ok {
			return
		}
		pid = parent
	}
}

// buildIDs are those of the files that were hit, and of the kernel, whose symbols
// readers look for in any case.
func (h *hits) buildIDs() []perfdata.BuildID {
	var ids []perfdata.BuildID
	if notes, err := os.ReadFile("/sys/kernel/notes"); err == nil {
		if id, err := hex.DecodeString(dso.NoteBuildID(notes, binary.LittleEndian, 4)); err == nil &&
			len(id) > 0 {
			ids = append(ids, perfdata.BuildID{PID: -1, ID: id, Path: "[kernel.kallsyms]", Kernel: true})
		}
	}
	for _, f := range h.files {
		if !f.hit {
			continue
		}
		id := f.id
		if id == nil {
			id, _ = hex.DecodeString(dso.ReadBuildID(f.path, f.inode))
		}
		if len(id) > 0 {
			ids = append(ids, perfdata.BuildID{PID: -1, ID: id, Path: f.path})
		}
	}
	slices.SortFunc(ids, func(a, b perfdata.BuildID) int { return strings.Compare(a.Path, b.Path) })
	return ids
}
