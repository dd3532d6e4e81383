package unwind

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// This file defines the form in which call frame information is kept. Each
// address has a set of rules: how to compute the CFA (the stack pointer before
// the call), and where the registers of the caller are. A program has many
// addresses but few distinct sets, so the table has pairs of an address and the
// number of a set, 8 bytes for each address at which the rules change.

// ruleKind says how to find the caller's value of a register.
type ruleKind uint8

const (
	sameValue  ruleKind = iota
	undefined           // lost; for the return address: there is no caller
	atOffset            // in memory at CFA+off
	valOffset           // CFA+off itself
	inRegister          // in register off
	atExpr              // in memory at the value of expression off
	valExpr             // the value of expression off
)

// A regRule is the rule of one register.
type regRule struct {
	reg  uint8
	kind ruleKind
	off  int32
}

// A ruleSet has the rules for an address.
type ruleSet struct {
	first  uint32 // index in ruleTable.pool
	cfaOff int32  // number to add to cfaReg; with cfaExpr, the number of an expression
	cfaReg uint8
	n      uint8 // number of regRules
	ra     uint8 // the register with the return address
	flags  uint8
}

const (
	cfaExpr    = 1 << iota // the CFA is an expression
	signalHere             // a frame that the kernel made to call a handler
)

// noRules is the set of addresses without information.
const noRules = 0

// A ruleTable has the call frame information of one section. It does not change
// and may be shared.
type ruleTable struct {
	base uint64
	pcs  []uint32 // addresses, relative to base, from which sets are valid
	sets []uint32
	rule []ruleSet
	pool []regRule
	expr [][]byte
}

// Len is the number of addresses at which the rules change.
func (t *ruleTable) Len() int { return len(t.pcs) }

// Bytes is the approximate memory of the table.
func (t *ruleTable) Bytes() int {
	n := 8*len(t.pcs) + 16*len(t.rule) + 8*len(t.pool)
	for _, e := range t.expr {
		n += 24 + len(e)
	}
	return n
}

// find returns the rules at an address, nil if there are none.
//
// Fast path: one binary search in consecutive memory.
func (t *ruleTable) find(addr uint64) *ruleSet {
	if addr < t.base || addr-t.base > math.MaxUint32 {
		return nil
	}
	pc := uint32(addr - t.base)
	lo, hi := 0, len(t.pcs)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if t.pcs[mid] <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || t.sets[lo-1] == noRules {
		return nil
	}
	return &t.rule[t.sets[lo-1]]
}

// savedFP is the offset from the CFA at which a function keeps its caller's
// frame pointer.
func (t *ruleTable) savedFP(r *ruleSet, a *arch) (off int32, ok bool) {
	for i := r.first; i < r.first+uint32(r.n); i++ {
		if rule := &t.pool[i]; rule.reg == a.fp {
			return rule.off, rule.kind == atOffset
		}
	}
	return 0, false
}

// maxTableRows bounds the rows of a file, of 8 bytes each, maxSets its distinct
// sets of rules. Code beyond them is walked by frame pointers.
const (
	maxTableRows = 1 << 22
	maxSets      = 1 << 16
)

// A tableBuilder makes a ruleTable from rows in the order of their addresses.
type tableBuilder struct {
	t     ruleTable
	index map[string]uint32 // sets by their bytes
	exprs map[string]int32
	key   []byte
	room  *room
}

// A room is the memory in which the rows of a table grow. It is reused for the
// next file, until the next garbage collection.
type room struct{ pcs, sets []uint32 }

var rooms = sync.Pool{New: func() any { return new(room) }}

func newTableBuilder(base uint64) *tableBuilder {
	b := &tableBuilder{index: map[string]uint32{}, exprs: map[string]int32{}, room: rooms.Get().(*room)}
	b.t.base, b.t.pcs, b.t.sets = base, b.room.pcs[:0], b.room.sets[:0]
	b.t.rule = []ruleSet{{}} // noRules
	return b
}

// row adds a row: set is valid from addr on. Rows come in ascending order; a
// row at the same address as the last one replaces it.
func (b *tableBuilder) row(addr uint64, set uint32) {
	if addr < b.t.base || addr-b.t.base > math.MaxUint32 {
		return
	}
	pc, n := uint32(addr-b.t.base), len(b.t.pcs)
	for n > 0 && b.t.pcs[n-1] >= pc { // functions overlap: the later one counts
		n--
	}
	b.t.pcs, b.t.sets = b.t.pcs[:n], b.t.sets[:n]
	if n > 0 && b.t.sets[n-1] == set {
		return
	}
	if n > maxTableRows {
		return
	}
	if n == maxTableRows {
		set = noRules // no more room: no rules from here on
	}
	b.t.pcs, b.t.sets = append(b.t.pcs, pc), append(b.t.sets, set)
}

// set returns the number of a set of rules, and adds a new one.
func (b *tableBuilder) set(s *state, ra uint8, signal bool) uint32 {
	var flags uint8
	if signal {
		flags |= signalHere
	}
	if s.cfaExpr {
		flags |= cfaExpr
	}
	k := append(b.key[:0], s.cfaReg, ra, flags)
	k = binary.LittleEndian.AppendUint32(k, uint32(s.cfaOff))
	for some := s.some; some != 0; some &= some - 1 {
		reg := bits.TrailingZeros64(some)
		r := &s.rules[reg]
		k = binary.LittleEndian.AppendUint32(append(k, uint8(reg), uint8(r.kind)), uint32(r.off))
	}
	b.key = k
	if i, ok := b.index[string(k)]; ok {
		return i
	}
	i := uint32(len(b.t.rule))
	if i >= maxSets {
		return noRules
	}
	b.index[string(k)] = i
	b.t.rule = append(b.t.rule, ruleSet{
		first: uint32(len(b.t.pool)), n: uint8(
			bits.OnesCount64(s.some)), cfaOff: s.cfaOff, cfaReg: s.cfaReg, ra: ra, flags: flags,
	})
	for reg := range s.rules {
		if r := s.rules[reg]; r.kind != sameValue {
			r.reg = uint8(reg)
			b.t.pool = append(b.t.pool, r)
		}
	}
	return i
}

// expr returns the number of an expression, which is copied.
func (b *tableBuilder) expr(code []byte) int32 {
	if i, ok := b.exprs[string(code)]; ok {
		return i
	}
	i := int32(len(b.t.expr))
	b.exprs[string(code)] = i
	b.t.expr = append(b.t.expr, slices.Clone(code))
	return i
}

// table returns the table without spare capacity.
func (b *tableBuilder) table() *ruleTable {
	t := b.t
	b.room.pcs, b.room.sets = t.pcs, t.sets
	t.pcs, t.sets = slices.Clone(t.pcs), slices.Clone(t.sets)
	rooms.Put(b.room)
	t.rule, t.pool = slices.Clone(t.rule), slices.Clone(t.pool)
	return &t
}
