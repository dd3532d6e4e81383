package unwind

import "math"

// This file runs the programs of CIEs and FDEs: each instruction changes a
// rule, or advances to the next address, which ends a row.

// numRegs bounds the DWARF numbers of the registers that are followed: amd64
// has 0 to 16, arm64 0 to 33. Vector registers have larger numbers, and are not
// needed for stacks.
const numRegs = 34

// state is the rules at one address.
type state struct {
	rules   [numRegs]regRule
	some    uint64 // bits of the registers with a rule other than sameValue
	cfaOff  int32
	cfaReg  uint8
	cfaExpr bool
	cfaSet  bool
}

// maxStates bounds the states that a program saves, maxRows the rows that it
// makes.
const (
	maxStates = 32
	maxRows   = 1 << 20
)

// machine runs programs.
type machine struct {
	build   *tableBuilder
	state   state
	initial state // after the CIE's program
	stack   []state
	cie     *cie
	addr    uint64
	rows    int
}

// function makes the rows of one FDE. A damaged program ends early; the code
// after that has no rules, which is better than wrong ones.
func (m *machine) function(f *fde) {
	m.cie, m.addr, m.rows = f.cie, f.start, 0
	m.state, m.stack = state{}, m.stack[:0]
	if !m.run(f.cie.program, f.start) {
		return
	}
	m.initial = m.state
	whole := m.run(f.program, f.end)
	if m.addr < f.end {
		if whole {
			m.emit()
			m.addr = f.end
		}
		m.build.row(m.addr, noRules)
	}
}

// emit adds a row: the state is valid from addr on.
func (m *machine) emit() {
	set := uint32(noRules)
	if m.state.cfaSet {
		set = m.build.set(&m.state, m.cie.ra, m.cie.signal)
	}
	m.build.row(m.addr, set)
	m.rows++
}

// advance ends the row at addr; false if the program leaves its function.
func (m *machine) advance(by, end uint64) bool {
	if by == 0 {
		return true
	}
	delta := by * m.cie.codeAlign
	if m.addr >= end || delta > end-m.addr || m.rows >= maxRows || by > math.MaxUint32 ||
		m.cie.codeAlign > math.MaxUint32 {
		return false
	}
	m.emit()
	m.addr += delta
	return m.addr < end
}

func (m *machine) rule(reg uint64, kind ruleKind, off int64) bool {
	if reg >= numRegs {
		return true
	}
	if off != int64(int32(off)) {
		return false
	}
	m.state.set(uint8(reg), regRule{kind: kind, off: int32(off)})
	return true
}

func (s *state) set(reg uint8, r regRule) {
	s.rules[reg] = r
	s.some &^= 1 << reg
	if r.kind != sameValue {
		s.some |= 1 << reg
	}
}

func (m *machine) restore(reg uint64) {
	if reg < numRegs {
		m.state.set(uint8(reg), m.initial.rules[reg])
	}
}

func (m *machine) cfa(reg uint64, off int64) bool {
	if reg >= numRegs || off != int64(int32(off)) {
		return false
	}
	m.state.cfaReg, m.state.cfaOff, m.state.cfaExpr, m.state.cfaSet = uint8(reg), int32(off), false, true
	return true
}

// run executes a program; false if it is damaged. end bounds the addresses.
func (m *machine) run(program []byte, end uint64) bool {
	c := cursor{b: program}
	data := m.cie.dataAlign
	for c.remaining() > 0 {
		op := c.u8()
		low := uint64(op & 0x3f)
		ok := true
		switch op & 0xc0 {
		case 0x40: // DW_CFA_advance_loc
			ok = m.advance(low, end)
		case 0x80: // DW_CFA_offset
			ok = m.rule(low, atOffset, int64(c.uleb())*data)
		case 0xc0: // DW_CFA_restore
			m.restore(low)
		default:
			ok = m.extended(op, &c, end)
		}
		if c.bad {
			return false
		}
		if !ok {
			return m.addr >= end // the end of the function ends its program
		}
	}
	return true
}

