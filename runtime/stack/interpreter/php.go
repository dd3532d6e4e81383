package interpreter

import (
	"bytes"
	"encoding/binary"
	"io"
	"regexp"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/result"
	"ppscript/runtime/stack/dso"
)

// This file supports PHP 8.2 and 8.4, built without threads (NTS). Offsets are from the headers
// Zend/zend_compile.h and Zend/zend_globals.h.

var php = &language{
	name: "php",
	files: regexp.MustCompile(
		`(?:^|/)(?:lib)?php(?:-?(?:fpm|cgi|cli))?(?:8\.\d)?(?:\.so)?(?: \(deleted\))?$`),
	carrier: phpCarrier,
}

// phpLayout are offsets in a zend_op_array.
type phpLayout struct{ file, ops, count uint64 }

var phpLayouts = map[byte]phpLayout{
	'2': {file: 152, ops: 88, count: 80},
	'4': {file: 168, ops: 104, count: 96},
}

// Offsets that the versions share: in executor_globals, zend_execute_data, zend_function, zend_op.
const (
	phpCurrent  = 488
	phpName     = 8 // followed by scope and prototype
	phpOpLine   = 24
	phpOpSize   = 32
	phpCallsTop = 1 << 17 // ZEND_CALL_TOP
	phpInternal = 1       // the type of functions in C
)

// phpVersion matches the text with which PHP tells clients its version.
var phpVersion = []byte("X-Powered-By: PHP/8.")

func phpCarrier(im *dso.Image, _ string) *carrier {
	of, ok := symbols(im, "executor_globals", "execute_ex")
	if !ok {
		return nil // unsupported, or built with threads
	}
	constants, err := im.Data(".rodata")
	if err != nil {
		return nil
	}
	at := bytes.Index(constants, phpVersion)
	if at < 0 || at+len(phpVersion) >= len(constants) {
		return nil
	}
	l, ok := phpLayouts[constants[at+len(phpVersion)]]
	if !ok {
		return nil
	}
	return &carrier{
		config: interpreted.Config{
			Search: interpreted.Search{Start: interpreted.WordStart,
				Head: of["executor_globals"].Value + phpCurrent},
			Frames: interpreted.Frames{Code: 24, Previous: 48, Instr: 0, Size: 56, Strings: phpName,
				Entry: interpreted.BitsEntry, Owner: 40, Mask: phpCallsTop}},
		eval:   split(im, pieceOf(of["execute_ex"])),
		reader: func(uint64) reader { return l.read },
	}
}

// A phpFunction is a zend_function that was read.
type phpFunction struct {
	name, file string
	ops, end   uint64 // addresses of its instructions
}

func (l phpLayout) read(mem io.ReaderAt, at, check uint64) (function, bool) {
	b := make([]byte, l.file+8)
	if _, err := mem.ReadAt(b, int64(at)); err != nil {
		return nil, false
	}
	word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	f := &phpFunction{name: "{main}"} // code outside of functions has this name in PHP's own traces
	if interpreted.Check(word(phpName), word(phpName+8), word(phpName+16)) != check {
		return nil, false
	}
	ok := true
	if at := word(phpName); at != 0 {
		f.name, ok = phpText(mem, at)
	}
	if scope := word(phpName + 8); ok && scope != 0 {
		if at, named := wordAt(mem, scope+8); named {
			if class, named := phpText(mem, at); named && class != "" {
				f.name = class + "::" + f.name
			}
		}
	}
	if b[0] != phpInternal {
		var known bool
		f.file, known = phpText(mem, word(l.file))
		ok = ok && known
		f.ops = word(l.ops)
		f.end = f.ops + phpOpSize*uint64(binary.LittleEndian.Uint32(b[l.count:]))
	}
	return f, ok && f.name != "" && same(mem, at+phpName, check)
}

// phpText reads a zend_string.
func phpText(mem io.ReaderAt, at uint64) (string, bool) {
	n, ok := wordAt(mem, at+16)
	if !ok {
		return "", false
	}
	return textAt(mem, at+24, n)
}

func (p *phpFunction) bytes() int { return len(p.name) + len(p.file) }

// frame returns the frame, without a file if the function is written in C.
func (p *phpFunction) frame(mem io.ReaderAt, f interpreted.Frame) result.Frame {
	shown := result.Frame{Symbol: p.name, DSO: p.file, File: p.file}
	if p.file == "" {
		shown.DSO = result.UnknownFunction("php")
		return shown
	}
	instr := f.Instr &^ interpreted.IsEntry
	var b [4]byte
	if instr >= p.ops && instr < p.end && (instr-p.ops)%phpOpSize == 0 {
		if _, err := mem.ReadAt(b[:], int64(instr+phpOpLine)); err == nil {
			shown.Line = int(binary.LittleEndian.Uint32(b[:]))
		}
	}
	return shown
}
