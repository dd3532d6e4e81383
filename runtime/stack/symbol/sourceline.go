package symbol

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/stack/dso"
)

// This file finds the code of a source line, so that a probe can be put there.

// A Statement is the begin of the code of a source line: the lowest address in each function that
// has code of the line, and in each inlined copy of a function.
type Statement struct {
	Addr uint64 // address in the file's own tables
	File string // name of the source file from the compiler
}

// ErrNoLines is the reason if the file has no information about lines.
var ErrNoLines = errors.New("it has no debug information, which tells the lines")

// NoCode is the error for a line without code.
type NoCode struct {
	Files []string // source files that match the name, if none has code
	Near  []int    // nearest lines with code, before and after it
}

func (e *NoCode) Error() string {
	if len(e.Files) == 0 {
		return "no such source file"
	}
	text := "no code begins in that line"
	for i, line := range e.Near {
		text += [2]string{"; near it, some begins in line ", " and in line "}[min(i, 1)] + fmt.Sprint(line)
	}
	return text
}

// FindLine finds the code of a line in the program or library at a path, by its debug information,
// which may be in another file. The source file is given by its path or the end of its path.
func FindLine(path, source string, line int) ([]Statement, error) {
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	f, err := store.Open(nil, path)
	if err != nil {
		return nil, err
	}
	l, err := loadLines(store, f)
	var large *dso.TooLarge
	switch {
	case l != nil:
	case errors.As(err, &large) || errors.Is(err, dso.ErrExpired):
		return nil, err
	default:
		return nil, ErrNoLines
	}
	s := &lineSearch{source: source, line: line, found: map[[2]uint64]Statement{}}
	if l.golang != nil {
		s.golang(l)
	} else if err := l.eachUnit(s.unit); err != nil {
		return nil, err
	}
	return s.result()
}

// lineSearch looks for a line.
type lineSearch struct {
	source string
	line   int
	files  []string // files that match the name
	// found has the statements by function or inlined copy.
	found         map[[2]uint64]Statement
	before, after int // nearest lines with code; 0 means none
}

// fits reports that a source file has the name that the user gave: its path, or the end of its path.
func fits(file, source string) bool { return file == source || strings.HasSuffix(file, "/"+source) }

func (s *lineSearch) file(name string) {
	if !slices.Contains(s.files, name) {
		s.files = append(s.files, name)
	}
}

// near records that a matching file has code for a line.
func (s *lineSearch) near(line int) {
	switch {
	case line < s.line && line > s.before:
		s.before = line
	case line > s.line && (s.after == 0 || line < s.after):
		s.after = line
	}
}

func (s *lineSearch) add(of [2]uint64, st Statement) {
	if is, ok := s.found[of]; !ok || st.Addr < is.Addr {
		s.found[of] = st
	}
}

// unit searches the line table of a unit.
func (s *lineSearch) unit(l *lineInfo, off dwarf.Offset) (err error) {
	defer guard(&err)
	lr, dir, err := l.lineTable(off)
	if err != nil {
		return nil // a damaged unit is left out, as in lines.go
	}
	meant := map[*dwarf.LineFile]string{}
	for _, f := range lr.Files() {
		if f == nil {
			continue
		}
		if name := absolute(dir, f.Name); fits(name, s.source) || fits(f.Name, s.source) {
			meant[f] = name
		}
	}
	if len(meant) == 0 {
		return nil
	}
	var row dwarf.LineEntry
	for lr.Next(&row) == nil {
		name, ok := meant[row.File]
		if !ok || row.EndSequence || !row.IsStmt || row.Line == 0 {
			continue
		}
		s.file(name)
		if row.Line != s.line {
			s.near(row.Line)
			continue
		}
		s.add(l.functionAt(row.Address), Statement{row.Address, name})
	}
	return nil
}

// functionAt identifies the function and the inlined copy at an address: it returns the begin of
// the function, and the begin of the innermost inlined copy; 0 if unknown or none.
func (l *lineInfo) functionAt(addr uint64) (of [2]uint64) {
	u := l.unit(addr)
	if u == nil {
		return of
	}
	if !u.read {
		u.read = true
		if l.readFunctions(u) != nil {
			u.subs = nil
		}
	}
	for i := range u.subs {
		f := &u.subs[i]
		if addr < f.lo || addr >= f.hi {
			continue
		}
		of[0] = f.lo
		deepest := int32(-1)
		for j := range f.inlines {
			if in := &f.inlines[j]; addr >= in.lo && addr < in.hi && in.depth > deepest {
				of[1], deepest = in.lo, in.depth
			}
		}
		break
	}
	return of
}

// golang searches Go's own table, which programs have even without debug information.
func (s *lineSearch) golang(l *lineInfo) {
	for name := range l.golang.Files {
		if !fits(name, s.source) {
			continue
		}
		s.file(name)
		if pc, fn, err := l.golang.LineToPC(name, s.line); err == nil && fn != nil {
			s.add([2]uint64{fn.Entry}, Statement{pc, name})
		}
	}
}

func (s *lineSearch) result() ([]Statement, error) {
	slices.Sort(s.files)
	if len(s.found) == 0 {
		e := &NoCode{Files: s.files}
		for _, line := range []int{s.before, s.after} {
			if line > 0 {
				e.Near = append(e.Near, line)
			}
		}
		return nil, e
	}
	var list []Statement
	for _, st := range s.found {
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b Statement) int { return cmp.Compare(a.Addr, b.Addr) })
	return list, nil
}
