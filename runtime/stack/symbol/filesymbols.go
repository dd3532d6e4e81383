package symbol

import (
	"errors"
	"strings"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/text/diag"
)

// FileSymbols finds the functions of a file by name. Several goroutines may use
// it only after the first Lookup.
type FileSymbols struct {
	Path  string
	funcs []Func
	image *dso.Image
	store *dso.Store
	names map[string][]int32 // by the linker's name and by the demangled name
}

// OpenFileSymbols reads the functions of an executable or library.
func OpenFileSymbols(path string) (*FileSymbols, error) {
	store := dso.NewStore(dso.Options{})
	f, err := store.Open(nil, path)
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
	return &FileSymbols{Path: path, funcs: Functions(im, path), image: im, store: store}, nil
}

// Close closes the file.
func (s *FileSymbols) Close() error { return s.store.Close() }

// Lookup finds a function by the linker's name or the language's name (Go's
// "pkg.(*T).Method", Rust's "krate::f", C++'s "ns::f"). It returns the file
// offset of the function's first byte, and its size. Of several functions it
// takes the one with the lowest address.
func (s *FileSymbols) Lookup(name string) (offset, size uint64, ok bool) {
	s.index()
	for _, i := range s.names[name] {
		if off, ok := s.image.Offset(s.funcs[i].Addr); ok {
			return off, s.funcs[i].Size, true
		}
	}
	return 0, 0, false
}

func (s *FileSymbols) index() {
	if s.names != nil {
		return
	}
	s.names = make(map[string][]int32, len(s.funcs))
	for i := range s.funcs {
		name := s.funcs[i].Name
		s.names[name] = append(s.names[name], int32(i))
		// The cold part of a function has the same name, but is never called.
		if plain := Demangle(name); plain != name && !strings.Contains(name, ".cold") &&
			!strings.Contains(name, ".part.") {
			s.names[plain] = append(s.names[plain], int32(i))
		}
	}
}
