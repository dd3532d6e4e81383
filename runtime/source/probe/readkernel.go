package probe

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"ppscript/runtime/text/diag"
)

// ReadKernel fills dst with the kernel's memory from addr on. path is
// /proc/kcore. It opens the file at each call: it is for commands, not for
// events.
func ReadKernel(path string, dst []byte, addr uint64) error {
	refuse := func(err error, hint string) error {
		return (&diag.Error{
			Op: "read kernel", Subject: fmt.Sprintf("%#x", addr), Cause: err, Class: diag.Attach,
		}).WithHint("%s", hint)
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuse(fmt.Errorf("this kernel does not show its memory: no %s", path),
			"boot a kernel with CONFIG_PROC_KCORE, or with less lockdown")
	case err != nil:
		return refuse(err, "run as root; a locked down kernel refuses it: cat /sys/kernel/security/lockdown")
	}
	f.Close()
	k := kernelMemory{path: path}
	ok := k.read(dst, addr)
	image := k.elf
	if err := k.close(); err != nil {
		return err
	}
	switch {
	case ok:
		return nil
	case image == nil:
		return refuse(fmt.Errorf("%s cannot be read", path), "run as root")
	case !mapped(image, addr, len(dst)):
		return refuse(fmt.Errorf("%d bytes there are not memory of the kernel", len(dst)),
			"give an address of the kernel, 0xffff..., or a symbol of /proc/kallsyms")
	}
	return refuse(errors.New("the kernel does not let it be read"), "give another address")
}

func mapped(f *elf.File, addr uint64, size int) bool {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz &&
			uint64(size) <= p.Memsz-(addr-p.Vaddr) {
			return true
		}
	}
	return false
}
