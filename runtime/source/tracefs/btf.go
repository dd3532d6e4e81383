package tracefs

import (
	"encoding/binary"
	"os"
	"path/filepath"
)

// This file finds the values of enumerators in the kernel's BTF. Most print
// fmts have numbers. But where the kernel's author forgot TRACE_DEFINE_ENUM
// they have names of enumerators: {I_DIRTY_SYNC, "I_DIRTY_SYNC"}. Without the
// values of these names, values of such fields would be printed as numbers.
//
// The raw types are scanned once, for a handful of names, and nothing is kept.
// A BTF library would first decode 100,000 types, which takes more time than
// all other steps of the start and more memory than the rest of the program.

// enumerators returns the values of those names that vmlinux or a module
// defines. dir is /sys/kernel/btf.
func enumerators(dir string, names []string) map[string]int64 {
	found := make(map[string]int64, len(names))
	base, err := os.ReadFile(filepath.Join(dir, "vmlinux"))
	if err != nil {
		return found
	}
	scanEnums(base, 0, names, found)
	if len(found) == len(names) {
		return found
	}
	// A module's BTF continues the string table of vmlinux.
	baseStrings := btfStringsLen(base)
	modules, _ := os.ReadDir(dir)
	for _, m := range modules {
		if m.Name() == "vmlinux" {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, m.Name())); err == nil {
			scanEnums(b, baseStrings, names, found)
		}
	}
	return found
}

// btfSections finds the type and string sections; must match struct
// btf_header in uapi/linux/btf.h.
func btfSections(b []byte) (types, strings []byte) {
	if len(b) < 24 || binary.LittleEndian.Uint16(b) != 0xeb9f {
		return nil, nil
	}
	u32 := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(b[i:])) }
	section := func(off, n uint64) []byte {
		start := u32(4) + off
		if start > uint64(len(b)) || n > uint64(len(b))-start {
			return nil
		}
		return b[start : start+n]
	}
	return section(u32(8), u32(12)), section(u32(16), u32(20))
}

func btfStringsLen(b []byte) uint32 {
	_, s := btfSections(b)
	return uint32(len(s))
}

// The kinds of uapi/linux/btf.h that matter here. The tables have, by kind, the
// number of bytes after the 12 bytes of struct btf_type: a fixed number, and a
// number for each member.
const (
	btfEnum   = 6
	btfEnum64 = 19
)

var btfFixed = [20]int{1: 4, 3: 12, 14: 4, 17: 4}
var btfPerMember = [20]int{4: 12, 5: 12, btfEnum: 8, 13: 8, 15: 12, btfEnum64: 12}

// scanEnums adds the values of enumerators with these names to found. If a name
// occurs several times, the first counts. strOff is the offset at which this
// table's strings begin.
func scanEnums(b []byte, strOff uint32, names []string, found map[string]int64) {
	types, strings := btfSections(b)
	// Most names differ from all wanted ones in the first letter.
	var first [256]bool
	for _, n := range names {
		if n != "" {
			first[n[0]] = true
		}
	}
	match := func(off uint32) string {
		if off < strOff || uint64(off-strOff) >= uint64(len(strings)) {
			return ""
		}
		s := strings[off-strOff:]
		if !first[s[0]] {
			return ""
		}
		for _, n := range names {
			if len(s) > len(n) && s[len(n)] == 0 && string(s[:len(n)]) == n {
				return n
			}
		}
		return ""
	}
	u32 := binary.LittleEndian.Uint32
	for len(types) >= 12 {
		info := u32(types[4:])
		kind, members, signed := info>>24&31, int(info&0xffff), info>>31 == 1
		if int(kind) >= len(btfFixed) {
			return // a kind newer than this code: its size is unknown, so the next type cannot be found
		}
		each := btfPerMember[kind]
		n := btfFixed[kind] + members*each
		types = types[12:]
		if n > len(types) {
			return
		}
		if kind == btfEnum || kind == btfEnum64 {
			for m := types[:n]; len(m) > 0; m = m[each:] {
				name := match(u32(m))
				if name == "" {
					continue
				}
				if _, dup := found[name]; dup {
					continue
				}
				v := int64(u32(m[4:]))
				switch {
				case kind == btfEnum64:
					v |= int64(u32(m[8:])) << 32
				case signed:
					v = int64(int32(v))
				}
				found[name] = v
			}
		}
		types = types[n:]
	}
}
