package symbol

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"

	"ppscript/runtime/stack/dso"
)

// This file finds the parameters of functions in their debug information.

// A Parameter is a parameter of a function, or its result.
type Parameter struct {
	Name, Type string
	Size       int // size of the value in bytes
	Signed     bool
	Pointer    bool
	Text       bool // it points to a C string
	// Names are the names of an enumeration's values; the first name if a value has
	// several.
	Names map[int64]string
	// Words is the number of registers for numbers and addresses that it takes: 1 for the values
	// above, 2 for a Go string (address and length), 0 for a floating-point number. It is -1 if
	// unknown, for this parameter and all later ones.
	Words int
	// Reg is the register, by its DWARF number, that has it at the begin of the function; -1 if
	// unknown or if it is in none.
	Reg int
	// Members are the members of a structure, and Pieces its registers. Pieces is nil if debug
	// information does not have them; then Words is their number.
	Members []Member
	Pieces  []Piece
}

// A Signature has the parameters of a function, and its result; Result is nil if there is
// none, or several.
type Signature struct {
	Params []Parameter
	Result *Parameter
	// Moved says that the parameters may not be in the registers that follow from their order,
	// since the caller may pass the address of the result before them.
	Moved bool
}

// Signatures reads the signatures of a program or library. The caller closes
// it.
type Signatures struct {
	store *dso.Store
	lines *lineInfo
	image *dso.Image // file with the debug information
	tree  *tree      // entries of the current unit
	locs  *locations // lists of the file itself; nil until they are needed
}

// OpenSignatures opens the debug information of the file at a path; nil if it has none.
func OpenSignatures(path string) *Signatures {
	store := dso.NewStore(dso.Options{})
	f, err := store.Open(nil, path)
	if err == nil {
		if l, _ := loadLines(store, f); l != nil && l.data != nil {
			if im, err := f.Image(); err == nil {
				dim, _ := debugFile(store, f, im).Image()
				return &Signatures{store: store, lines: l, image: dim}
			}
		}
	}
	_ = store.Close()
	return nil
}

// Close closes the file; nil does nothing.
func (s *Signatures) Close() error {
	if s == nil {
		return nil
	}
	return s.store.Close()
}

// Languages of units, DW_AT_language.
const (
	langGo   = 0x16
	langRust = 0x1c
)

// Of returns the signature of the function that begins at an address; nil if unknown.
func (s *Signatures) Of(addr uint64) *Signature {
	if s == nil {
		return nil
	}
	sig, err := s.read(addr)
	if err != nil {
		return nil
	}
	return sig
}

func (s *Signatures) read(addr uint64) (sig *Signature, err error) {
	defer guard(&err)
	off, ok := s.lines.unitOf(addr)
	if !ok {
		return nil, nil
	}
	s.tree = s.lines.tree(off)
	r := s.tree.data.Reader()
	r.Seek(s.tree.root)
	root, err := r.Next()
	if err != nil || root == nil {
		return nil, err
	}
	lang, _ := root.Val(dwarf.AttrLanguage).(int64)
	rust := lang == langRust // in Rust, types contain their functions
	for depth := 1; depth > 0; {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == dwarf.TagCompileUnit {
			return nil, err
		}
		switch {
		case e.Tag == 0:
			depth--
		case e.Tag == dwarf.TagSubprogram && addr != 0 && s.begins(e, addr):
			return s.signature(r, root, e, addr)
		case e.Tag == dwarf.TagSubprogram, !rust && (e.Tag == dwarf.TagStructType ||
			e.Tag == dwarf.TagEnumerationType || e.Tag == dwarf.TagUnionType):
			r.SkipChildren()
		case e.Children:
			depth++ // a namespace, or a class that contains its functions
		}
	}
	return nil, nil
}

// begins reports that the function of an entry begins at an address. If its rarely run code is
// elsewhere, the first of its ranges counts.
func (s *Signatures) begins(e *dwarf.Entry, addr uint64) bool {
	if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok && low == addr {
		return true
	}
	if e.Val(dwarf.AttrRanges) == nil {
		return false
	}
	ranges, err := s.tree.ranges(e)
	return err == nil && len(ranges) > 0 && ranges[0][0] == addr
}

// unitOf returns the unit of the code at an address.
func (l *lineInfo) unitOf(addr uint64) (dwarf.Offset, bool) {
	for i := range l.spans {
		if s := &l.spans[i]; addr >= s.lo && addr < s.hi {
			return s.unit, true
		}
	}
	return 0, false
}

// signature reads the parameters below the entry of a function.
func (s *Signatures) signature(r *dwarf.Reader, root, fn *dwarf.Entry, addr uint64) (*Signature, error) {
	lang, _ := root.Val(dwarf.AttrLanguage).(int64)
	sig := &Signature{}
	results := 0
	if t, ok := s.attr(fn, dwarf.AttrType).(dwarf.Offset); ok {
		if p, ok := s.parameter("result", t, lang); ok {
			results++
			sig.Result = &p
		}
	}
	if sig.Result != nil && sig.Result.Words != 1 && sig.Result.Words != 0 && lang != langGo {
		sig.Moved = true
	}
	if sig.Result != nil && (sig.Result.Words != 1 || len(sig.Result.Members) > 0) {
		sig.Result = nil // a structure is not a number, although it may be in one register
	}
	if !fn.Children {
		return sig, nil
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			break
		}
		if e.Tag == dwarf.TagFormalParameter {
			name, _ := s.attr(e, dwarf.AttrName).(string)
			t, ok := s.attr(e, dwarf.AttrType).(dwarf.Offset)
			if !ok {
				break
			}
			p, ok := s.parameter(name, t, lang)
			if !ok {
				break
			}
			if lang != langGo { // only Go's calling convention covers all parameters
				where := s.location(root, e, addr)
				p.Reg, p.Pieces = registerOf(where), piecesOf(where)
			}
			if is, _ := e.Val(dwarf.AttrVarParam).(bool); is { // a result of Go
				if results++; results == 1 && p.Words == 1 {
					p.Name = "result"
					sig.Result = &p
				} else {
					sig.Result = nil
				}
				continue
			}
			sig.Params = append(sig.Params, p)
		}
		if e.Children {
			r.SkipChildren()
		}
	}
	return sig, nil
}

