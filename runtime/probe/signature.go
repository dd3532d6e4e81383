package probe

import (
	"strings"

	"ppscript/runtime/symbol"
)

// This file names the arguments of functions of programs, and types their results, by debug
// information. Declared arguments (args =) are those of the user instead.

// signed adds the fields of a function that debug information tells, at its begin or its end. Others have
// their registers alone.
func (s *Spec) signed(b *builder, c *convention, m *image, p place) {
	if c == nil || s.Args != "" || s.Ret != "" || p.addr != p.fn.addr || p.fn.addr == 0 ||
		changed(p.fn.name) {
		return
	}
	sig := m.signature(p.addr)
	if sig == nil {
		return
	}
	if s.Kind.returns() {
		if r := sig.Result; r != nil {
			b.declared(declIn(r), c.rets[0])
		}
		return
	}
	at := 0
	for i := range sig.Params {
		param := &sig.Params[i]
		if param.Words < 0 || at+param.Words > len(c.args) {
			return // it takes registers that are not known, or none: who comes behind is elsewhere
		}
		at += param.Words
		if param.Name == "" || !isIdent(param.Name) {
			continue
		}
		d := declIn(param)
		switch {
		case param.Words == 1:
		case param.Pointer && param.Words > 1: // a string of Go, or a slice
			d.size, d.text = 8, false
			length := decl{typ: "int", name: param.Name + "_len", size: 8, signed: true}
			b.declared(d, c.args[at-param.Words])
			b.declared(length, c.args[at-param.Words+1])
			b.named += 2
			continue
		default:
			continue
		}
		b.declared(d, c.args[at-1])
		b.named++
	}
}

func declIn(p *symbol.Parameter) decl {
	name := p.Name
	if name == "func" {
		name = "func_" // func is the function's own name, for all that a pattern fits
	}
	return decl{typ: p.Type, name: name, size: p.Size, signed: p.Signed, ptr: p.Pointer, text: p.Text}
}

// changed reports that the compiler made the function of another one, whose parameters are not all there.
func changed(name string) bool {
	return strings.Contains(name, ".isra.") || strings.Contains(name, ".constprop.") ||
		strings.Contains(name, ".part.") || strings.Contains(name, ".cold")
}

// signature is that of the function at an address; nil if it is not known.
func (m *image) signature(addr uint64) *symbol.Signature {
	if m.path == "" {
		return nil
	}
	if !m.told {
		m.told, m.signatures = true, symbol.OpenSignatures(m.path)
	}
	return m.signatures.Of(addr)
}
