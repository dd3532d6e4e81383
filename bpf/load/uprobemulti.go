package load

import (
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// This file attaches a program to many places in programs, by one link for each file
// (uprobe_multi, 6.6). The kernel finds each place of a file once, and plants all of
// them together; perf needs an event for each.

// linkCreate is a command of bpf(2).
const linkCreate = 28

// must match link_create.uprobe_multi of union bpf_attr in include/uapi/linux/bpf.h
type uprobeMultiAttr struct {
	program, _, attach, _ uint32
	path                  unsafe.Pointer
	offsets               unsafe.Pointer
	semaphores            unsafe.Pointer // ref_ctr_offsets
	cookies               unsafe.Pointer
	count, flags, pid     uint32
	_                     uint32
}

// atReturns is BPF_F_UPROBE_MULTI_RETURN.
const atReturns = 1

// plantUser attaches the program to many places in programs, in one process, or in all
// if pid is -1. The program of one place is a session.
func (r *Run) plantUser(p *Program, prog *ebpf.Program, pid int) error {
	attach := ebpf.AttachTraceUprobeMulti
	if !p.many() {
		attach = uprobeSession
	}
	var files []string
	numbers := map[string][]uint64{}
	for i, event := range p.Places {
		file := r.Places[event].Config1Text
		if numbers[file] == nil {
			files = append(files, file)
		}
		numbers[file] = append(numbers[file], Cookie(i, event))
	}
	for _, file := range files {
		cookies := numbers[file]
		offsets := make([]uint64, len(cookies))
		for i, number := range cookies {
			offsets[i] = r.Places[number>>32].Config2
		}
		path, err := unix.BytePtrFromString(file)
		if err != nil {
			return err
		}
		a := uprobeMultiAttr{
			program: uint32(prog.FD()), attach: uint32(attach), pid: uint32(max(pid, 0)),
			path: unsafe.Pointer(path), offsets: unsafe.Pointer(&offsets[0]),
			cookies: unsafe.Pointer(&cookies[0]), count: uint32(len(cookies)),
		}
		if p.ID&returns != 0 {
			a.flags = atReturns
		}
		fd, _, e := unix.Syscall(unix.SYS_BPF, linkCreate, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
		if e != 0 {
			return e
		}
		r.links = append(r.links, func() error { return unix.Close(int(fd)) })
	}
	return nil
}
