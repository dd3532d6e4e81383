package symbol

import "encoding/binary"

// This file resolves references to types for which the compiler made separate units
// (-fdebug-types-section), of which the linker keeps one copy. References to such a type have its
// signature, a hash of its content. Before DWARF 5 these units are in a separate section
// (.debug_types), since then among the other units. Package debug/dwarf finds only the ones in the
// section, and only for references inside types.
//
// So the units of the section are appended to the other units, and each signature is replaced by a
// reference of the same size: the distance from the begin of the referring unit (DW_FORM_ref8). For
// a class of C++, a unit may have an entry that has only methods and names the type by its
// signature; references to that entry are changed to the type too. That needs two walks over all
// values, as for dwz (see joined), if some abbreviation has signatures.

// noUnit is an offset without a unit, for missing types.
const noUnit = 1<<32 - 1

// bindTypes replaces references by signature with references to the types.
func bindTypes(parts map[string][]byte, order binary.ByteOrder, expired func() bool) (err error) {
	defer guard(&err)
	info, types, abbrev := parts[".debug_info"], parts[".debug_types"], parts[".debug_abbrev"]
	delete(parts, ".debug_types")
	some := false
	err = eachForm(abbrev, func(form uint64) uint64 {
		some = some || form == formRefSig8
		return form
	})
	if err != nil || !some {
		return err
	}
	m := mover{order: order, abbrev: abbrev, expired: expired, form: plainReference,
		types: map[uint64]uint64{}, stand: map[uint64]uint64{}}
	m.unitsOfTypes(info, 0)
	m.unitsOfTypes(types, len(info))
	info = append(info, types...)
	for _, m.looking = range []bool{true, false} {
		if err := m.section(info); err != nil {
			return err
		}
	}
	parts[".debug_info"] = info
	return eachForm(abbrev, plainReference)
}

// plainReference returns the form for a replaced signature.
func plainReference(form uint64) uint64 {
	if form == formRefSig8 {
		return formRef8
	}
	return form
}

// unitsOfTypes records the offsets of the types in a section's units; the section will begin at
// base. A unit has its signature and the offset of its type at the end of its header. Before DWARF
// 5, package debug/dwarf expects the first entry there, so both are cleared, which makes them empty
// entries.
func (m *mover) unitsOfTypes(section []byte, base int) {
	for at := 0; ; {
		h, ok := readHead(m.order, section, at)
		if !ok {
			return
		}
		from := h.first - 8 - h.word
		switch {
		case h.version < 5 && base > 0:
			from = h.first
		case h.kind != unitType && h.kind != unitSplitType:
			from = -1
		}
		if from >= 0 {
			b := section[from : from+8+h.word]
			m.types[m.order.Uint64(b)] = uint64(base+at) + m.number(b[8:], h.word)
			if from == h.first {
				clear(b)
			}
		}
		at = h.end
	}
}
