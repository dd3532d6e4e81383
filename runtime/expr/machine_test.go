package expr_test

import (
	"encoding/binary"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
)

// This file is the road not taken: a register machine for the predicates of
// the benchmark. It decodes an instruction for each operation and writes each
// intermediate value to a register in memory; a closure has its constants at
// hand and returns values in machine registers, and a fused closure has no
// intermediate values. The benchmark keeps the comparison honest.

type instr struct {
	op      uint8
	dst     uint8
	a, b    uint8
	jump    uint16
	off     int32
	k       int64
	size    uint8
	signed  bool
	compare Op
}

const (
	iLoad uint8 = iota
	iConst
	iCompareConst
	iCompare
	iAndConst
	iJumpIfZero
	iEnd
)

type machine struct{ code []instr }

// assemble returns nil for nodes that the machine does not have.
func assemble(n Node) *machine {
	m := &machine{}
	if !m.emit(Condition(n), 0) {
		return nil
	}
	m.code = append(m.code, instr{op: iEnd})
	return m
}

func (m *machine) emit(n Node, dst uint8) bool {
	switch n := n.(type) {
	case *Field:
		if n.F.Kind != event.Int || n.F.Place != event.InRaw {
			return false
		}
		m.code = append(m.code, instr{
			op: iLoad, dst: dst, off: int32(n.F.Offset), size: uint8(n.F.Size), signed: n.F.Signed,
		})
		return true
	case *Binary:
		c, isConst := n.Y.(*Const)
		switch {
		case n.Op == OpAndB:
			if !m.emit(n.X, dst) {
				return false
			}
			at := len(m.code)
			m.code = append(m.code, instr{op: iJumpIfZero, a: dst})
			ok := m.emit(n.Y, dst)
			m.code[at].jump = uint16(len(m.code))
			return ok
		case n.Op >= OpEq && n.Op <= OpLeU && isConst && m.emit(n.X, dst):
			m.code = append(m.code, instr{op: iCompareConst, dst: dst, a: dst, k: c.Int, compare: n.Op})
			return true
		case n.Op >= OpEq && n.Op <= OpLeU && m.emit2(n, dst):
			m.code = append(m.code, instr{op: iCompare, dst: dst, a: dst, b: dst + 1, compare: n.Op})
			return true
		case n.Op == OpAnd && isConst && m.emit(n.X, dst):
			m.code = append(m.code, instr{op: iAndConst, dst: dst, a: dst, k: c.Int})
			return true
		}
	case *Const:
		m.code = append(m.code, instr{op: iConst, dst: dst, k: n.Int})
		return n.T.Numeric()
	}
	return false
}

func (m *machine) emit2(n *Binary, dst uint8) bool { return m.emit(n.X, dst) && m.emit(n.Y, dst+1) }

func (m *machine) run(f *Frame) int64 {
	var regs [8]int64
	raw := f.Event.Raw
	for pc := 0; ; pc++ {
		in := &m.code[pc]
		switch in.op {
		case iLoad:
			if int(in.off)+int(in.size) > len(raw) {
				f.Fail(ErrShort)
				return 0
			}
			var v int64
			switch {
			case in.size == 4 && in.signed:
				v = int64(int32(binary.LittleEndian.Uint32(raw[in.off:])))
			case in.size == 8:
				v = int64(binary.LittleEndian.Uint64(raw[in.off:]))
			default:
				v, _ = event.LoadInt(raw[in.off:int(in.off)+int(in.size)], in.signed)
			}
			regs[in.dst&7] = v
		case iConst:
			regs[in.dst&7] = in.k
		case iCompareConst:
			regs[in.dst&7] = boolToInt(compareOp(in.compare, regs[in.a&7], in.k))
		case iCompare:
			regs[in.dst&7] = boolToInt(compareOp(in.compare, regs[in.a&7], regs[in.b&7]))
		case iAndConst:
			regs[in.dst&7] = regs[in.a&7] & in.k
		case iJumpIfZero:
			if regs[in.a&7] == 0 {
				pc = int(in.jump) - 1
			}
		default:
			return regs[0]
		}
	}
}

func compareOp(op Op, a, b int64) bool {
	switch op {
	case OpEq:
		return a == b
	case OpNe:
		return a != b
	case OpLtS:
		return a < b
	case OpLeS:
		return a <= b
	case OpLtU:
		return uint64(a) < uint64(b)
	}
	return uint64(a) <= uint64(b)
}
