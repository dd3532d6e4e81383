package perfdata

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

// This file makes records of the state before recording began: the threads
// with their names, the mappings of processes, and the kernel's text. The
// kernel reports only changes.
//
// They look like the kernel's records with a SampleID of zeros, so their time
// is 0, before all others.

// Synthesize writes records of these processes, nil for all, and of the kernel.
// Call it between the last Add and the first Write. It leaves out processes
// that have ended or that this user may not read.
func (w *Writer) Synthesize(pids []int) error {
	if err := w.start(); err != nil {
		return err
	}
	w.kernelMap()
	if pids == nil {
		pids = numbers(w.opt.Roots.ProcPath())
	}
	for _, pid := range pids {
		w.process(pid)
	}
	return w.err
}

// numbers lists the directories of dir whose names are numbers.
func numbers(dir string) (ns []int) {
	entries, err := privilege.ReadDir(privilege.Processes, dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			ns = append(ns, n)
		}
	}
	return ns
}

func (w *Writer) process(pid int) {
	dir := w.opt.Roots.ProcPath(strconv.Itoa(pid))
	for _, tid := range numbers(filepath.Join(dir, "task")) {
		comm, err := privilege.ReadFile(privilege.Processes,
			filepath.Join(dir, "task", strconv.Itoa(tid), "comm"))
		if err != nil {
			continue
		}
		parent := pid
		if tid == pid {
			parent = parentOf(dir)
		}
		w.fork(pid, tid, parent)
		w.comm(pid, tid, strings.TrimSuffix(string(comm), "\n"))
	}
	maps, err := privilege.ReadFile(privilege.Processes, filepath.Join(dir, "maps"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		w.mapping(pid, strings.TrimSuffix(line, "\n"))
	}
}

// parentOf returns the parent's pid. The name before it may have blanks and
// parentheses, so the search begins after the last parenthesis.
func parentOf(dir string) int {
	stat, err := privilege.ReadFile(privilege.Processes, filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// synth writes a record with that body and a SampleID of zeros.
func (w *Writer) synth(typ uint32, misc uint16, body []byte) {
	body = append(body, make([]byte, -len(body)&7+w.form.trailer)...)
	if size := recHeaderSize + len(body); size < 1<<16 {
		w.record(append(header(typ, misc, uint16(size)), body...))
	}
}

func (w *Writer) fork(pid, tid, parent int) {
	b := le.AppendUint32(nil, uint32(pid))
	b = le.AppendUint32(b, uint32(parent))
	b = le.AppendUint32(b, uint32(tid))
	b = le.AppendUint32(b, uint32(parent))
	// PERF_RECORD_MISC_FORK_EXEC: do not copy the parent's mappings.
	w.synth(unix.PERF_RECORD_FORK, unix.PERF_RECORD_MISC_FORK_EXEC, le.AppendUint64(b, 0))
}

func (w *Writer) comm(pid, tid int, name string) {
	b := le.AppendUint32(nil, uint32(pid))
	b = le.AppendUint32(b, uint32(tid))
	w.synth(unix.PERF_RECORD_COMM, 0, append(append(b, name...), 0))
}

// Cgroup writes a cgroup that existed before the recording began.
func (w *Writer) Cgroup(id uint64, path string) {
	w.synth(unix.PERF_RECORD_CGROUP, 0, append(append(le.AppendUint64(nil, id), path...), 0))
}

// mapsData reports that an event records mappings of data.
func (w *Writer) mapsData() bool {
	return slices.ContainsFunc(w.streams, func(s StreamInfo) bool {
		return s.Attr.Bits&unix.PerfBitMmapData != 0
	})
}

// mapping writes the record for a line of /proc/PID/maps, if the mapping is
// executable, or if mappings of data are recorded: "start-end rwxp offset
// major:minor inode name".
func (w *Writer) mapping(pid int, line string) {
	var start, end, off, ino uint64
	var maj, minor uint32
	var perm string
	if n, err := fmt.Sscanf(line, "%x-%x %4s %x %x:%x %d", &start, &end, &perm, &off, &maj, &minor,
		&ino); n != 7 || err != nil ||
		len(perm) != 4 || end <= start {
		return
	}
	misc := uint16(unix.PERF_RECORD_MISC_USER)
	if perm[2] != 'x' {
		if ino == 0 || !w.mapsData() {
			return
		}
		misc |= unix.PERF_RECORD_MISC_MMAP_DATA
	}
	name := "//anon"
	// The name is the rest of the line, which may have blanks.
	rest := line
	for range 5 {
		_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	if rest = strings.TrimLeft(rest, " "); rest != "" {
		name = rest
	}
	var prot, flags uint32 = 0, unix.MAP_PRIVATE
	for i, bit := range []uint32{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if perm[i] != '-' {
			prot |= bit
		}
	}
	if perm[3] == 's' {
		flags = unix.MAP_SHARED
	}
	b := le.AppendUint32(nil, uint32(pid))
	b = le.AppendUint32(b, uint32(pid))
	for _, v := range []uint64{start, end - start, off} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, maj)
	b = le.AppendUint32(b, minor)
	b = le.AppendUint64(b, ino)
	b = le.AppendUint64(b, 0) // generation
	b = le.AppendUint32(b, prot)
	b = le.AppendUint32(b, flags)
	w.synth(unix.PERF_RECORD_MMAP2, misc, append(append(b, name...), 0))
}

// kernelMap writes the mapping of the kernel's text, if this user may read its
// address. Readers derive from it the distance by which the kernel was moved at
// boot.
func (w *Writer) kernelMap() {
	f, err := privilege.ReadFile(privilege.Processes, w.opt.Roots.ProcPath("kallsyms"))
	if err != nil {
		return
	}
	var start, end uint64
	ref := "_text"
	for line := range strings.Lines(string(f)) {
		addr, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasSuffix(rest, " _stext\n") && start == 0:
			start, _ = strconv.ParseUint(addr, 16, 64)
			ref = "_stext"
		case strings.HasSuffix(rest, " _text\n"):
			start, _ = strconv.ParseUint(addr, 16, 64)
			ref = "_text"
		case strings.HasSuffix(rest, " _etext\n"):
			end, _ = strconv.ParseUint(addr, 16, 64)
		}
		if start != 0 && end > start {
			break
		}
	}
	if start == 0 || end <= start {
		return
	}
	host := ^uint32(0) // HOST_KERNEL_ID
	b := le.AppendUint32(nil, host)
	b = le.AppendUint32(b, 0)
	for _, v := range []uint64{start, end - start, start} {
		b = le.AppendUint64(b, v)
	}
	w.synth(unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MISC_KERNEL,
		append(append(b, "[kernel.kallsyms]"+ref...), 0))
}
