package probe

import (
	"strings"

	"ppscript/runtime/stack/symbol"
)

// This file adds the arguments of functions of programs with their names and types, and the
// types of results, from debug information. Declared arguments (args =) replace them.

// signed adds the fields of a function from debug information, at its begin or its end. Functions
// without debug information have only the fields for registers.
func (s *Spec) signed(b *builder, c *convention, m *image, p place) {
	if c == nil || s.Args != "" || s.Ret != "" || p.addr != p.fn.addr || p.fn.addr == 0 {
		return
	}
	sig := m.signature(p.addr)
	if sig == nil {
		return
	}
	remade := changed(p.fn.name)
	if s.Kind.returns() {
		if r := sig.Result; r != nil && !remade {
			b.declared(declIn(r), c.rets[0])
		}
		return
	}
	// free are the registers for the following parameters, as long as they can be derived from
	// the parameters' order.
	free := c.args
	if remade || sig.Moved {
		free = nil
	}
	for i := range sig.Params {
		param := &sig.Params[i]
		var regs []uint8
		if param.Words >= 0 && param.Words <= len(free) {
			regs, free = free[:param.Words], free[param.Words:]
		} else {
			free = nil // the registers of later parameters are unknown
		}
		if reg, ok := c.ofDWARF(param.Reg); ok && param.Words == 1 {
			regs = []uint8{reg}
		}
		if len(param.Members) > 0 {
			b.structure(c, param, regs)
			continue
		}
		b.parameter(c, param, regs)
	}
}

// parameter adds the fields of a parameter in registers; other parameters have no
// fields.
func (b *builder) parameter(c *convention, p *symbol.Parameter, regs []uint8) {
	if len(regs) == 0 || p.Name == "" || !isIdent(p.Name) {
		return
	}
	d := declIn(p)
	switch {
	case len(regs) == 1:
		b.namedRegister(c, d, regs[0])
	case p.Pointer: // a Go string or slice
		d.size, d.text = 8, false
		b.namedRegister(c, d, regs[0])
		b.namedRegister(c, decl{typ: "int", name: p.Name + "_len", size: 8, signed: true}, regs[1])
	}
}

// structure adds the members of a structure in registers: in the pieces that debug information
// describes, or word by word in regs.
func (b *builder) structure(c *convention, p *symbol.Parameter, regs []uint8) {
	for i := range p.Members {
		m := &p.Members[i]
		reg, bits, ok := placeOf(c, p, m, regs)
		d := declIn(&m.Parameter)
		if d.name = p.Name + "_" + m.Name; m.Words != 1 || !ok || p.Name == "" {
			continue
		}
		switch m.Name { // of a Rust text or slice
		case "data_ptr":
			d.name = p.Name
		case "length":
			if len(p.Members) == 2 && p.Members[0].Name == "data_ptr" {
				d.name = p.Name + "_len"
			}
		}
		if isIdent(d.name) {
			b.partOfRegister(c, d, reg, bits)
		}
	}
}

// placeOf returns the register that has a member of a structure, and the
// member's first bit there.
func placeOf(c *convention, p *symbol.Parameter, m *symbol.Member, regs []uint8) (reg, bit uint8, ok bool) {
	if len(p.Pieces) == 0 {
		if i := m.Off / 8; i < len(regs) && m.Off%8+m.Size <= 8 {
			return regs[i], uint8(m.Off % 8 * 8), true
		}
		return 0, 0, false
	}
	at := 0
	for _, piece := range p.Pieces {
		if m.Off >= at && m.Off+m.Size <= at+piece.Size {
			reg, ok := c.ofDWARF(piece.Reg)
			return reg, uint8(8 * (m.Off - at)), ok
		}
		at += piece.Size
	}
	return 0, 0, false
}

func declIn(p *symbol.Parameter) decl {
	name := p.Name
	if name == "func" {
		name = "func_" // the field func is the function's name
	}
	return decl{
		typ: p.Type, name: name, size: p.Size, signed: p.Signed, ptr: p.Pointer, text: p.Text, names: p.Names,
	}
}

// changed reports that the compiler made the function from another one and may have removed
// parameters. The registers of the remaining parameters are then known only from debug information.
func changed(name string) bool {
	return strings.Contains(name, ".isra.") || strings.Contains(name, ".constprop.") ||
		strings.Contains(name, ".part.") || strings.Contains(name, ".cold")
}

// signature returns the signature of the function at an address; nil if unknown.
func (m *image) signature(addr uint64) *symbol.Signature {
	if m.path == "" {
		return nil
	}
	if !m.warned {
		m.warned, m.signatures = true, symbol.OpenSignatures(m.path)
	}
	return m.signatures.Of(addr)
}
