package tracefs

import "strings"

// elemSizes has the size of the C types that format files use for elements
// of arrays. A fixed array of known length needs none of this; a dynamic one
// does, because its format line has the size of the locator only.
var elemSizes = map[string]int{
	"char": 1, "signed char": 1, "unsigned char": 1, "bool": 1, "_Bool": 1,
	"u8": 1, "s8": 1, "__u8": 1, "__s8": 1, "uint8_t": 1, "int8_t": 1, "u_char": 1,
	"short": 2, "unsigned short": 2, "short int": 2, "short unsigned int": 2, "short signed int": 2,
	"u16": 2, "s16": 2, "__u16": 2, "__s16": 2, "uint16_t": 2, "int16_t": 2,
	"__le16": 2, "__be16": 2, "umode_t": 2, "ushort": 2,
	"int": 4, "unsigned int": 4, "unsigned": 4, "signed int": 4, "signed": 4, "uint": 4,
	"u32": 4, "s32": 4, "__u32": 4, "__s32": 4, "uint32_t": 4, "int32_t": 4,
	"__le32": 4, "__be32": 4, "dev_t": 4, "pid_t": 4, "gfp_t": 4, "uid_t": 4, "gid_t": 4, "blk_opf_t": 4,
	"long": 8, "unsigned long": 8, "long int": 8, "long unsigned int": 8, "unsigned long int": 8, "ulong": 8,
	"long long": 8, "unsigned long long": 8, "long long int": 8, "long long unsigned int": 8, "unsigned long long int": 8,
	"u64": 8, "s64": 8, "__u64": 8, "__s64": 8, "uint64_t": 8, "int64_t": 8,
	"__le64": 8, "__be64": 8, "size_t": 8, "ssize_t": 8, "loff_t": 8, "off_t": 8,
	"sector_t": 8, "ino_t": 8, "dma_addr_t": 8, "phys_addr_t": 8, "resource_size_t": 8, "uintptr_t": 8,
	"ktime_t": 8, "gva_t": 8, "gpa_t": 8, "gfn_t": 8, "cycles_t": 8,
}

// bareType drops the qualifiers that do not change a type's size.
func bareType(t string) string {
	words := strings.Fields(t)
	n := 0
	for _, w := range words {
		switch w {
		case "const", "volatile", "__user", "__rcu", "static", "__percpu", "__iomem":
			continue
		}
		words[n] = w
		n++
	}
	return strings.Join(words[:n], " ")
}

// elemSize is the size of one element of type t on a 64-bit kernel, 0 if it
// is not known to be an integer.
func elemSize(t string) int {
	t = bareType(t)
	switch {
	case strings.Contains(t, "*"):
		return 8
	case strings.HasPrefix(t, "enum "):
		return 4
	}
	return elemSizes[t]
}

// aggregate reports that t is a struct or union by value.
func aggregate(t string) bool {
	t = bareType(t)
	return !strings.Contains(t, "*") && (strings.HasPrefix(t, "struct ") || strings.HasPrefix(t, "union "))
}
