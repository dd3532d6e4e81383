package unwind

import (
	"errors"
	"math"
	"slices"

	"ppscript/runtime/stack/dso"
)

// This file compiles the tables of a file to the form for programs of the kernel. A program
// must find a rule in few steps, with a bound that the verifier can see, and has no memory for
// evaluating expressions. So the code is divided into blocks of 4 KiB. A block has the
// position of its rows, at most one for each byte. A row of 32 bits has an offset in the block
// and the number of a rule. A rule describes the four registers that matter with a few
// numbers. Code whose rules do not fit this form is marked as complex, and ends a walk.

// BlockBits is the size of a block of code, as a power of two.
const BlockBits = 12

// blockSize is the size of a block in bytes, blockMask selects the offset in a
// block.
const (
	blockSize = 1 << BlockBits
	blockMask = blockSize - 1
)

// A RuleKind says how a walk continues from an address.
type RuleKind uint8

const (
	// ByPointer is code without tables: the frame pointer is used.
	ByPointer RuleKind = iota
	// ByRegister has the CFA at a register plus Off.
	ByRegister
	// ByMemory has the CFA in memory at a register plus Off, plus Add.
	ByMemory
	// ByPLT is code in the linker's stubs: the CFA is the stack pointer plus 8, and plus 16
	// after the push in a slot.
	ByPLT
	// ByStub is a stub without unwind information: a thread that was interrupted there has no frame.
	ByStub
	// BySignal is code to which a signal handler returns: the kernel saved all
	// registers.
	BySignal
	// BySwitch is code that moves to another stack: only the frame pointer
	// leads further.
	BySwitch
	// IsEnd is code of an outermost function.
	IsEnd
	// IsComplex is code whose rules do not fit this form.
	IsComplex
)

// DWARF numbers of the registers from which a CFA may be computed.
const (
	RegBX = 3
	RegBP = 6
	RegSP = 7
)

// SavedPlace is the location of the caller's value of a register.
type SavedPlace uint8

const (
	Same    SavedPlace = iota // in the register
	AtCFA                     // in memory at the CFA plus an offset
	AtBP                      // in memory at the frame pointer plus an offset
	Unknown                   // lost
)

// A Rule says how a walk gets from code to its caller.
type Rule struct {
	Kind     RuleKind
	Reg      uint8
	BP, BX   SavedPlace
	Off, Add int32
	BPOff    int32
	BXOff    int32
}

// A Block has the position of the rows of a block of code: Count rows from
// index First on.
type Block struct{ First, Count uint32 }

// Compact has the compiled tables of a file.
type Compact struct {
	// Base is the address of the first block in the file's image.
	Base   uint64
	Blocks []Block
	// Rows are offsets in blocks (the low BlockBits) and indices in Rules. The first row of a
	// block is at its begin.
	Rows  []uint32
	Rules []Rule
	load  []segment
	// Complex counts the rows whose rules do not fit this form.
	Complex int
}

// Addr converts a file offset to an address of the image.
func (c *Compact) Addr(off uint64) (uint64, bool) {
	for i := range c.load {
		if s := &c.load[i]; off-s.off < s.size {
			return off - s.off + s.addr, true
		}
	}
	return 0, false
}

// Bounds: a row has 20 bits for the number of a rule, and no file has 4 GiB of code.
const (
	maxCompactRules  = 1 << (32 - BlockBits)
	maxCompactBlocks = 1 << 20
)

// Compile compiles the tables of a file. A file without any has no rows.
func Compile(store *dso.Store, f *dso.File) (*Compact, error) {
	if _, err := f.Image(); err != nil {
		return nil, err
	}
	return compile(loadModule(store, f))
}

func compile(m *module) (*Compact, error) {
	c := &Compact{load: m.load}
	from, to := uint64(math.MaxUint64), uint64(0)
	for _, s := range m.load {
		from, to = min(from, s.addr), max(to, s.addr+s.size)
	}
	if to <= from {
		return c, nil
	}
	c.Base = from &^ blockMask
	if (to-c.Base)>>BlockBits >= maxCompactBlocks {
		return nil, errors.New("more code than a table has room for")
	}
	k := &compiler{module: m, out: c, rules: map[Rule]uint32{}, at: make([]int, len(m.tables))}
	k.sets = make([]map[uint32]uint32, len(m.tables))
	for i := range k.sets {
		k.sets[i] = map[uint32]uint32{}
	}
	k.number(Rule{}) // the rule of code without tables
	if err := k.rows(to); err != nil {
		return nil, err
	}
	return c, nil
}