// extended executes the instructions that are a whole byte.
func (m *machine) extended(op uint8, c *cursor, end uint64) bool {
	data := m.cie.dataAlign
	s := &m.state
	switch op {
	case 0x00: // DW_CFA_nop
	case 0x02: // DW_CFA_advance_loc1
		return m.advance(uint64(c.u8()), end)
	case 0x03: // DW_CFA_advance_loc2
		return m.advance(uint64(c.u16()), end)
	case 0x04: // DW_CFA_advance_loc4
		return m.advance(uint64(c.u32()), end)
	case 0x05: // DW_CFA_offset_extended
		reg := c.uleb()
		return m.rule(reg, atOffset, int64(c.uleb())*data)
	case 0x06: // DW_CFA_restore_extended
		m.restore(c.uleb())
	case 0x07: // DW_CFA_undefined
		return m.rule(c.uleb(), undefined, 0)
	case 0x08: // DW_CFA_same_value
		return m.rule(c.uleb(), sameValue, 0)
	case 0x09: // DW_CFA_register
		reg := c.uleb()
		other := c.uleb()
		return other < numRegs && m.rule(reg, inRegister, int64(other))
	case 0x0a: // DW_CFA_remember_state
		if len(m.stack) >= maxStates {
			return false
		}
		m.stack = append(m.stack, *s)
	case 0x0b: // DW_CFA_restore_state
		n := len(m.stack)
		if n == 0 {
			return false
		}
		*s, m.stack = m.stack[n-1], m.stack[:n-1]
	case 0x0c: // DW_CFA_def_cfa
		reg := c.uleb()
		return m.cfa(reg, int64(c.uleb()))
	case 0x0d: // DW_CFA_def_cfa_register
		return m.cfa(c.uleb(), int64(s.cfaOff))
	case 0x0e: // DW_CFA_def_cfa_offset
		return m.cfa(uint64(s.cfaReg), int64(c.uleb()))
	case 0x0f: // DW_CFA_def_cfa_expression
		code := c.take(int(min(c.uleb(), maxExpr+1)))
		if len(code) > maxExpr || c.bad {
			return false
		}
		s.cfaOff, s.cfaExpr, s.cfaSet = m.build.expr(code), true, true
	case 0x10, 0x16: // DW_CFA_expression, DW_CFA_val_expression
		reg := c.uleb()
		code := c.take(int(min(c.uleb(), maxExpr+1)))
		if len(code) > maxExpr || c.bad {
			return false
		}
		kind := atExpr
		if op == 0x16 {
			kind = valExpr
		}
		return m.rule(reg, kind, int64(m.build.expr(code)))
	case 0x11: // DW_CFA_offset_extended_sf
		reg := c.uleb()
		return m.rule(reg, atOffset, c.sleb()*data)
	case 0x12: // DW_CFA_def_cfa_sf
		reg := c.uleb()
		return m.cfa(reg, c.sleb()*data)
	case 0x13: // DW_CFA_def_cfa_offset_sf
		return m.cfa(uint64(s.cfaReg), c.sleb()*data)
	case 0x14: // DW_CFA_val_offset
		reg := c.uleb()
		return m.rule(reg, valOffset, int64(c.uleb())*data)
	case 0x15: // DW_CFA_val_offset_sf
		reg := c.uleb()
		return m.rule(reg, valOffset, c.sleb()*data)
	case 0x2d: // DW_CFA_AARCH64_negate_ra_state: the signature is masked anyway
	case 0x2e: // DW_CFA_GNU_args_size
		c.uleb()
	case 0x2f: // DW_CFA_GNU_negative_offset_extended
		reg := c.uleb()
		return m.rule(reg, atOffset, -int64(c.uleb())*data)
	default: // DW_CFA_set_loc and later additions
		return false
	}
	return true
}