// attr returns an attribute of an entry, or of the entry of which it is a copy.
func (s *Signatures) attr(e *dwarf.Entry, a dwarf.Attr) any {
	for range 8 {
		if v := e.Val(a); v != nil {
			return v
		}
		off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return nil
			}
		}
		r := s.tree.data.Reader()
		r.Seek(off)
		next, err := r.Next()
		if err != nil || next == nil {
			return nil
		}
		e = next
	}
	return nil
}

// parameter returns the facts about a parameter of a type; ok is false if the
// type is not supported.
func (s *Signatures) parameter(name string, off dwarf.Offset, lang int64) (p Parameter, ok bool) {
	named, err := s.tree.data.Type(off)
	if err != nil {
		return p, false
	}
	plain := plainType(named)
	if plain == nil {
		return p, false
	}
	p, ok = scalar(named, plain, lang)
	p.Name = name
	if t, is := plain.(*dwarf.StructType); is {
		p.Words = -1
		if lang != langGo {
			p.Members = membersOf(t, lang)
			p.Words = wordsOf(t, p.Members, lang)
		} else {
			p.Words = goWords(t, 0)
			p.Pointer = p.Words >= 2 && len(t.Field) > 1 && t.Field[1].Name == "len"
		}
	} else if !ok {
		p.Words = -1
	}
	return p, true
}

// scalar returns the facts about a parameter that is a number or an address; ok is
// false for other types.
func scalar(named, plain dwarf.Type, lang int64) (p Parameter, ok bool) {
	p = Parameter{Type: typeText(named, 0), Size: int(plain.Common().ByteSize), Words: 1, Reg: -1}
	switch t := plain.(type) {
	case *dwarf.PtrType:
		p.Pointer, p.Size = true, 8
		if lang != langGo && lang != langRust {
			p.Text = isChar(plainType(t.Type))
		}
	case *dwarf.IntType, *dwarf.CharType:
		p.Signed = true
	case *dwarf.UintType, *dwarf.UcharType, *dwarf.BoolType, *dwarf.AddrType:
	case *dwarf.EnumType:
		p.Signed = true
		p.Size = cmp.Or(p.Size, 4)
		p.Names = make(map[int64]string, len(t.Val))
		for _, v := range slices.Backward(t.Val) {
			p.Names[v.Val] = v.Name
		}
	case *dwarf.FloatType:
		p.Words = 0
	case *dwarf.FuncType:
		p.Pointer, p.Size = true, 8
	case *dwarf.UnsupportedType: // references
		p.Pointer, p.Size = true, 8
	default:
		return p, false
	}
	return p, p.Size >= 1 && p.Size <= 8 || p.Words == 0
}

// mostNames bounds the chain of typedefs and qualifiers of a type, which may be circular in
// damaged debug information.
const mostNames = 32

// plainType is a type without typedefs and qualifiers; nil if the chain does not end.
func plainType(t dwarf.Type) dwarf.Type {
	for range mostNames {
		switch x := t.(type) {
		case *dwarf.TypedefType:
			t = x.Type
		case *dwarf.QualType:
			t = x.Type
		default:
			return t
		}
	}
	return nil
}

// typeText is a type in C.
func typeText(t dwarf.Type, depth int) string {
	if depth > mostNames || t == nil {
		return "?"
	}
	switch x := t.(type) {
	case *dwarf.QualType:
		return x.Qual + " " + typeText(x.Type, depth+1)
	case *dwarf.PtrType:
		if _, ok := x.Type.(*dwarf.PtrType); ok {
			return typeText(x.Type, depth+1) + "*"
		}
		return typeText(x.Type, depth+1) + " *"
	case *dwarf.StructType:
		if x.Kind == "struct" || x.Kind == "union" {
			return x.Kind + " " + x.StructName
		}
		return x.StructName
	case *dwarf.EnumType:
		return "enum " + x.EnumName
	case *dwarf.VoidType:
		return "void"
	case *dwarf.ArrayType:
		return fmt.Sprintf("%s [%d]", typeText(x.Type, depth+1), max(x.Count, 0))
	}
	if name := t.Common().Name; name != "" {
		return name
	}
	return "?"
}

func isChar(t dwarf.Type) bool {
	switch x := t.(type) {
	case *dwarf.CharType, *dwarf.UcharType:
		return true
	case *dwarf.IntType:
		return x.Name == "char"
	}
	return false
}

// goWords is the number of registers that a Go structure takes; -1 if unknown.
func goWords(t *dwarf.StructType, depth int) int {
	if depth > 8 {
		return -1
	}
	n := 0
	for _, f := range t.Field {
		switch x := plainType(f.Type).(type) {
		case *dwarf.StructType:
			words := goWords(x, depth+1)
			if words < 0 {
				return -1
			}
			n += words
		case *dwarf.PtrType, *dwarf.IntType, *dwarf.UintType, *dwarf.CharType, *dwarf.UcharType,
			*dwarf.BoolType, *dwarf.AddrType, *dwarf.FuncType:
			n++
		case *dwarf.FloatType:
		default:
			return -1
		}
	}
	return n
}
