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

// This file finds the programs and libraries that samples of a recording hit, as
// perf record does at its end. Their build-ids are written into the recording,
// so that a reader on another machine, or later, can check that it has the same
// files.
//
// The recording is read twice, in the order of the file: first the mappings, then
// the samples. A mapping counts for the whole recording, even if it was removed
// meanwhile: a file too many does no harm, a missing one does.

// A mapping is a range of addresses of a process into which a file was mapped.
type mapping struct {
	start, end uint64
	file       *hitFile
}

// A hitFile is a file that was mapped; hit is set once a sample is in it.
type hitFile struct {
	path  string
	inode uint64
	id    []byte // build-id from the mapping's record, if it has one
	hit   bool
}

// hits collects the files that samples hit.
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

// hitsOf reads the unfinished recording at path.
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

// eachEvent calls look for each event of a file, in the file's order.
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

// sample marks the files that contain a sample's address and the addresses of
// its stack.
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
	// A process has the mappings of its parent until it executes another
	// program.
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

// buildIDs returns the build-ids of the files that were hit, and always the
// kernel's, since readers look for the kernel's symbols in any case.
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
