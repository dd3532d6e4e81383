package symbol

import "encoding/binary"

// This file brings types to those that refer to them, where the compiler put each into a unit of its own
// (-fdebug-types-section), of which the linker keeps one. Users of such a type name it by its signature, a
// hash of what it is. Before DWARF 5 these units are in a section of their own (.debug_types), since then
// among the others. Package debug/dwarf finds those of the section alone, and only for types within types.
//
// So the units of the section follow the others, and each signature becomes what has as many bytes: the
// distance from the begin of the unit that refers to the type (DW_FORM_ref8). Of a class of C++ a unit may
// have an entry with its methods alone, that says which type it stands for: a reference to it leads to the
// type as well. All values have to be walked over twice for that, as for dwz (see joined), where an
// abbreviation says that there are signatures.

// noUnit is an offset that no unit has, for types that are not there.
const noUnit = 1<<32 - 1

// bindTypes has references by signature lead to the types.
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

// plainReference is the form of a signature that was bound.
func plainReference(form uint64) uint64 {
	if form == formRefSig8 {
		return formRef8
	}
	return form
}

// unitsOfTypes notes where the types of a section's units will be, which begins at base then. A unit has its
// signature at the end of its head, and behind it where its type is. Before DWARF 5 package debug/dwarf looks
// for the first entry there: both are cleared, and so entries that are empty.
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
