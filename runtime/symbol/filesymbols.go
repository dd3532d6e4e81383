package symbol

import (
	"errors"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/dso"
)

// FileSymbols are the functions of a file by name, for probes. It may be used
// by several goroutines only after the first Lookup.
type FileSymbols struct {
	Path  string
	table *Table
	image *dso.Image
	store *dso.Store
	names map[string][]int32 // names as written, and demangled
}

// OpenFileSymbols reads the functions of an executable or library.
func OpenFileSymbols(path string) (*FileSymbols, error) { return openFileSymbolsIn(nil, path) }

// openFileSymbolsIn is OpenFileSymbols for a path below a process's root,
// which dso.Store.Root opens; nil is ours.
func openFileSymbolsIn(root *dso.Root, path string) (*FileSymbols, error) {
	store := dso.NewStore(dso.Options{})
	f, err := store.Open(root, path)
	if err != nil {
		return nil, &diag.Error{
			Op: "read symbols", Subject: path, Cause: errors.Unwrap(err), Class: diag.Attach,
		}
	}
	im, err := f.Image()
	if err != nil {
		store.Close()
		return nil, &diag.Error{Op: "read symbols", Subject: path, Cause: err, Class: diag.Attach}
	}
	t, err := ReadTable(store, f)
	if err != nil {
		store.Close()
		return nil, &diag.Error{Op: "read symbols", Subject: path, Cause: err, Class: diag.Attach}
	}
	return &FileSymbols{Path: path, table: t, image: im, store: store}, nil
}

// Close closes the file.
func (s *FileSymbols) Close() error { return s.store.Close() }

// Len is the number of functions, At one of them, by address.
func (s *FileSymbols) Len() int      { return s.table.Len() }
func (s *FileSymbols) At(i int) Func { return s.table.At(i) }

// Lookup finds a function by its name, as the linker writes it or as the
// language does (Go's "pkg.(*T).Method", Rust's "krate::f", C++'s "ns::f"):
// the file offset of its first byte, and its size. Of several it is the one
// with the lowest address; All returns them all.
func (s *FileSymbols) Lookup(name string) (offset, size uint64, ok bool) {
	for _, f := range s.All(name) {
		if off, ok := s.image.Offset(f.Addr); ok {
			return off, f.Size, true
		}
	}
	return 0, 0, false
}

// All returns every function of that name.
func (s *FileSymbols) All(name string) []Func {
	s.index()
	var fs []Func
	for _, i := range s.names[name] {
		fs = append(fs, s.table.At(int(i)))
	}
	return fs
}

func (s *FileSymbols) index() {
	if s.names != nil {
		return
	}
	s.names = make(map[string][]int32, s.table.Len())
	for i := range s.table.Len() {
		name := string(s.table.nameOf(i))
		s.names[name] = append(s.names[name], int32(i))
		// The cold part of a function has its name, but nobody calls it.
		if plain := Demangle(name); plain != name && !strings.Contains(name, ".cold") &&
			!strings.Contains(name, ".part.") {
			s.names[plain] = append(s.names[plain], int32(i))
		}
	}
}
