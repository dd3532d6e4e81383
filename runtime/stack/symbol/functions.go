package symbol

import (
	"cmp"
	"slices"

	"ppscript/runtime/stack/dso"
)

// This file lists the functions of a file for probes, which find them by name. Unlike a Table, the
// list has all names of an address.

// Functions lists the functions of an image by address; of several names, the one that stacks show
// is first. path is the path of the file, to find the debug file; "" does not search it. Tables
// that cannot be read are left out, since a stripped file has no symbols.
func Functions(im *dso.Image, path string) []Func {
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	b := builders.Get().(*builder)
	defer b.recycle()
	b.collect(im, func() *dso.Image {
		if path == "" {
			return nil
		}
		f, err := store.Open(nil, path)
		if err != nil {
			return nil
		}
		d := store.Debug(f)
		if d == nil {
			return nil
		}
		dim, _ := d.Image()
		return dim
	})
	return b.list()
}

// list sorts the added functions, and gives sizes to those without.
func (b *builder) list() []Func {
	b.sort()
	var fs []Func
	for from := 0; from < len(b.syms); {
		to, size, seen := from, uint32(0), len(fs)
		for ; to < len(b.syms) && b.syms[to].addr == b.syms[from].addr; to++ {
			size = max(size, b.syms[to].size)
		}
		if end := b.syms[from].end; size == 0 {
			if to < len(b.syms) {
				end = min(end, b.syms[to].addr)
			}
			size = bytes32(max(end, b.syms[from].addr) - b.syms[from].addr)
		}
		for i := from; i < to; i++ {
			s := &b.syms[i]
			name := string(b.text(s))
			at := slices.IndexFunc(fs[seen:], func(f Func) bool { return f.Name == name })
			if at >= 0 {
				fs[seen+at].Indirect = fs[seen+at].Indirect || s.indirect
				continue
			}
			fs = append(fs, Func{Name: name, Addr: s.addr, Size: uint64(cmp.Or(s.size, size)),
				Indirect: s.indirect, Label: s.label && s.size == 0})
		}
		from = to
	}
	return fs
}