// A compiler makes the rows of a file.
type compiler struct {
	module *module
	out    *Compact
	rules  map[Rule]uint32
	sets   []map[uint32]uint32 // by table: from a set of rules to the number of its rule
	at     []int               // by table: index of the next row
}

// number returns the number of a rule, and adds a new one.
func (k *compiler) number(r Rule) uint32 {
	n, known := k.rules[r]
	if !known {
		n = uint32(len(k.out.Rules))
		k.rules[r] = n
		k.out.Rules = append(k.out.Rules, r)
	}
	return n
}

// bounds returns the addresses at which the rules of the module may change,
// sorted.
func (k *compiler) bounds() []uint64 {
	m := k.module
	n := 2 * (len(m.ends) + len(m.switches) + len(m.signal) + len(m.stubs))
	for _, t := range m.tables {
		n += len(t.pcs)
	}
	at := make([]uint64, 0, n)
	for _, t := range m.tables {
		for _, pc := range t.pcs {
			at = append(at, t.base+uint64(pc))
		}
	}
	for _, spans := range [][]span{m.ends, m.switches, m.stubs} {
		for _, s := range spans {
			at = append(at, s.from, s.to)
		}
	}
	for _, s := range m.signal {
		at = append(at, s.from-1, s.to) // a walk treats the address as a return address
	}
	if !slices.IsSorted(at) {
		slices.Sort(at)
	}
	return slices.Compact(at)
}

// rows makes all rows, block by block.
func (k *compiler) rows(end uint64) error {
	c := k.out
	bounds := k.bounds()
	i, _ := slices.BinarySearch(bounds, c.Base+1)
	last := k.rule(c.Base)
	for block := c.Base; block < end; block += blockSize {
		first := len(c.Rows)
		if i < len(bounds) && bounds[i] == block {
			last = k.rule(block)
			i++
		}
		c.Rows = append(c.Rows, last<<BlockBits)
		for ; i < len(bounds) && bounds[i] < block+blockSize; i++ {
			rule := k.rule(bounds[i])
			if rule != last {
				c.Rows = append(c.Rows, rule<<BlockBits|uint32(bounds[i]&blockMask))
			}
			last = rule
		}
		if len(c.Rules) > maxCompactRules {
			return errors.New("more rules than a table has room for")
		}
		b := Block{First: uint32(first), Count: uint32(len(c.Rows) - first)}
		if b.Count == 1 && last == 0 {
			c.Rows, b = c.Rows[:first], Block{} // a block without rules needs no rows
		}
		c.Blocks = append(c.Blocks, b)
	}
	c.Rows = slices.Clip(c.Rows)
	return nil
}

// rule returns the number of the rule at an address; addresses must be ascending. It decides
// like Unwinder.up.
func (k *compiler) rule(addr uint64) uint32 {
	m := k.module
	switch {
	case in(m.ends, addr):
		return k.number(Rule{Kind: IsEnd})
	case in(m.switches, addr):
		return k.number(Rule{Kind: BySwitch})
	case in(m.signal, addr), in(m.signal, addr+1):
		return k.number(Rule{Kind: BySignal})
	}
	for i, t := range m.tables {
		set, ok := k.set(i, addr)
		if !ok {
			continue
		}
		n, known := k.sets[i][set]
		if !known {
			n = k.number(ruleOf(t, &t.rule[set]))
			k.sets[i][set] = n
		}
		if k.out.Rules[n].Kind == IsComplex {
			k.out.Complex++
		}
		return n
	}
	if in(m.stubs, addr) {
		return k.number(Rule{Kind: ByStub, Reg: RegSP, Off: 8})
	}
	return 0
}

// set returns the number of a table's set of rules at an address.
func (k *compiler) set(table int, addr uint64) (uint32, bool) {
	t := k.module.tables[table]
	i := k.at[table]
	for i < len(t.pcs) && t.base+uint64(t.pcs[i]) <= addr {
		i++
	}
	k.at[table] = i
	if i == 0 || t.sets[i-1] == noRules {
		return noRules, false
	}
	return t.sets[i-1], true
}

