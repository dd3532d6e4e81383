package symbol

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"fmt"

	"ppscript/runtime/stack/dso"
)

// This file joins the debug information of a file and of its supplementary file (see
// dso.Store.Supplement), which dwz had separated: each section of the second file is appended to
// the section of the first, and offsets into it are increased accordingly. Types, names and units
// of both are then read in the usual way. The tempting alternative, to follow each reference into a
// second set of sections, does not work with package debug/dwarf, which follows references within
// types itself.
//
// That needs a walk over all values, which takes about 2 ms per MB, once for each file with a
// supplementary file.

// joined appends the sections of a supplementary file to the sections of a
// file.
func joined(parts, more map[string][]byte, order binary.ByteOrder, expired func() bool) (err error) {
	defer guard(&err)
	for _, of := range []map[string][]byte{parts, more} {
		if err := unitsFit(order, of[".debug_info"], of[".debug_abbrev"]); err != nil {
			return err
		}
	}
	at := func(name string) uint64 { return uint64(len(parts[name])) }
	info, abbrev := at(".debug_info"), at(".debug_abbrev")
	text, lineText := at(".debug_str"), at(".debug_line_str")
	own := mover{order: order, abbrev: parts[".debug_abbrev"], expired: expired, form: otherForm,
		by: map[uint64]uint64{formGNURefAlt: info, formRefSup4: info, formRefSup8: info,
			formGNUStrpAlt: text, formStrpSup: text}}
	if err := own.section(parts[".debug_info"]); err != nil {
		return err
	}
	other := mover{order: order, abbrev: more[".debug_abbrev"], abbrevAt: abbrev, expired: expired,
		form: otherForm, by: map[uint64]uint64{formRefAddr: info, formStrp: text, formLineStrp: lineText}}
	if err := other.section(more[".debug_info"]); err != nil {
		return err
	}
	for _, table := range [][]byte{own.abbrev, other.abbrev} {
		if err := reform(table); err != nil {
			return err
		}
	}
	for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str"} {
		if len(more[name]) > 0 {
			parts[name] = append(parts[name], more[name]...)
		}
	}
	return nil
}

// A mover adds a number to the values of some forms, or replaces signatures by references to types.
type mover struct {
	order    binary.ByteOrder
	abbrev   []byte
	abbrevAt uint64 // added to the offsets of tables of abbreviations
	by       map[uint64]uint64
	types    map[uint64]uint64        // offsets of types by signature; nil keeps signatures
	stand    map[uint64]uint64        // entries that stand for a type that is elsewhere
	looking  bool                     // only collect stand; change nothing
	unit     int                      // offset of the current unit
	form     func(form uint64) uint64 // replacement for a form that precedes its value
	expired  func() bool
	tables   map[tableKey][][]step
}

// A tableKey is the offset of a table of abbreviations, and the sizes with
// which it is read.
type tableKey struct {
	at uint64
	sizes
}

// A step skips a value, or several values of fixed lengths. If the value is changed, the step has
// the number to add, or says that the value is a signature.
type step struct {
	length length
	add    uint64
	binds  bool
	names  bool // the signature is of the type that the entry stands for
	leads  bool // it refers to a type, or to an entry that stands for one
}

// step returns the step of a form.
func (m *mover) step(attr, form uint64, s sizes) step {
	binds := form == formRefSig8 && m.types != nil
	return step{s.length(form), m.by[form], binds, binds && dwarf.Attr(attr) == dwarf.AttrSignature,
		form == formRef4 && m.types != nil && dwarf.Attr(attr) == dwarf.AttrType}
}

// moves reports that the value is changed.
func (x *step) moves() bool { return x.add != 0 || x.binds || x.leads }

// section changes the values of all units.
func (m *mover) section(info []byte) error {
	m.tables = map[tableKey][][]step{}
	for at := 0; at+11 < len(info); {
		if m.expired() {
			return dso.ErrExpired
		}
		h, ok := readHead(m.order, info, at)
		if !ok {
			return nil // end of the units
		}
		if h.version < 2 || h.version > 5 {
			return fmt.Errorf("debug information of version %d", h.version)
		}
		s := sizes{h.word, int(info[h.address]), h.version}
		if s.address != 4 && s.address != 8 {
			return fmt.Errorf("addresses of %d bytes", s.address)
		}
		m.unit = at
		from := m.number(info[h.abbrev:], s.offset)
		table, err := m.table(tableKey{from, s})
		if err != nil {
			return err
		}
		m.put(info[h.abbrev:], s.offset, from+m.abbrevAt)
		if err := m.entries(info[:h.end], h.first, table, s); err != nil {
			return err
		}
		at = h.end
	}
	return nil
}

