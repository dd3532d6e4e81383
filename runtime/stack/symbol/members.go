package symbol

import "debug/dwarf"

// This file splits structures that are passed in registers into their members.

// A Member is a number or an address in a structure.
type Member struct {
	Parameter
	Off int // offset in the structure, in bytes
}

// mostMembers bounds the members of a structure that is passed in registers, mostLevels the
// nesting of structures in it.
const (
	mostMembers = 16
	mostLevels  = 4
)

// langC are the languages in which only the members of a structure decide how it is passed: in
// C++ a structure may have constructors, and is then passed by its address.
var langC = map[int64]bool{0x01: true, 0x02: true, 0x0c: true, 0x1d: true, 0x2c: true}

// membersOf returns the members of a structure, including members of inner structures, with "_"
// between the names; nil if a member is no number or address, such as a union or a bit field.
func membersOf(t *dwarf.StructType, lang int64) []Member {
	var list []Member
	if !appendMembers(&list, t, "", 0, lang, 0) {
		return nil
	}
	return list
}

func appendMembers(list *[]Member, t *dwarf.StructType, prefix string, off, lang int64, level int) bool {
	if t.Kind == "union" || t.Incomplete || level > mostLevels {
		return false
	}
	for _, f := range t.Field {
		if f.BitSize > 0 || len(*list) >= mostMembers {
			return false
		}
		plain := plainType(f.Type)
		if plain == nil {
			return false
		}
		at := off + f.ByteOffset
		if in, ok := plain.(*dwarf.StructType); ok {
			if !appendMembers(list, in, prefix+f.Name+"_", at, lang, level+1) {
				return false
			}
			continue
		}
		p, ok := scalar(f.Type, plain, lang)
		if !ok {
			return false
		}
		p.Name = prefix + f.Name
		*list = append(*list, Member{p, int(at)})
	}
	return true
}

// wordsOf is the number of registers for numbers and addresses that a structure of C takes; -1
// for other structures.
func wordsOf(t *dwarf.StructType, members []Member, lang int64) int {
	if !langC[lang] || len(members) == 0 || t.ByteSize < 1 || t.ByteSize > 16 {
		return -1
	}
	for _, m := range members {
		if m.Words != 1 || m.Off%m.Size != 0 { // floating point, or packed
			return -1
		}
	}
	return int(t.ByteSize+7) / 8
}
