package perfdata

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file reads recordings that are directories (perf record --threads): a file
// data with the head, the features and the first records, and files data.0,
// data.1, ... that have only records, each of one thread of perf. There are no
// rounds, so the records can be sorted only after all were read.
//
// All files are mapped into one range of addresses, with gaps, so that a record
// has one offset like in a single file.

// maxParts bounds the files of a directory: perf has at most one thread for each
// CPU.
const maxParts = 8192

// openDirectory opens the recording in the directory path.
func openDirectory(ctx context.Context, path string, opt Options) (*File, error) {
	m, err := mapDirectory(path)
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "open recording", path, "%w", diag.Reason(err)).
			WithHint("give the directory that perf record --threads wrote, which has a file called data")
	}
	f, err := openMapped(ctx, m, path, opt)
	if err != nil {
		m.close()
	}
	return f, err
}

// mapDirectory maps the files of a directory, each at a page boundary. The
// first is the file with the head.
func mapDirectory(path string) (m *mappedInput, err error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	page := os.Getpagesize()
	var sizes []int
	total := 0
	for i := range maxParts {
		name := "data"
		if i > 0 {
			name = "data." + strconv.Itoa(i-1)
		}
		f, err := os.OpenFile(filepath.Join(path, name), os.O_RDONLY|unix.O_NONBLOCK, 0)
		if os.IsNotExist(err) && i > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if !st.Mode().IsRegular() || st.Size() > 1<<46 {
			return nil, &os.PathError{Op: "map", Path: name, Err: unix.EINVAL}
		}
		sizes = append(sizes, int(st.Size()))
		total += (int(st.Size()) + page - 1) &^ (page - 1)
	}
	if total == 0 {
		return &mappedInput{}, nil
	}
	b, err := unix.Mmap(-1, 0, total, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	m = &mappedInput{b: b, unmap: func() error { return unix.Munmap(b) }}
	at := 0
	for i, f := range files {
		if sizes[i] > 0 {
			addr := unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at)
			if _, err := unix.MmapPtr(int(f.Fd()), 0, addr, uintptr(sizes[i]), unix.PROT_READ,
				unix.MAP_PRIVATE|unix.MAP_FIXED); err != nil {
				m.close()
				return nil, err
			}
		}
		m.parts = append(m.parts, part{at, at + sizes[i]})
		at += (sizes[i] + page - 1) &^ (page - 1)
	}
	m.end = m.parts[0].end
	m.b = b[:m.parts[0].end:m.parts[0].end] // the head is in the first file
	m.all = b
	return m, nil
}

// A part is a file of a directory, by its offsets in the range of mappings.
type part struct{ begin, end int }

// next moves to the next file; false if there is none.
func (m *mappedInput) next() bool {
	if len(m.parts) < 2 {
		return false
	}
	m.parts = m.parts[1:]
	m.b = m.all
	m.at, m.end = m.parts[0].begin, m.parts[0].end
	return true
}

// nextPart moves to the next file of a directory. Each file has its own
// compressed stream.
func (f *File) nextPart() bool {
	m, ok := f.in.(*mappedInput)
	if !ok || !m.next() {
		return false
	}
	if f.packed.within() {
		f.warn("the compressed records of a file end within a record")
		f.loss.Truncated++
	}
	f.packed.next()
	return true
}

// isDirectory reports that path is a directory that perf record --threads
// wrote.
func isDirectory(path string) bool {
	st, err := os.Stat(filepath.Join(path, "data"))
	return err == nil && st.Mode().IsRegular()
}
