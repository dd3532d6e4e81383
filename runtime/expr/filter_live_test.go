package expr_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/source/tracefs"
	"ppscript/tests/testkit"
)

// This file asks the kernel itself: a pushed filter must let just those
// events through for which the predicate is true. Events are made on this
// thread with values that are known, and counted by a perf event with the
// filter.

// openFiltered counts a tracepoint on this thread; the error is the kernel's.
func openFiltered(id uint64, filter string) (fd int, err error) {
	var attr [64]byte
	binary.LittleEndian.PutUint32(attr[0:], 2) // PERF_TYPE_TRACEPOINT
	binary.LittleEndian.PutUint32(attr[4:], uint32(len(attr)))
	binary.LittleEndian.PutUint64(attr[8:], id)
	const setFilter = 0x40082406
	r, _, errno := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), 0,
		^uintptr(0), ^uintptr(0), 8, 0)
	if errno != 0 {
		return -1, errno
	}
	text := append([]byte(filter), 0)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, r, setFilter,
		uintptr(unsafe.Pointer(&text[0]))); errno != 0 {
		syscall.Close(int(r))
		return -1, errno
	}
	return int(r), nil
}

func readCount(t *testing.T, fd int) uint64 {
	t.Helper()
	var b [8]byte
	if n, err := syscall.Read(fd, b[:]); n != 8 || err != nil {
		t.Fatalf("read count: %d bytes, %v", n, err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

func liveSchema(t *testing.T, sys, name string) *event.Schema {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
	fs, err := tracefs.Find()
	if err != nil {
		t.Fatal(err)
	}
	s, err := fs.Schema(sys, name)
	testkit.Requires(t, testkit.Core("tracepoint "+sys+":"+name, err))
	return s
}

func put(s *event.Schema, raw []byte, name string, v uint64) {
	f, _ := s.Field(name)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(raw[f.Offset:f.Offset+f.Size], b[:])
}

// checkFilters pushes each predicate, makes the events, and compares the
// kernel's count with that of the program over the same records.
func checkFilters(t *testing.T, s *event.Schema, predicates []string, records [][]byte, produce func(i int)) {
	for _, src := range predicates {
		n, err := cexpr.Lower(src, &expr.Scope{Schema: s})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		filter, rest, ok := expr.KernelFilter(n)
		if !ok || rest != nil {
			t.Errorf("%s: got filter %q and rest %v, want all of it pushed", src, filter, rest)
			continue
		}
		p := expr.Build(n)
		var f expr.Frame
		want := uint64(0)
		for _, raw := range records {
			f.Reset(&event.Event{Raw: raw})
			if p.Bool(&f) {
				want++
			}
		}
		fd, err := openFiltered(s.ID, filter)
		if err != nil {
			t.Errorf("%s: kernel refuses %q: %v", src, filter, err)
			continue
		}
		for i := range records {
			produce(i)
		}
		if got := readCount(t, fd); got != want || f.Err != nil {
			t.Errorf("%s as %q: kernel counted %d, we %d (%v)", src, filter, got, want, f.Err)
		}
		syscall.Close(fd)
	}
}

func TestFilterNumbersLive(t *testing.T) {
	s := liveSchema(t, "syscalls", "sys_enter_lseek")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var values [][2]uint64
	for _, off := range []uint64{
		0, 1, 5, 6, 7, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 5,
	} {
		for _, whence := range []uint64{0, 1, 99, 1<<32 - 1, 1<<32 | 1, 1 << 33} {
			values = append(values, [2]uint64{off, whence})
		}
	}
	var records [][]byte
	for _, v := range values {
		raw := make([]byte, s.Size)
		put(s, raw, "__syscall_nr", uint64(syscall.SYS_LSEEK))
		put(s, raw, "fd", 1<<64-1)
		put(s, raw, "offset", v[0])
		put(s, raw, "whence", v[1])
		records = append(records, raw)
	}
	predicates := []string{
		"offset == 5", "offset != 5", "offset < 6", "offset <= 6", "offset > 6", "offset >= 6", "6 < offset",
		"!offset", "offset",
		"offset == -1", "offset > 0x7fffffffffffffff", "offset >= 0x8000000000000000", "offset < 4294967296",
		"offset & 4", "!(offset & 4)", "(offset & 3) == 0", "offset & 0x8000000000000000",
		"whence == 99 && offset < 100", "whence == 99 || offset == 7 && whence == 1",
		"(whence == 99 || offset == 7) && whence != 1",
		"!(whence == 1 || offset > 5)", "__syscall_nr > 0 && offset == 1", "__syscall_nr >= -5",
		"__syscall_nr < 0", "__syscall_nr & 8",
		"fd == 0xffff", "common_pid > 0 || offset == 0", "_cpu >= 0",
	}
	for _, raw := range records {
		put(s, raw, "common_pid", uint64(syscall.Gettid()))
	}
	checkFilters(t, s, predicates, records, func(i int) {
		syscall.Syscall(syscall.SYS_LSEEK, ^uintptr(0), uintptr(values[i][0]), uintptr(values[i][1]))
	})
}

func TestFilterTextsLive(t *testing.T) {
	s := liveSchema(t, "task", "task_rename")
	newcomm, ok := s.Field("newcomm")
	if !ok || newcomm.Place != event.InRaw {
		testkit.Requires(t, testkit.Optional("an array", errors.New("newcomm of task_rename is none here")))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const prSetName, prGetName = 15, 16
	var before [16]byte
	syscall.Syscall(syscall.SYS_PRCTL, prGetName, uintptr(unsafe.Pointer(&before)), 0)
	names := []string{
		"bash", "zsh", "sh", "ash-bash", "kworker/0:1", "a", "123456789012345", "x y", "bashful", "[x]",
		"b*sh",
	}
	var records [][]byte
	for _, n := range names {
		raw := make([]byte, s.Size)
		copy(raw[newcomm.Offset:newcomm.Offset+newcomm.Size], n)
		records = append(records, raw)
	}
	predicates := []string{
		`newcomm == "bash"`, `newcomm != "bash"`, `newcomm ~ "bash*"`, `newcomm ~ "*sh"`, `newcomm ~ "*as*"`,
		`newcomm ~ "b?sh"`,
		`newcomm ~ "[bz]*sh"`, `newcomm ~ "[^bz]*"`, `newcomm ~ "kworker/[0-9]:*"`, `newcomm ~ "b*h"`,
		`newcomm ~ "bash"`,
		`newcomm == "123456789012345"`, `newcomm == "x y"`, `newcomm == "[x]"`, `newcomm == "b*sh"`,
		`!(newcomm ~ "*sh")`,
		`newcomm == "a" || newcomm == "sh"`, `newcomm ~ "*[a]*"`, `newcomm ~ "?*"`, `newcomm ~ "*5"`,
	}
	checkFilters(t, s, predicates, records, func(i int) {
		name := append([]byte(names[i]), 0)
		syscall.Syscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&name[0])), 0)
	})
	syscall.Syscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&before)), 0)
}
