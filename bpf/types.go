package bpf

import (
	"bytes"
	"encoding/binary"
	"os"

	"github.com/cilium/ebpf/btf"
)

// This file finds members of the kernel's structures. It walks the raw BTF for
// the one structure that somebody asks about, which takes a tenth of the time
// in which a library decodes all types; members that are inside of others
// without a name are left to the library.

// vmlinux is where the kernel shows its types.
const vmlinux = "/sys/kernel/btf/vmlinux"

// offsets looks members up; the types are read when somebody asks.
func offsets() func(typ, member string) (int, bool) {
	var raw []byte
	known := map[string]int{}
	return func(typ, member string) (int, bool) {
		name := typ + "." + member
		if at, ok := known[name]; ok {
			return at, at >= 0
		}
		if raw == nil {
			raw, _ = os.ReadFile(vmlinux)
		}
		at, ok := memberOf(raw, typ, member)
		if !ok {
			at, ok = decodedMember(typ, member)
		}
		if !ok {
			at = -1
		}
		known[name] = at
		return at, ok
	}
}

// Kinds of types, as in uapi/linux/btf.h.
const (
	kindInt       = 1
	kindArray     = 3
	kindStruct    = 4
	kindUnion     = 5
	kindEnum      = 6
	kindFuncProto = 13
	kindVar       = 14
	kindDatasec   = 15
	kindDeclTag   = 17
	kindEnum64    = 19
)

// memberOf finds a member of a structure in raw BTF: its place in bytes.
func memberOf(raw []byte, typ, member string) (int, bool) {
	types, names := sections(raw)
	u32 := binary.LittleEndian.Uint32
	is := func(off uint32, name string) bool {
		return uint64(off)+uint64(len(name)) < uint64(len(names)) && names[int(off)+len(name)] == 0 &&
			string(names[off:int(off)+len(name)]) == name
	}
	for len(types) >= 12 {
		name, info := u32(types), u32(types[4:])
		n, kind, bits := int(info&0xffff), info>>24&0x1f, info>>31 == 1
		size := 0
		switch kind {
		case kindInt, kindVar, kindDeclTag:
			size = 4
		case kindArray:
			size = 12
		case kindStruct, kindUnion, kindEnum64, kindDatasec:
			size = 12 * n
		case kindEnum, kindFuncProto:
			size = 8 * n
		}
		types = types[12:]
		if size > len(types) {
			return 0, false
		}
		if kind == kindStruct && n > 0 && is(name, typ) {
			for m := types[:size]; len(m) > 0; m = m[12:] {
				if !is(u32(m), member) {
					continue
				}
				at := u32(m[8:])
				if bits && at>>24 != 0 {
					return 0, false // a bit field
				}
				at &= 1<<24 - 1
				return int(at / 8), at%8 == 0
			}
			return 0, false
		}
		types = types[size:]
	}
	return 0, false
}

// sections are the types and the names, nil if b is damaged; must match struct
// btf_header in uapi/linux/btf.h.
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

// decodedMember finds a member also within members that have no name.
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
