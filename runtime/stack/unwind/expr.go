package unwind

// This file evaluates DWARF expressions. Only few frames need them: stubs of
// the PLT, frames of signals, functions that align their stack.

// maxExpr bounds an expression, in bytes; maxSteps the operations that are
// executed; maxDepth the stack.
const (
	maxExpr  = 512
	maxSteps = 256
	maxDepth = 32
)

// eval evaluates code. The stack of the expression has first at the begin,
// unless noFirst is set.
func (w *walk) eval(code []byte, first uint64, hasFirst bool) (uint64, bool) {
	var stack [maxDepth]uint64
	n := 0
	if hasFirst {
		stack[0], n = first, 1
	}
	c := cursor{b: code}
	for steps := 0; c.remaining() > 0; steps++ {
		if steps >= maxSteps || n >= maxDepth-1 {
			return 0, false
		}
		op := c.u8()
		// need reports that the stack has at least n entries.
		need := func(k int) bool { return n >= k }
		push := func(v uint64) { stack[n] = v; n++ }
		switch {
		case op >= 0x30 && op <= 0x4f: // DW_OP_lit0..31
			push(uint64(op - 0x30))
		case op >= 0x50 && op <= 0x6f: // DW_OP_reg0..31: the register's value, as gcc uses it
			push(w.regs[op-0x50])
		case op >= 0x70 && op <= 0x8f: // DW_OP_breg0..31
			push(w.regs[op-0x70] + uint64(c.sleb()))
		case op == 0x92: // DW_OP_bregx
			reg := c.uleb()
			off := c.sleb()
			if reg >= numRegs {
				return 0, false
			}
			push(w.regs[reg] + uint64(off))
		case op == 0x03, op == 0x0e, op == 0x0f: // DW_OP_addr, const8u, const8s
			push(c.u64())
		case op == 0x08: // DW_OP_const1u
			push(uint64(c.u8()))
		case op == 0x09: // DW_OP_const1s
			push(uint64(int64(int8(c.u8()))))
		case op == 0x0a:
			push(uint64(c.u16()))
		case op == 0x0b:
			push(uint64(int64(int16(c.u16()))))
		case op == 0x0c:
			push(uint64(c.u32()))
		case op == 0x0d:
			push(uint64(int64(int32(c.u32()))))
		case op == 0x10:
			push(c.uleb())
		case op == 0x11:
			push(uint64(c.sleb()))
		case op == 0x96: // DW_OP_nop
		case op == 0x2f || op == 0x28: // DW_OP_skip, DW_OP_bra
			to := int(int16(c.u16()))
			if op == 0x28 {
				if !need(1) {
					return 0, false
				}
				n--
				if stack[n] == 0 {
					continue
				}
			}
			if to += c.at; to < 0 || to > len(code) {
				return 0, false
			}
			c.at = to
		case op == 0x12: // DW_OP_dup
			if !need(1) {
				return 0, false
			}
			push(stack[n-1])
		case op == 0x13: // DW_OP_drop
			if !need(1) {
				return 0, false
			}
			n--
		case op == 0x14: // DW_OP_over
			if !need(2) {
				return 0, false
			}
			push(stack[n-2])
		case op == 0x15: // DW_OP_pick
			k := int(c.u8())
			if !need(k + 1) {
				return 0, false
			}
			push(stack[n-1-k])
		case op == 0x16: // DW_OP_swap
			if !need(2) {
				return 0, false
			}
			stack[n-1], stack[n-2] = stack[n-2], stack[n-1]
		case op == 0x17: // DW_OP_rot
			if !need(3) {
				return 0, false
			}
			stack[n-1], stack[n-2], stack[n-3] = stack[n-2], stack[n-3], stack[n-1]
		case op == 0x06 || op == 0x94: // DW_OP_deref, DW_OP_deref_size
			size := uint8(8)
			if op == 0x94 {
				size = c.u8()
			}
			if !need(1) || size == 0 || size > 8 {
				return 0, false
			}
			v, ok := w.word(stack[n-1])
			if !ok {
				return 0, false
			}
			if size < 8 {
				v &= 1<<(8*size) - 1
			}
			stack[n-1] = v
		case op == 0x23: // DW_OP_plus_uconst
			if !need(1) {
				return 0, false
			}
			stack[n-1] += c.uleb()
		case op == 0x19 || op == 0x1f || op == 0x20: // DW_OP_abs, neg, not
			if !need(1) {
				return 0, false
			}
			stack[n-1] = unary(op, stack[n-1])
		default:
			if !need(2) {
				return 0, false
			}
			v, ok := binaryOp(op, stack[n-2], stack[n-1])
			if !ok {
				return 0, false
			}
			n--
			stack[n-1] = v
		}
		if c.bad {
			return 0, false
		}
	}
	if n == 0 {
		return 0, false
	}
	return stack[n-1], true
}

func unary(op uint8, a uint64) uint64 {
	switch {
	case op == 0x20:
		return ^a
	case op == 0x1f || int64(a) < 0:
		return -a
	}
	return a
}

// binaryOp computes a op b; false for an unknown operation.
func binaryOp(op uint8, a, b uint64) (uint64, bool) {
	truth := func(t bool) (uint64, bool) {
		if t {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case 0x1a:
		return a & b, true
	case 0x1b: // DW_OP_div
		if b == 0 {
			return 0, false
		}
		return uint64(int64(a) / int64(b)), true
	case 0x1c:
		return a - b, true
	case 0x1d: // DW_OP_mod
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case 0x1e:
		return a * b, true
	case 0x21:
		return a | b, true
	case 0x22:
		return a + b, true
	case 0x24:
		return a << b, true
	case 0x25:
		return a >> b, true
	case 0x26:
		return uint64(int64(a) >> b), true
	case 0x27:
		return a ^ b, true
	case 0x29:
		return truth(a == b)
	case 0x2a:
		return truth(int64(a) >= int64(b))
	case 0x2b:
		return truth(int64(a) > int64(b))
	case 0x2c:
		return truth(int64(a) <= int64(b))
	case 0x2d:
		return truth(int64(a) < int64(b))
	case 0x2e:
		return truth(a != b)
	}
	return 0, false
}
