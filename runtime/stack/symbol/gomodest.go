package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"ppscript/runtime/stack/dso"
)

// This file checks .gopclntab before debug/gosym reads it, which trusts it. gosym
// makes a string for each name, and in a malicious table the names can overlap, so
// that a MiB of them becomes a TiB. The formats are from Go 1.2, 1.16, 1.18 and
// 1.20.

// maxGoFuncs and maxGoFiles bound the memory of gosym for a table: 200 bytes
// for each function plus its name.
const (
	maxGoFuncs = 1 << 18
	maxGoFiles = 1 << 17
)

// A goTexts reads the names of a table.
type goTexts struct {
	order   binary.ByteOrder
	data    []byte
	word    int // size of an address in bytes
	records []byte
	funcs   []byte // pairs of a function's begin and the offset of its record
	half    int    // size of each half of a pair in bytes
	names   []byte
	total   uint64 // bytes of the names so far
}

// modestGoTable returns an error if the bytes are not such a table, or if it
// would need too much memory.
func modestGoTable(order binary.ByteOrder, data []byte) error {
	if len(data) < 8 || data[7] != 4 && data[7] != 8 {
		return errors.New("section .gopclntab: no header")
	}
	t := goTexts{order: order, data: data, word: int(data[7]), half: 4}
	funcs, files := t.header(0), t.header(1)
	old := false
	switch magic := order.Uint32(data); magic {
	case 0xfffffffb:
		old, t.half, files = true, t.word, 0
		t.names, t.records, t.funcs = data, data, data[min(8+t.word, len(data)):]
	case 0xfffffffa:
		t.names, t.funcs, t.half = t.part(2), t.part(6), t.word
		t.records = t.funcs
	case 0xfffffff0, 0xfffffff1:
		t.names, t.funcs = t.part(3), t.part(7)
		t.records = t.funcs
	default:
		return fmt.Errorf("section .gopclntab: version %#x is not known", magic)
	}
	each := 2 * t.half
	switch {
	case files > maxGoFiles:
		return &dso.TooLarge{Subject: "table of Go's files", Bytes: files, Most: maxGoFiles}
	case funcs > maxGoFuncs:
		return &dso.TooLarge{
			Subject: "table of Go's functions",
			Bytes:   funcs * uint64(each),
			Most:    uint64(maxGoFuncs * each),
		}
	case uint64(len(t.funcs)) < funcs*uint64(each)+uint64(t.half)+4:
		return errors.New("section .gopclntab: functions are not in it")
	}
	for i := range int(funcs) {
		rec := t.number(t.funcs[i*each+t.half:], t.half)
		if rec > uint64(len(t.records)) || uint64(len(t.records))-rec < uint64(t.half+4) {
			continue
		}
		if err := t.name(order.Uint32(t.records[int(rec)+t.half:])); err != nil {
			return err
		}
	}
	if old {
		return t.oldFiles(order.Uint32(t.funcs[int(funcs)*each+t.half:]))
	}
	return nil
}

// header returns a word of the header, after its first 8 bytes.
func (t *goTexts) header(i int) uint64 {
	at := 8 + i*t.word
	if at+t.word > len(t.data) {
		return 1 << 62
	}
	return t.number(t.data[at:], t.word)
}

func (t *goTexts) number(b []byte, size int) uint64 {
	if size == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

func (t *goTexts) part(i int) []byte { return t.data[min(t.header(i), uint64(len(t.data))):] }

// name adds the length of the name at an offset.
func (t *goTexts) name(at uint32) error {
	if uint64(at) >= uint64(len(t.names)) {
		return nil
	}
	text := t.names[at:]
	n := bytes.IndexByte(text[:min(len(text), maxName)], 0)
	if t.total += uint64(max(n, 0)); n < 0 || t.total > maxText {
		return &dso.TooLarge{Subject: "names of Go's functions", Bytes: uint64(len(t.names)), Most: maxText}
	}
	return nil
}

// oldFiles adds the lengths of the names of files in the format until Go 1.15.
func (t *goTexts) oldFiles(at uint32) error {
	if uint64(at)+4 > uint64(len(t.data)) {
		return errors.New("section .gopclntab: files are not in it")
	}
	list := t.data[at:]
	n := uint64(t.order.Uint32(list))
	if n > maxGoFiles {
		return &dso.TooLarge{Subject: "table of Go's files", Bytes: n, Most: maxGoFiles}
	}
	for i := uint64(1); i < n && 4*i+4 <= uint64(len(list)); i++ {
		if err := t.name(t.order.Uint32(list[4*i:])); err != nil {
			return err
		}
	}
	return nil
}
