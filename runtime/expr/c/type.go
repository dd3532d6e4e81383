package c

import (
	"strconv"
	"strings"
)

// TypeKind is the kind of a Type.
type TypeKind uint8

const (
	Void TypeKind = iota
	Bool
	Int
	Ptr
	Array
	Record  // struct or union, whose members are unknown here
	Unknown // a name used as a type that is not in the table
	TypeOf  // typeof(expression)
)

// A Type is a C type of an LP64 machine. Types are not changed once made and may be
// shared. They are used while an expression is lowered: they decide C's conversions
// and the steps of pointers. The nodes that result have an event.Type.
type Type struct {
	Kind     TypeKind
	Size     int    // bytes; 0 for Void, Record and Unknown
	Unsigned bool   // Bool is unsigned
	Name     string // as C spells it: "unsigned int", "u64", "struct page"
	Elem     *Type  // type that a Ptr points to, or of an Array's elements
	Len      int    // number of elements of an Array; -1 if not given
	Of       Node   // operand of TypeOf
}

// The basic types.
var (
	TVoid   = &Type{Kind: Void, Name: "void"}
	TBool   = &Type{Kind: Bool, Size: 1, Unsigned: true, Name: "bool"}
	TChar   = &Type{Kind: Int, Size: 1, Name: "char"}
	TUChar  = &Type{Kind: Int, Size: 1, Unsigned: true, Name: "unsigned char"}
	TShort  = &Type{Kind: Int, Size: 2, Name: "short"}
	TUShort = &Type{Kind: Int, Size: 2, Unsigned: true, Name: "unsigned short"}
	TInt    = &Type{Kind: Int, Size: 4, Name: "int"}
	TUInt   = &Type{Kind: Int, Size: 4, Unsigned: true, Name: "unsigned int"}
	TLong   = &Type{Kind: Int, Size: 8, Name: "long"}
	TULong  = &Type{Kind: Int, Size: 8, Unsigned: true, Name: "unsigned long"}
)

// PtrTo is the type of a pointer to t.
func PtrTo(t *Type) *Type { return &Type{Kind: Ptr, Size: 8, Unsigned: true, Elem: t} }

// ArrayOf is the type of an array of n elements of t; n is -1 if unknown.
func ArrayOf(t *Type, n int) *Type {
	return &Type{Kind: Array, Size: t.Size * max(n, 0), Elem: t, Len: n}
}

// Integer reports that t is an integer type; bool is one.
func (t *Type) Integer() bool { return t.Kind == Int || t.Kind == Bool }

// Pointer reports that t is a pointer, or an array, which decays to one.
func (t *Type) Pointer() bool { return t.Kind == Ptr || t.Kind == Array }

// CharPtr reports that t points to characters, so that it is a text.
func (t *Type) CharPtr() bool {
	return t.Pointer() && t.Elem.Kind == Int && t.Elem.Size == 1
}

func (t *Type) String() string {
	switch t.Kind {
	case Ptr:
		if t.Elem.Kind == Ptr {
			return t.Elem.String() + "*"
		}
		return t.Elem.String() + " *"
	case Array:
		n := ""
		if t.Len >= 0 {
			n = strconv.Itoa(t.Len)
		}
		return t.Elem.String() + "[" + n + "]"
	case TypeOf:
		return "typeof(" + t.Of.String() + ")"
	}
	return t.Name
}

// Basic returns the integer type of the size in bytes and the sign.
func Basic(size int, unsigned bool) *Type {
	var t *Type
	switch size {
	case 1:
		t = TChar
	case 2:
		t = TShort
	case 4:
		t = TInt
	default:
		t = TLong
	}
	if !unsigned {
		return t
	}
	switch t {
	case TChar:
		return TUChar
	case TShort:
		return TUShort
	case TInt:
		return TUInt
	}
	return TULong
}

// named is the table of typedefs that the kernel's formats and scripts use. A
// char is signed, as on x86. Since 6.2 the kernel declares its char fields as
// unsigned, but that does not change comparisons as text.
var named = func() map[string]*Type {
	m := map[string]*Type{"void": TVoid, "bool": TBool, "_Bool": TBool}
	add := func(size int, unsigned bool, names string) {
		for _, n := range strings.Fields(names) {
			m[n] = &Type{Kind: Int, Size: size, Unsigned: unsigned, Name: n}
		}
	}
	add(1, false, "s8 __s8 int8_t")
	add(1, true, "u8 __u8 uint8_t uchar u_char u_int8_t")
	add(2, false, "s16 __s16 int16_t")
	add(2, true, "u16 __u16 uint16_t __be16 __le16 __sum16 ushort u_short u_int16_t umode_t sa_family_t")
	add(4, false, "s32 __s32 int32_t pid_t __kernel_pid_t clockid_t key_t timer_t atomic_t key_serial_t mqd_t __kernel_rwf_t rwf_t rpc_authflavor_t")
	add(4, true,
		"u32 __u32 uint32_t __be32 __le32 __wsum uint u_int u_int32_t gfp_t dev_t uid_t gid_t qid_t "+
			"fmode_t mode_t slab_flags_t blk_opf_t blk_mode_t req_flags_t tid_t projid_t kuid_t kgid_t compat_ulong_t "+
			"compat_size_t compat_uptr_t __poll_t nlink_t xfs_agnumber_t xfs_agblock_t xfs_extlen_t vm_fault_t "+
			"isolate_mode_t blk_qc_t")
	add(8, false,
		"s64 __s64 int64_t ssize_t off_t loff_t time64_t ktime_t time_t intptr_t ptrdiff_t clock_t "+
			"suseconds_t atomic64_t atomic_long_t xfs_off_t xfs_fsize_t xfs_lsn_t xfs_daddr_t")
	add(8, true,
		"aio_context_t u64 __u64 uint64_t __be64 __le64 ulong u_long u_int64_t size_t __kernel_size_t uintptr_t sector_t "+
			"blkcnt_t pgoff_t pgd_t pmd_t pte_t pgdval_t p4dval_t pudval_t pmdval_t pteval_t dma_addr_t phys_addr_t "+
			"resource_size_t gfn_t gpa_t gva_t hpa_t hva_t hfn_t kvm_pfn_t ino_t cputime_t vm_flags_t netdev_features_t "+
			"fl_owner_t tcflag_t xfs_ino_t xfs_fsblock_t xfs_fileoff_t xfs_filblks_t xfs_rfsblock_t async_cookie_t")
	return m
}()

// TypeNamed returns the typedef or basic type with a name: "u64", "size_t",
// "unsigned int". The name may have several words and stars: "char *".
func TypeNamed(name string) (*Type, bool) {
	if t, ok := named[name]; ok {
		return t, true
	}
	p := &parser{src: name}
	if p.lex() != nil {
		return nil, false
	}
	if !p.typeStart() {
		return nil, false
	}
	t, err := p.typeName()
	if err != nil || p.tok().kind != tEOF || t.Kind == Unknown {
		return nil, false
	}
	return t, true
}
