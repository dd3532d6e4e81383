package symbol

import "debug/dwarf"

// This file takes structures apart that are passed in registers.

// A Member is a number or an address of a structure.
type Member struct {
	Parameter
	Off int // in the structure, in bytes
}

// mostMembers bounds the members of a structure that is passed in registers, mostLevels the
// structures within it.
const (
	mostMembers = 16
	mostLevels  = 4
)

// langC are the languages whose structures are passed by what is in them alone: those of C++ may
// have constructors, and are passed by their address then.
var langC = map[int64]bool{0x01: true, 0x02: true, 0x0c: true, 0x1d: true, 0x2c: true}

// membersOf are the members of a structure, those of structures in it too, with "_" between the
// names; nil if there is something else in it.
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

// wordsOf is how many registers for numbers and addresses a structure of C takes; -1 of others.
func wordsOf(t *dwarf.StructType, members []Member, lang int64) int {
	if !langC[lang] || len(members) == 0 || t.ByteSize < 1 || t.ByteSize > 16 {
		return -1
	}
	for _, m := range members {
		if m.Words != 1 || m.Off%m.Size != 0 { // of floating point, or packed
			return -1
		}
	}
	return int(t.ByteSize+7) / 8
}
