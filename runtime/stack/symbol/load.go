package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"

	"ppscript/runtime/stack/dso"
)

// This file decides where a file's functions are read. The full table is in the
// file itself, or in the separate debug file. A stripped file still has the
// functions that it exports, and may have two other tables: Fedora's
// .gnu_debugdata (MiniDebugInfo), an ELF file compressed with xz that has the
// names of the local functions, and Go's own table, which Go needs at run time.

// maxMini bounds the uncompressed size of .gnu_debugdata.
const maxMini = dso.MaxSection

// ReadTable reads all functions of f. store finds its debug file; nil does not
// search it. If some part is damaged, the other parts are still read; it
// returns an error if nothing can be read.
func ReadTable(store *dso.Store, f *dso.File) (*Table, error) {
	im, err := f.Image()
	if err != nil {
		return nil, err
	}
	t, err := readTable(im, func() *dso.Image {
		if store == nil {
			return nil
		}
		d := store.Debug(f)
		if d == nil {
			return nil
		}
		dim, _ := d.Image()
		return dim
	})
	store.Tell(f, err)
	if t == nil {
		return nil, err
	}
	return t, nil
}

// readTable reads the functions of an image; debug finds its debug file. The
// error is about functions that are missing in the table.
func readTable(im *dso.Image, debug func() *dso.Image) (*Table, error) {
	b := builders.Get().(*builder)
	defer b.recycle()
	err := b.collect(im, debug)
	if len(b.syms) == 0 && err != nil {
		return nil, err
	}
	return b.table(), err
}

// collect adds the functions of all tables of an image.
func (b *builder) collect(im *dso.Image, debug func() *dso.Image) error {
	var faults []error
	note := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	if im.HasSymbols() {
		note(b.elfSymbols(im, elf.SHT_SYMTAB))
	} else {
		if d := debug(); d != nil {
			note(b.elfSymbols(d, elf.SHT_SYMTAB))
		}
		if len(b.syms) == 0 {
			note(b.mini(im))
			note(b.goTable(im))
		}
	}
	note(b.elfSymbols(im, elf.SHT_DYNSYM))
	note(b.plt(im))
	return errors.Join(faults...)
}

// mini adds the functions of .gnu_debugdata.
func (b *builder) mini(im *dso.Image) error {
	data, err := im.Data(".gnu_debugdata")
	if err != nil {
		return nil // there is none
	}
	plain, err := unpackXZ(data)
	if err != nil {
		return fmt.Errorf("section .gnu_debugdata: %w", err)
	}
	inner, err := dso.ReadImage(bytes.NewReader(plain), int64(len(plain)))
	if err != nil {
		return err
	}
	return b.elfSymbols(inner, elf.SHT_SYMTAB)
}

// goTable adds the functions of a stripped Go program.
func (b *builder) goTable(im *dso.Image) error {
	lines, err := goLines(im)
	if lines == nil {
		return err
	}
	for i := range lines.Funcs {
		fn := &lines.Funcs[i]
		if fn.Name != "" && fn.End > fn.Entry {
			b.add([]byte(fn.Name), fn.Entry, fn.End-fn.Entry, fn.End, rankGlobal)
		}
	}
	return nil
}
