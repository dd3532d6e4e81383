package naming

import (
	"debug/elf"
	"errors"
	"fmt"
	"runtime"

	"ppscript/runtime/result"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/stack/symbol"
)

// mostKernelCode bounds the code of a kernel function that is read, in bytes.
const mostKernelCode = 256 << 10

// Code is the machine code of a frame's function, for a frame in which code was interrupted.
// Position is the frame's position in it.
func (n *Namer) Code(f *result.Frame) (symbol.Code, error) {
	if f.Kernel {
		return n.kernelCode(f)
	}
	if n.maps == nil || f.FileAddr == 0 {
		return symbol.Code{}, fmt.Errorf("%s is no file", f.DSO)
	}
	file := n.maps.Files().FindByBuildID(f.DSO, f.BuildID)
	if file == nil {
		return symbol.Code{}, fmt.Errorf("%s cannot be read any more", f.DSO)
	}
	c, ok := n.symbols.Code(file, f.FileAddr)
	if !ok {
		return symbol.Code{}, fmt.Errorf("%s does not tell where the function ends", f.DSO)
	}
	return c, nil
}

// Position is the address of a frame in the numbering of symbol.Code.
func Position(f *result.Frame) uint64 {
	if f.FileAddr != 0 {
		return f.FileAddr
	}
	return f.Addr
}

// kernelCode reads code of the running kernel.
func (n *Namer) kernelCode(f *result.Frame) (c symbol.Code, err error) {
	if n.foreign || n.elsewhere {
		return c, errors.New("it is of another kernel than the one that runs here")
	}
	_, off, size, ok := n.kernel.Ksym(f.Addr)
	if !ok || size == 0 || size > mostKernelCode {
		return c, errors.New("kallsyms does not tell where the function ends")
	}
	c = symbol.Code{Addr: f.Addr - off, Bytes: make([]byte, size), Machine: machine(),
		Line: func(uint64) (string, int) { return "", 0 }}
	c.Name = func(addr uint64) (string, uint64) {
		name, off, _, ok := n.kernel.Ksym(addr)
		if !ok {
			return "", 0
		}
		return name, addr - off
	}
	return c, probe.ReadKernel("/proc/kcore", c.Bytes, c.Addr)
}

// machine is the architecture of the running kernel.
func machine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}
