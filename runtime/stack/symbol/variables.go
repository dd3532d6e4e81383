package symbol

import "debug/dwarf"

// This file lists the variables that a program has at a place, by its debug information.

// A Variable is a parameter or a local variable.
type Variable struct{ Name, Type string }

// mostVariables bounds the variables of a place.
const mostVariables = 1 << 12

// Variables lists the parameters and local variables that have a value at an address, those of outer blocks
// first; ok is false if nothing is known of the function there.
func (s *Signatures) Variables(addr uint64) (list []Variable, ok bool) {
	if s == nil {
		return nil, false
	}
	if s.variables(addr, &list, &ok) != nil {
		return nil, false
	}
	return list, ok
}

func (s *Signatures) variables(addr uint64, list *[]Variable, ok *bool) (err error) {
	defer guard(&err)
	root, fn, r, err := s.function(addr)
	if fn == nil || err != nil {
		return err
	}
	*ok = true
	for depth := 1; fn.Children && depth > 0; {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		switch e.Tag {
		case 0:
			depth--
			continue
		case dwarf.TagFormalParameter, dwarf.TagVariable:
			if readable(s.location(root, e, addr)) && len(*list) < mostVariables {
				if v, known := s.variable(e); known {
					*list = append(*list, v)
				}
			}
		case dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			if !s.covers(e, addr) {
				r.SkipChildren()
				continue
			}
		}
		if e.Children {
			depth++
		}
	}
	return nil
}

// readable reports that a location can be read there: that is not so where only the caller may still have the
// value (DW_OP_entry_value, DW_OP_GNU_entry_value).
func readable(location []byte) bool {
	return len(location) > 0 && location[0] != 0xa3 && location[0] != 0xf3
}

// Declared returns the line in which the function at an address is declared; 0 if it is unknown.
func (s *Signatures) Declared(addr uint64) int {
	if s == nil {
		return 0
	}
	line, err := s.declared(addr)
	if err != nil {
		return 0
	}
	return line
}

func (s *Signatures) declared(addr uint64) (line int, err error) {
	defer guard(&err)
	_, fn, _, err := s.function(addr)
	if fn == nil || err != nil {
		return 0, err
	}
	n, _ := s.attr(fn, dwarf.AttrDeclLine).(int64)
	return int(n), nil
}

// function finds the entry of the function whose code includes an address, and its unit's first entry. The
// reader stands behind it. It is nil if there is none.
func (s *Signatures) function(addr uint64) (root, fn *dwarf.Entry, r *dwarf.Reader, err error) {
	off, found := s.lines.unitOf(addr)
	if !found {
		return nil, nil, nil, nil
	}
	s.tree = s.lines.tree(off)
	r = s.tree.data.Reader()
	r.Seek(s.tree.root)
	if root, err = r.Next(); err != nil || root == nil {
		return nil, nil, nil, err
	}
	for depth := 1; depth > 0; {
		e, err := r.Next()
		switch {
		case err != nil || e == nil || e.Tag == dwarf.TagCompileUnit:
			return nil, nil, nil, err
		case e.Tag == 0:
			depth--
		case e.Tag == dwarf.TagSubprogram && s.covers(e, addr):
			return root, e, r, nil
		case e.Tag == dwarf.TagSubprogram:
			r.SkipChildren()
		case e.Children:
			depth++ // a namespace, or a type that contains its functions
		}
	}
	return nil, nil, nil, nil
}

// covers reports that the code of an entry includes an address.
func (s *Signatures) covers(e *dwarf.Entry, addr uint64) bool {
	ranges, err := s.tree.ranges(e)
	if err != nil {
		return false
	}
	for _, r := range ranges[:min(len(ranges), maxParts)] {
		if addr >= r[0] && addr < r[1] {
			return true
		}
	}
	return false
}

func (s *Signatures) variable(e *dwarf.Entry) (v Variable, ok bool) {
	v.Name, _ = s.attr(e, dwarf.AttrName).(string)
	off, typed := s.attr(e, dwarf.AttrType).(dwarf.Offset)
	if v.Name == "" || !typed {
		return v, false
	}
	t, err := s.tree.data.Type(off)
	if err != nil {
		return v, false
	}
	v.Type = typeText(t, 0)
	return v, true
}
