package probe

import (
	"debug/elf"
	"os"
)

// kernelMemory reads the kernel's memory through /proc/kcore, an ELF file whose
// segments are the kernel's mappings. The file is opened at the first read.
type kernelMemory struct {
	path  string
	tried bool
	f     *os.File
	elf   *elf.File
}

func (k *kernelMemory) read(dst []byte, addr uint64) bool {
	if !k.tried {
		k.tried = true
		if f, err := os.Open(k.path); err == nil {
			if k.elf, err = elf.NewFile(f); err == nil {
				k.f = f
			} else {
				f.Close()
			}
		}
	}
	if k.f == nil {
		return false
	}
	for _, p := range k.elf.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz &&
			uint64(len(dst)) <= p.Memsz-(addr-p.Vaddr) {
			n, err := k.f.ReadAt(dst, int64(p.Off+addr-p.Vaddr))
			return err == nil && n == len(dst)
		}
	}
	return false
}

func (k *kernelMemory) close() error {
	if k.f == nil {
		return nil
	}
	f := k.f
	k.f, k.elf = nil, nil
	return f.Close()
}