// ruleOf converts a set of rules to a Rule.
func ruleOf(t *ruleTable, s *ruleSet) Rule {
	beyond := Rule{Kind: IsComplex}
	if s.flags&signalHere != 0 {
		return Rule{Kind: BySignal}
	}
	r := Rule{Kind: ByRegister, Reg: s.cfaReg, Off: s.cfaOff}
	if s.flags&cfaExpr != 0 {
		var ok bool
		if r, ok = cfaOf(t.expr[s.cfaOff]); !ok {
			return beyond
		}
	}
	if r.Reg > 15 {
		return beyond
	}
	returns := false
	for i := s.first; i < s.first+uint32(s.n); i++ {
		rule := &t.pool[i]
		switch rule.reg {
		case s.ra:
			if rule.kind == undefined {
				return Rule{Kind: IsEnd}
			}
			if returns = rule.kind == atOffset && rule.off == -8; !returns {
				return beyond
			}
		case RegSP:
			return beyond
		case RegBP:
			r.BP, r.BPOff = savedBy(t, rule)
		case RegBX:
			r.BX, r.BXOff = savedBy(t, rule)
		}
	}
	if !returns {
		return Rule{Kind: IsEnd}
	}
	return r
}

// savedBy returns the location of a saved register.
func savedBy(t *ruleTable, rule *regRule) (SavedPlace, int32) {
	switch rule.kind {
	case atOffset:
		return AtCFA, rule.off
	case atExpr:
		if e := t.expr[rule.off]; len(e) > 1 && e[0] == opBreg+RegBP {
			c := cursor{b: e, at: 1}
			if off := c.sleb(); !c.bad && c.remaining() == 0 && off == int64(int32(off)) {
				return AtBP, int32(off)
			}
		}
	}
	return Unknown, 0
}

// Operations of expressions that a Rule can represent.
const (
	opBreg  = 0x70 // DW_OP_breg0
	opDeref = 0x06
	opPlus  = 0x23 // DW_OP_plus_uconst
)

// pltExpr is the begin of the expression that linkers use for their stubs: the stack pointer plus
// 8, and 8 more in the last part of the 16 bytes of a slot. The bound, a literal, and the end
// follow.
var pltExpr = []byte{0x77, 8, 0x80, 0, 0x3f, 0x1a}

// cfaOf converts the expression of a CFA to a Rule.
func cfaOf(e []byte) (Rule, bool) {
	if len(e) == 11 && slices.Equal(e[:len(pltExpr)], pltExpr) && e[6] >= 0x30 && e[6] <= 0x3f &&
		slices.Equal(e[7:], []byte{0x2a, 0x33, 0x24, 0x22}) {
		return Rule{Kind: ByPLT, Reg: RegSP, Off: 8, Add: int32(e[6] - 0x30)}, true
	}
	c := cursor{b: e}
	op := c.u8()
	if op < opBreg || op > opBreg+15 {
		return Rule{}, false
	}
	r := Rule{Kind: ByRegister, Reg: op - opBreg}
	off, add := c.sleb(), uint64(0)
	if c.remaining() > 0 {
		if c.u8() != opDeref {
			return Rule{}, false
		}
		r.Kind = ByMemory
		if c.remaining() > 0 {
			if c.u8() != opPlus {
				return Rule{}, false
			}
			add = c.uleb()
		}
	}
	if c.bad || c.remaining() > 0 || off != int64(int32(off)) || add > math.MaxInt32 {
		return Rule{}, false
	}
	r.Off, r.Add = int32(off), int32(add)
	return r, true
}

// Find returns the rule at an address of the image. It searches like a program of the
// kernel.
func (c *Compact) Find(addr uint64) Rule {
	block := (addr - c.Base) >> BlockBits
	if addr < c.Base || block >= uint64(len(c.Blocks)) || c.Blocks[block].Count == 0 {
		return Rule{}
	}
	b := c.Blocks[block]
	rows := c.Rows[b.First : b.First+b.Count]
	at := 0
	for step := blockSize / 2; step > 0; step /= 2 {
		if at+step < len(rows) && rows[at+step]&blockMask <= uint32(addr&blockMask) {
			at += step
		}
	}
	return c.Rules[rows[at]>>BlockBits]
}
