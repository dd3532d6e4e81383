package features

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// This file finds where the running kernel keeps things: members of its structures,
// functions that programs may call, variables of each CPU. It reads the kernel's type
// information (BTF).
//
// It walks the raw BTF for one structure at a time, which takes a tenth of the
// time in which the library decodes all types. Only for members of unnamed
// inner structures and unions it uses the library.

// vmlinux is the file with the kernel's types.
const vmlinux = "/sys/kernel/btf/vmlinux"

// running returns the types of the running kernel as raw BTF, one copy for the whole
// process; nil if there are none. They are 5 MB; kernels since 6.16 let the process map
// their own memory instead.
var running = sync.OnceValue(func() []byte {
	f, err := os.Open(vmlinux)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
		if err == nil {
			return b // to the end of the process
		}
	}
	b, _ := io.ReadAll(f)
	return b
})

// LookUps returns functions that find members, functions and variables. The types are read
// once, at the first look-up. symbols is the path of the kernel's list of symbols, which
// has variables that the types do not have.
func LookUps(symbols string) (
	offset func(typ, member string) (int, bool), function, variable func(name string) (int, bool),
) {
	raw := running
	find := func(known map[string]int, name string, look func() (int, bool)) (int, bool) {
		at, ok := known[name]
		if !ok {
			if at, ok = look(); !ok {
				at = -1
			}
			known[name] = at
		}
		return at, at >= 0
	}
	members, called, variables := map[string]int{}, map[string]int{}, map[string]int{}
	offset = func(typ, member string) (int, bool) {
		return find(members, typ+"."+member, func() (int, bool) {
			at, ok := memberOf(raw(), typ, member)
			if !ok {
				at, ok = decodedMember(typ, member)
			}
			return at, ok
		})
	}
	function = func(name string) (int, bool) {
		return find(called, name, func() (int, bool) { return named(raw(), kindFunc, name) })
	}
	variable = func(name string) (int, bool) {
		return find(variables, name, func() (int, bool) {
			at, ok := variableOf(raw(), name)
			if !ok {
				at, ok = listed(symbols, name)
			}
			return at, ok
		})
	}
	return offset, function, variable
}

// Kinds of types, as in uapi/linux/btf.h.
const (
	kindInt       = 1
	kindArray     = 3
	kindStruct    = 4
	kindUnion     = 5
	kindEnum      = 6
	kindFunc      = 12
	kindFuncProto = 13
	kindVar       = 14
	kindDatasec   = 15
	kindDeclTag   = 17
	kindEnum64    = 19
)

// rawType is a type in raw BTF.
type rawType struct {
	id   int
	name string
	kind uint32
	n    int    // number of its members
	bits bool   // some members may be bit fields
	body []byte // the members behind it
}

// eachType calls visit for each type of a kind, until visit returns true.
func eachType(raw []byte, kind uint32, visit func(t *rawType, name func(off uint32) string) bool) {
	types, names := sections(raw)
	u32 := binary.LittleEndian.Uint32
	text := func(off uint32) string {
		if uint64(off) >= uint64(len(names)) {
			return ""
		}
		s, _, _ := bytes.Cut(names[off:], []byte{0})
		return unsafe.String(unsafe.SliceData(s), len(s))
	}
	var t rawType
	for id := 1; len(types) >= 12; id++ {
		info := u32(types[4:])
		t = rawType{id: id, kind: info >> 24 & 0x1f, n: int(info & 0xffff), bits: info>>31 == 1}
		size := 0
		switch t.kind {
		case kindInt, kindVar, kindDeclTag:
			size = 4
		case kindArray:
			size = 12
		case kindStruct, kindUnion, kindEnum64, kindDatasec:
			size = 12 * t.n
		case kindEnum, kindFuncProto:
			size = 8 * t.n
		}
		if size > len(types)-12 {
			return
		}
		if t.kind == kind {
			t.name, t.body = text(u32(types)), types[12:12+size]
			if visit(&t, text) {
				return
			}
		}
		types = types[12+size:]
	}
}

// memberOf finds the offset in bytes of a member of a structure in raw BTF.
func memberOf(raw []byte, typ, member string) (at int, ok bool) {
	u32 := binary.LittleEndian.Uint32
	eachType(raw, kindStruct, func(t *rawType, name func(uint32) string) bool {
		if t.n == 0 || t.name != typ {
			return false
		}
		for m := t.body; len(m) > 0; m = m[12:] {
			if name(u32(m)) != member {
				continue
			}
			off := u32(m[8:])
			if t.bits && off>>24 != 0 {
				return true // a bit field
			}
			off &= 1<<24 - 1
			at, ok = int(off/8), off%8 == 0
			return true
		}
		return true
	})
	return at, ok
}

// variableOf finds where a variable lies in the memory of each CPU.
func variableOf(raw []byte, name string) (at int, ok bool) {
	id, known := named(raw, kindVar, name)
	if !known {
		return 0, false
	}
	u32 := binary.LittleEndian.Uint32
	eachType(raw, kindDatasec, func(t *rawType, _ func(uint32) string) bool {
		if t.name != perCPUSection {
			return false
		}
		for v := t.body; len(v) > 0 && !ok; v = v[12:] {
			if u32(v) == uint32(id) {
				at, ok = int(u32(v[4:])), true
			}
		}
		return true
	})
	return at, ok
}

// perCPUSection is the section of the variables of which each CPU has a copy.
const perCPUSection = ".data..percpu"

// named finds the number of a type by its kind and name in raw BTF.
func named(raw []byte, kind uint32, name string) (id int, ok bool) {
	eachType(raw, kind, func(t *rawType, _ func(uint32) string) bool {
		if ok = t.name == name; ok {
			id = t.id
		}
		return ok
	})
	return id, ok
}

// sections returns the types and the names in b; nil if b is damaged. It must
// match struct btf_header in uapi/linux/btf.h.
func sections(b []byte) (types, names []byte) {
	if len(b) < 24 || !bytes.Equal(b[:2], []byte{0x9f, 0xeb}) {
		return nil, nil
	}
	u32 := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(b[i:])) }
	part := func(off, n uint64) []byte {
		if from := u32(4) + off; from <= uint64(len(b)) && n <= uint64(len(b))-from {
			return b[from : from+n]
		}
		return nil
	}
	return part(u32(8), u32(12)), part(u32(16), u32(20))
}

// decodedMember finds a member by the library, also within members that have no
// name.
func decodedMember(typ, member string) (int, bool) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return 0, false
	}
	var s *btf.Struct
	if err := spec.TypeByName(typ, &s); err != nil {
		return 0, false
	}
	return offsetIn(s.Members, member)
}

func offsetIn(members []btf.Member, name string) (int, bool) {
	for _, m := range members {
		if m.Name == name {
			return int(m.Offset / 8), m.Offset%8 == 0
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if m.Name == "" {
			if at, ok := offsetIn(inner, name); ok {
				return int(m.Offset/8) + at, true
			}
		}
	}
	return 0, false
}
