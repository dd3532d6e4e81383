package symbol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"ppscript/runtime/text/diag"
)

// blockSize is the size of a block of names in bytes, a power of two.
const blockSize = 1 << 16

// maxLine bounds a line: the kernel's names have at most 511 bytes.
const maxLine = 4096

// likely is the number of symbols for which memory is allocated at first.
const likely = 1 << 17

// ParseKernel makes the symbols of another kernel from the text of its
// kallsyms.
func ParseKernel(text string) *Kernel {
	k := &Kernel{}
	if err := k.parse(strings.NewReader(text)); err != nil {
		k.syms, k.block = nil, nil
		k.err = (&diag.Error{Op: "read", Subject: "kernel symbols", Class: diag.Run, Cause: err}).
			WithHint("record again: those of the recording are damaged")
	}
	return k
}

// parse reads lines "ADDRESS TYPE NAME", followed by "\t[MODULE]" for symbols
// of modules. It reads all of r or returns an error; after an error its results
// must not be used.
func (k *Kernel) parse(r io.Reader) error {
	in := bufio.NewReaderSize(r, maxLine)
	var block []byte
	symbols, hidden := 0, true
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = fmt.Errorf("longer than %d bytes", maxLine)
			}
			return fmt.Errorf("line %d: %w", number, err)
		}
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
			addr, name, module, fault := splitLine(text)
			if fault != nil {
				return fmt.Errorf("line %d: %w", number, fault)
			}
			symbols++
			hidden = hidden && addr == 0
			if addr >= kernelHalf {
				if block, fault = k.add(block, addr, name, module); fault != nil {
					return fmt.Errorf("line %d: %w", number, fault)
				}
			}
		}
		if err == io.EOF {
			break
		}
	}
	if len(block) > 0 {
		k.block = append(k.block, string(block))
	}
	k.order()
	switch {
	case symbols == 0:
		return errors.New("no symbols")
	case hidden:
		k.hide()
	case len(k.syms) == 0:
		return errors.New("no symbol has an address of the kernel")
	}
	return nil
}

// add stores one symbol; block is the block being filled.
func (k *Kernel) add(block []byte, addr uint64, name, module []byte) ([]byte, error) {
	full := len(name)
	if len(module) > 0 {
		full += len(module) + 3
	}
	if len(block)+full > blockSize {
		k.block = append(k.block, string(block))
		block = block[:0]
	}
	if len(k.block) >= 1<<32/blockSize {
		return block, errors.New("too many symbols")
	}
	if block == nil {
		block = make([]byte, 0, blockSize)
	}
	if k.syms == nil {
		k.syms = make([]sym, 0, likely)
	}
	at := uint32(len(k.block)*blockSize + len(block))
	k.syms = append(k.syms, sym{addr: addr, at: at, name: uint16(len(name)), full: uint16(full)})
	block = append(block, name...)
	if len(module) > 0 {
		block = append(append(append(block, " ["...), module...), ']')
	}
	return block, nil
}

// splitLine splits a line into its parts.
func splitLine(line []byte) (addr uint64, name, module []byte, err error) {
	i := 0
	for ; i < len(line); i++ {
		d, ok := hexDigit(line[i])
		if !ok {
			break
		}
		if i == 16 {
			return 0, nil, nil, errors.New("address has more than 16 digits")
		}
		addr = addr<<4 | uint64(d)
	}
	if i == 0 || len(line) < i+4 || line[i] != ' ' || line[i+2] != ' ' {
		return 0, nil, nil, fmt.Errorf("got %.40q, want ADDRESS TYPE NAME", line)
	}
	name = line[i+3:]
	if tab := bytes.IndexAny(name, " \t"); tab >= 0 {
		rest := bytes.Trim(name[tab:], " \t")
		name = name[:tab]
		if len(rest) < 3 || rest[0] != '[' || rest[len(rest)-1] != ']' {
			return 0, nil, nil, fmt.Errorf("got %.40q behind the name, want [MODULE]", rest)
		}
		module = rest[1 : len(rest)-1]
	}
	if len(name) == 0 {
		return 0, nil, nil, errors.New("no name")
	}
	return addr, name, module, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
