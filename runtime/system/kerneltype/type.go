package kerneltype

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"

	"ppscript/runtime/text/diag"
)

// A Type is a type of the kernel. Typedefs and qualifiers only matter for its
// name.
type Type struct{ t btf.Type }

// A Kind is the class of a type: number, pointer, structure and so on.
type Kind uint8

// The kinds.
const (
	Void Kind = iota
	Int
	Bool
	Char // a character of a text: char, unsigned char
	Enum
	Pointer
	Array
	Struct // a structure or a union
	Other  // functions, floating point, unknown types
)

// bare returns the type without typedefs and qualifiers.
func (t Type) bare() btf.Type {
	if t.t == nil {
		return &btf.Void{}
	}
	return btf.UnderlyingType(t.t)
}

// Kind returns the class of the type.
func (t Type) Kind() Kind {
	switch b := t.bare().(type) {
	case *btf.Void:
		return Void
	case *btf.Int:
		switch {
		case b.Encoding == btf.Bool || b.Name == "_Bool":
			return Bool
		case t.char():
			return Char
		}
		return Int
	case *btf.Enum:
		return Enum
	case *btf.Pointer:
		return Pointer
	case *btf.Array:
		return Array
	case *btf.Struct, *btf.Union:
		return Struct
	}
	return Other
}

// char reports that the type is declared as char or unsigned char; u8 is a
// number.
func (t Type) char() bool {
	typ := t.t
	for {
		switch q := typ.(type) {
		case *btf.Const:
			typ = q.Type
		case *btf.Volatile:
			typ = q.Type
		case *btf.TypeTag:
			typ = q.Type
		case *btf.Int:
			return q.Size == 1 && strings.HasSuffix(q.Name, "char")
		default:
			return false
		}
	}
}

// Size is the size of a value in bytes; 0 if unknown.
func (t Type) Size() int {
	if t.Kind() == Pointer {
		return 8
	}
	n, err := btf.Sizeof(t.bare())
	if err != nil {
		return 0
	}
	return n
}

// Signed reports that numbers of the type have a sign.
func (t Type) Signed() bool {
	switch b := t.bare().(type) {
	case *btf.Int:
		return b.Encoding == btf.Signed
	case *btf.Enum:
		return b.Signed
	}
	return false
}

// Elem is the type that a pointer points to, or the type of an array's
// elements.
func (t Type) Elem() Type {
	switch b := t.bare().(type) {
	case *btf.Pointer:
		return Type{b.Target}
	case *btf.Array:
		return Type{b.Type}
	}
	return Type{}
}

// Len is the number of elements of an array; 0 if unknown.
func (t Type) Len() int {
	if b, ok := t.bare().(*btf.Array); ok {
		return int(b.Nelems)
	}
	return 0
}

// PointerTo returns the type of a pointer to t.
func PointerTo(t Type) Type { return Type{&btf.Pointer{Target: t.t}} }

// Text reports that values are texts: arrays of characters, pointers to them.
func (t Type) Text() bool {
	k := t.Kind()
	return (k == Array || k == Pointer) && t.Elem().Kind() == Char
}

// String is the type in C.
func (t Type) String() string {
	switch b := t.t.(type) {
	case nil, *btf.Void:
		return "void"
	case *btf.Int:
		return b.Name
	case *btf.Typedef:
		return b.Name
	case *btf.Const:
		return "const " + Type{b.Type}.String()
	case *btf.Volatile:
		return Type{b.Type}.String()
	case *btf.Restrict:
		return Type{b.Type}.String()
	case *btf.TypeTag:
		return Type{b.Type}.String()
	case *btf.Pointer:
		if inner := (Type{b.Target}); inner.Kind() == Pointer {
			return inner.String() + "*"
		} else if _, fn := inner.t.(*btf.FuncProto); fn {
			return "function *"
		} else {
			return inner.String() + " *"
		}
	case *btf.Array:
		return fmt.Sprintf("%s[%d]", Type{b.Type}, b.Nelems)
	case *btf.Struct:
		return strings.TrimSpace("struct " + b.Name)
	case *btf.Union:
		return strings.TrimSpace("union " + b.Name)
	case *btf.Enum:
		return strings.TrimSpace("enum " + b.Name)
	case *btf.Fwd:
		return strings.TrimSpace(b.Kind.String() + " " + b.Name)
	case *btf.Float:
		return b.Name
	}
	return "function"
}

// A Member is a member of a structure or union.
type Member struct {
	Type   Type
	Offset int // bytes from the beginning
	// Bits is the width of a bit field, whose lowest bit is Shift bits above
	// Offset; 0 for other members.
	Bits, Shift int
}

// Member finds a member by its name, also within members that have no name.
func (t Type) Member(name string) (Member, error) {
	list := t.members()
	if list == nil {
		return Member{}, diag.Errorf(diag.Run, "member", name, "a %s has no members", t)
	}
	if m, ok := memberOf(list, name); ok {
		return m, nil
	}
	names := t.Members()
	d := diag.Errorf(diag.Run, "member", name, "%s has no member %s%s", t, name, diag.DidYouMean(name, names))
	const shown = 12
	if len(names) > shown {
		return Member{}, d.WithHint("it has %s and %d more", strings.Join(names[:shown], ", "),
			len(names)-shown)
	}
	return Member{}, d.WithHint("it has %s", strings.Join(names, ", "))
}

func (t Type) members() []btf.Member {
	switch b := t.bare().(type) {
	case *btf.Struct:
		return b.Members
	case *btf.Union:
		return b.Members
	}
	return nil
}

func memberOf(list []btf.Member, name string) (Member, bool) {
	for _, m := range list {
		typ := Type{m.Type}
		if m.Name == name {
			at := Member{Type: typ, Offset: int(m.Offset / 8)}
			if m.BitfieldSize > 0 || m.Offset%8 != 0 {
				at.Bits, at.Shift = int(m.BitfieldSize), int(m.Offset%8)
			}
			return at, true
		}
		if m.Name != "" {
			continue
		}
		if in, ok := memberOf(typ.members(), name); ok {
			in.Offset += int(m.Offset / 8)
			return in, true
		}
	}
	return Member{}, false
}

// Members lists the names of the members in the order of the structure, including
// members of unnamed members.
func (t Type) Members() []string {
	var names []string
	for _, m := range t.members() {
		if m.Name == "" {
			names = append(names, Type{m.Type}.Members()...)
		} else {
			names = append(names, m.Name)
		}
	}
	return names
}
