package symbol

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/text/diag"
)

// This file makes the symbols of a kernel that is not running here: from its file (vmlinux or its
// debug file), or from the running kernel if that is the same kernel loaded at another address.

// ReadKernelFile reads the functions of a file. The addresses are shifted so that the symbol
// called name is at addr, since a kernel is loaded at a random address.
func ReadKernelFile(path, name string, addr uint64) (*Kernel, error) {
	k, err := readKernelFile(path, name, addr)
	if err != nil {
		return nil, &diag.Error{Op: "read", Subject: path, Class: diag.Run, Cause: err}
	}
	return k, nil
}

func readKernelFile(path, name string, addr uint64) (*Kernel, error) {
	f, err := (*dso.Root)(nil).Open(path)
	if err != nil {
		return nil, diag.Reason(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := dso.ReadImage(f, st.Size())
	if err != nil {
		return nil, err
	}
	all, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("it has no symbol %s", name)
	}
	by := addr - all[at].Value
	all = slices.DeleteFunc(all, func(s elf.Symbol) bool {
		if int(s.Section) >= len(file.Sections) || s.Section == elf.SHN_UNDEF || s.Name == "" ||
			len(s.Name) > maxLine || s.Value+by < kernelHalf {
			return true
		}
		typ, flags := elf.ST_TYPE(s.Info), file.Sections[s.Section].Flags
		return flags&elf.SHF_EXECINSTR == 0 || typ != elf.STT_FUNC && typ != elf.STT_NOTYPE
	})
	slices.SortStableFunc(all, byKallsyms)
	k := &Kernel{}
	var block []byte
	for _, s := range all {
		if block, err = k.add(block, s.Value+by, []byte(s.Name), nil); err != nil {
			return nil, err
		}
	}
	k.block = append(k.block, string(block))
	if len(k.syms) == 0 {
		return nil, fmt.Errorf("it has no functions")
	}
	return k, nil
}

// byKallsyms orders symbols like kallsyms, so that an address gets the same name:
// scripts/kallsyms.c.
func byKallsyms(a, b elf.Symbol) int {
	weak := func(s elf.Symbol) int {
		if elf.ST_BIND(s.Info) == elf.STB_WEAK {
			return 1
		}
		return 0
	}
	underscores := func(s elf.Symbol) int { return len(s.Name) - len(strings.TrimLeft(s.Name, "_")) }
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(weak(a), weak(b)),
		cmp.Compare(underscores(a), underscores(b)))
}

// Moved returns the kernel's own symbols, shifted so that the symbol called name is at addr.
func (k *Kernel) Moved(name string, addr uint64) (*Kernel, bool) {
	at, ok := k.Address(name)
	if !ok {
		return nil, false
	}
	moved := &Kernel{block: k.block}
	for _, s := range k.syms {
		if s.full == s.name {
			s.addr += addr - at
			moved.syms = append(moved.syms, s)
		}
	}
	return moved, true
}
