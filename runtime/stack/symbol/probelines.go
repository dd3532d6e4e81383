package symbol

import (
	"cmp"
	"debug/dwarf"
	"slices"

	"ppscript/runtime/stack/dso"
)

// This file lists the source lines of a function, or of a file, at which code begins: there a probe can be
// put. It is the inverse of FindLine, which finds the code of one line.

// A Listing is a range of a source file.
type Listing struct {
	File        string // name of the source file from the compiler
	First, Last int
	Code        []int // the lines where code begins, in order
}

// FunctionLines lists the lines of the function [lo, hi) in the program or library at a path. Lines of
// functions that were inlined into it are left out, as they are elsewhere.
func FunctionLines(path string, lo, hi uint64) (*Listing, error) {
	return listing(path, func(l *lineInfo) (*Listing, error) {
		s := &lineListing{lo: lo, hi: hi}
		if l.golang != nil {
			s.golang(l)
			return s.result(), nil
		}
		off, ok := l.unitOf(lo)
		if !ok {
			return nil, ErrNoLines
		}
		err := s.unit(l, off)
		return s.result(), err
	})
}

// FileLines lists the lines first to last of a source file, given by its path or the end of its path.
func FileLines(path, source string, first, last int) (*Listing, error) {
	return listing(path, func(l *lineInfo) (*Listing, error) {
		s := &lineListing{hi: ^uint64(0), first: first, last: last, source: source}
		if l.golang != nil {
			s.golang(l)
		} else if err := l.eachUnit(s.unit); err != nil {
			return nil, err
		}
		r := s.result()
		if r == nil {
			return nil, &NoCode{}
		}
		r.First, r.Last = first, last
		return r, nil
	})
}

// listing opens the debug information of the file at a path.
func listing(path string, of func(l *lineInfo) (*Listing, error)) (*Listing, error) {
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	f, err := store.Open(nil, path)
	if err != nil {
		return nil, err
	}
	l, err := loadLines(store, f)
	if l == nil {
		return nil, cmp.Or(err, ErrNoLines)
	}
	r, err := of(l)
	if err == nil && r == nil {
		err = ErrNoLines
	}
	return r, err
}

// lineListing collects the lines.
type lineListing struct {
	lo, hi      uint64
	first, last int
	source      string // "" is the file of the first line
	file        string
	code        map[int]bool
}

func (s *lineListing) add(addr uint64, file string, line int) {
	if addr < s.lo || addr >= s.hi || line == 0 || s.last > 0 && (line < s.first || line > s.last) {
		return
	}
	switch {
	case s.file == "" && (s.source == "" || fits(file, s.source)):
		s.file = file
	case s.file != file:
		return
	}
	if s.code == nil {
		s.code = map[int]bool{}
	}
	s.code[line] = true
}

// unit adds the lines of a unit.
func (s *lineListing) unit(l *lineInfo, off dwarf.Offset) (err error) {
	defer guard(&err)
	lr, dir, err := l.lineTable(off)
	if err != nil {
		return nil // a damaged unit is left out, as in lines.go
	}
	var row dwarf.LineEntry
	for lr.Next(&row) == nil {
		if row.EndSequence || !row.IsStmt || row.File == nil {
			continue
		}
		inside := row.Address >= s.lo && row.Address < s.hi
		if s.source == "" && (!inside || l.functionAt(row.Address)[1] != 0) {
			continue
		}
		s.add(row.Address, absolute(dir, row.File.Name), row.Line)
	}
	return nil
}

// golang adds the lines of Go's own table. It has the code of a line, not the lines of code.
func (s *lineListing) golang(l *lineInfo) {
	if s.source == "" {
		file, line, fn := l.golang.PCToLine(s.lo)
		if fn == nil {
			return
		}
		s.add(s.lo, file, line)
		for pc := s.lo; pc < s.hi; pc++ {
			if file, line, _ := l.golang.PCToLine(pc); file == s.file {
				s.add(pc, file, line)
			}
		}
		return
	}
	for name := range l.golang.Files {
		if !fits(name, s.source) {
			continue
		}
		for line := s.first; line <= s.last; line++ {
			if pc, fn, err := l.golang.LineToPC(name, line); err == nil && fn != nil {
				s.add(pc, name, line)
			}
		}
	}
}

func (s *lineListing) result() *Listing {
	if len(s.code) == 0 {
		return nil
	}
	r := &Listing{File: s.file}
	for line := range s.code {
		r.Code = append(r.Code, line)
	}
	slices.Sort(r.Code)
	r.First, r.Last = r.Code[0], r.Code[len(r.Code)-1]
	return r
}