func (m *mover) number(b []byte, size int) uint64 {
	if size == 8 {
		return m.order.Uint64(b)
	}
	return uint64(m.order.Uint32(b))
}

func (m *mover) put(b []byte, size int, v uint64) {
	if size == 8 {
		m.order.PutUint64(b, v)
		return
	}
	m.order.PutUint32(b, uint32(v))
}

// table reads a table of abbreviations, as steps for each number.
func (m *mover) table(k tableKey) ([][]step, error) {
	if t, ok := m.tables[k]; ok {
		return t, nil
	}
	b := m.abbrev[k.at:]
	var codes []uint64
	var list [][]step
	most := uint64(0)
	for {
		code, n := uleb(b)
		b = b[n:]
		if code == 0 {
			break
		}
		_, n = uleb(b) // tag
		b = b[n+1:]
		steps := []step{} // not nil, to show that the number exists
		for {
			attr, n := uleb(b)
			b = b[n:]
			form, n := uleb(b)
			b = b[n:]
			if form == formImplicitConst {
				_, n := uleb(b)
				b = b[n:]
			}
			if attr == 0 && form == 0 {
				break
			}
			next := m.step(attr, form, k.sizes)
			wide := form == formRefSup8 && k.offset != 8 || form == formRefSup4 && k.offset != 4
			if next.length == ofUnknown || wide { // 64-bit offsets do not fit formRefAddr
				return nil, errForm
			}
			if last := len(steps) - 1; !next.moves() && next.length >= 0 && last >= 0 &&
				!steps[last].moves() && steps[last].length >= 0 {
				steps[last].length += next.length
				continue
			}
			steps = append(steps, next)
		}
		codes, list, most = append(codes, code), append(list, steps), max(most, code)
	}
	// Compilers number from 1. In a malicious file, a single number of a billion would use all
	// memory.
	if most > uint64(4*len(list)+4) {
		return nil, errApart
	}
	table := make([][]step, most+1)
	for i, code := range codes {
		table[code] = list[i]
	}
	m.tables[k] = table
	return table, nil
}

// entries changes the values of a unit, whose first entry is at an offset of info and which ends
// with info.
func (m *mover) entries(info []byte, first int, table [][]step, s sizes) error {
	for b := info[first:]; len(b) > 0; {
		entry := len(info) - len(b)
		code, n := uleb(b)
		b = b[n:]
		if code == 0 {
			continue
		}
		if code >= uint64(len(table)) || table[code] == nil {
			return fmt.Errorf("no abbreviation %d", code)
		}
		for _, x := range table[code] {
			if x.names && m.looking {
				if at, ok := m.types[m.order.Uint64(b)]; ok {
					m.stand[uint64(entry)] = at
				}
			}
			b = m.value(b, x, s)
		}
	}
	return nil
}

// value handles one value, and returns the bytes after it.
func (m *mover) value(b []byte, x step, s sizes) []byte {
	if x.length >= 0 {
		switch {
		case m.looking:
		case x.leads:
			unit := uint64(m.unit)
			if at, ok := m.stand[unit+uint64(m.order.Uint32(b))]; ok {
				m.order.PutUint32(b, uint32(at-unit))
			}
		case x.binds:
			at, ok := m.types[m.order.Uint64(b)]
			if !ok {
				at = noUnit
			}
			m.order.PutUint64(b, at-uint64(m.unit)) // the number is added again, in 32 bits
		case x.add != 0:
			m.put(b, int(x.length), m.number(b, int(x.length))+x.add)
		}
		return b[x.length:]
	}
	size := uint64(0)
	switch x.length {
	case ofLEB:
		_, n := uleb(b)
		return b[n:]
	case ofText:
		size = uint64(bytes.IndexByte(b, 0) + 1)
		if size == 0 {
			panic("a text has no end")
		}
	case ofBlock:
		v, n := uleb(b)
		b, size = b[n:], v
	case ofBlock1:
		size, b = uint64(b[0]), b[1:]
	case ofBlock2:
		size, b = uint64(m.order.Uint16(b)), b[2:]
	case ofBlock4:
		size, b = uint64(m.order.Uint32(b)), b[4:]
	case ofOther:
		form, n := uleb(b)
		if !m.looking {
			putULEB(b[:n], m.form(form))
		}
		next := m.step(0, form, s)
		if next.length == ofOther || next.length == ofUnknown {
			panic(errForm)
		}
		return m.value(b[n:], next, s)
	}
	if size > uint64(len(b)) {
		panic("a value is longer than its unit")
	}
	return b[size:]
}
