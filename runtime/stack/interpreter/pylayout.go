package interpreter

import (
	"encoding/binary"
	"io"
	"regexp"
	"strconv"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/stack/dso"
)

// This file has the offsets in the structures of Python interpreters. From 3.13 on, an interpreter
// has a table of them at the begin of _PyRuntime. The offsets for earlier versions are from their
// headers (Include/cpython/*.h and Include/internal/*.h), for 64-bit machines. They do not change
// within a version 3.x.

// A layout has the offsets in the runtime, code objects and texts of one version of
// Python.
type layout struct {
	minor  int // the x of version 3.x
	head   uint64
	config interpreted.Config // without Head
	code   codeLayout
	text   textLayout
}

// codeLayout are offsets in a code object.
type codeLayout struct {
	first     uint64 // int: co_firstlineno
	strings   uint64 // co_filename; co_name follows it, and from 3.11 on co_qualname
	qualified bool
	lines     uint64 // co_linetable, co_lnotab
	begin     uint64 // co_code_adaptive; 0 if positions in code count from 0
}

// textLayout has the sizes of the two kinds of headers of texts, after which the
// characters follow.
type textLayout struct{ ascii, compact uint64 }

// Before 3.12 the header has a pointer to another form of the text.
var (
	oldText = textLayout{48, 72}
	newText = textLayout{40, 56}
)

// layouts are the layouts of versions without such a table, by the x of 3.x.
var layouts = map[int]layout{
	9: {
		head: 32,
		config: interpreted.Config{
			Search: interpreted.Search{Threads: 8, NextInterp: 0, NextThread: 8, ThreadID: 176, Frame: 24},
			Frames: interpreted.Frames{Code: 32, Previous: 24, Instr: 104, Owner: 116, Size: 120,
				Entry: interpreted.EachEntry}},
		code: codeLayout{first: 40, strings: 104, lines: 120},
		text: oldText,
	},
	10: {
		head: 32,
		config: interpreted.Config{
			Search: interpreted.Search{Threads: 8, NextInterp: 0, NextThread: 8, ThreadID: 176, Frame: 24},
			Frames: interpreted.Frames{Code: 32, Previous: 24, Instr: 96, Owner: 108, Size: 112,
				Entry: interpreted.EachEntry}},
		code: codeLayout{first: 40, strings: 104, lines: 120},
		text: oldText,
	},
	11: {
		head: 40,
		config: interpreted.Config{
			Search: interpreted.Search{Threads: 16, NextInterp: 0, NextThread: 8, ThreadID: 152,
				Frame: 56, Holder: 1 + 8},
			Frames: interpreted.Frames{Code: 32, Previous: 48, Instr: 56, Owner: 68, Size: 72,
				Entry: interpreted.OwnerEntry}},
		code: codeLayout{first: 72, strings: 112, qualified: true, lines: 136, begin: 184},
		text: oldText,
	},
	12: {
		head: 40,
		config: interpreted.Config{
			Search: interpreted.Search{Threads: 72, NextInterp: 0, NextThread: 8, ThreadID: 136,
				Frame: 56, Holder: 1 + 0},
			Frames: interpreted.Frames{Code: 0, Previous: 8, Instr: 56, Owner: 70, Size: 72,
				Entry: interpreted.FramesEntry}},
		code: codeLayout{first: 68, strings: 112, qualified: true, lines: 136, begin: 192},
		text: newText,
	},
}

// python is CPython 3.9 to 3.14.
var python = &language{name: "python", files: pythonFiles, carrier: pythonCarrier}

var pythonFiles = regexp.MustCompile(`(?:^|/)(?:lib)?python3\.(9|1[0-4])(?:\.so[.\d]*)?(?: \(deleted\))?$`)

func pythonCarrier(im *dso.Image, name string) *carrier {
	minor, err := strconv.Atoi(pythonFiles.FindStringSubmatch(name)[1])
	if err != nil {
		return nil
	}
	const evaluates = "_PyEval_EvalFrameDefault" // if it is missing, frames come last
	of, _ := symbols(im, "_PyRuntime", "PyCode_Type", evaluates)
	runtime, codeType := of["_PyRuntime"].Value, of["PyCode_Type"].Value
	if runtime == 0 || codeType == 0 {
		return nil
	}
	l, ok := layoutOf(minor, im.Bytes(runtime, debugSize))
	if !ok {
		return nil
	}
	c := &carrier{config: l.config, eval: split(im, pieceOf(of[evaluates]))}
	c.config.Head = runtime + l.head
	c.reader = func(by uint64) reader {
		return func(mem io.ReaderAt, at, check uint64) (function, bool) {
			code, ok := readCode(mem, &l, by+codeType, at, check)
			return &code, ok
		}
	}
	return c
}

// Offsets in struct _Py_DebugOffsets of Include/internal/pycore_debug_offsets.h, for the members
// that are read. Its parts grew between versions.
type debugLayout struct {
	nextInterp, threads                int
	nextThread, frame, threadID        int
	previous, executable, instr, owner int
	debugCode
}

type debugCode struct{ filename, name, qualname, linetable, first, adaptive int }

// debugSize is the number of bytes of it that are read.
const debugSize = 1024

// parts makes a debugLayout from the number of members of each part.
func parts(interp, thread, frame int) debugLayout {
	at := func(begin, i int) int { return begin + 8*i }
	i := 48 // after the cookie, the version, the flag of free threading, and three members about the runtime
	t := at(i, interp)
	f := at(t, thread)
	c := at(f, frame)
	return debugLayout{
		nextInterp: at(i, 2), threads: at(i, 3),
		nextThread: at(t, 2), frame: at(t, 4), threadID: at(t, 5),
		previous: at(f, 1), executable: at(f, 2), instr: at(f, 3), owner: at(f, 5),
		debugCode: debugCode{at(c, 1), at(c, 2), at(c, 3), at(c, 4), at(c, 5), at(c, 9)},
	}
}

// readLayout reads the layout from the table in an interpreter; false if there is none, or if its
// form is unknown.
func readLayout(minor int, b []byte) (l layout, ok bool) {
	var d debugLayout
	switch minor {
	case 13:
		d = parts(13, 9, 6)
	case 14:
		d = parts(16, 9, 8)
	default:
		return l, false
	}
	if len(b) < debugSize || string(b[:8]) != "xdebugpy" {
		return l, false
	}
	num := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	if v := num(8); v>>24 != 3 || int(v>>16&0xff) != minor || num(16) != 0 {
		return l, false // another version, or one without the global interpreter lock
	}
	l = layout{minor: minor, head: num(40), text: newText}
	l.config = interpreted.Config{
		Search: interpreted.Search{Threads: num(d.threads), NextInterp: num(d.nextInterp),
			NextThread: num(d.nextThread), ThreadID: num(d.threadID), Frame: num(d.frame)},
		Frames: interpreted.Frames{Code: num(d.executable), Previous: num(d.previous),
			Instr: num(d.instr), Owner: num(d.owner),
			Entry: interpreted.FramesEntry}}
	l.config.Size = max(l.config.Code, l.config.Previous, l.config.Instr, l.config.Owner&^7) + 8
	l.code = codeLayout{first: num(d.first), strings: num(d.filename), qualified: true,
		lines: num(d.linetable), begin: num(d.adaptive)}
	plausible := l.config.Size <= 120 &&
		num(d.name) == l.code.strings+8 && num(d.qualname) == l.code.strings+16 &&
		l.code.strings < 1<<10 && l.code.lines < 1<<10 && l.code.begin < 1<<10 && l.code.first < 1<<10 &&
		l.head < 1<<20 && l.config.Threads < 1<<20 && l.config.NextInterp < 1<<20 &&
		l.config.Frame < 1<<12 && l.config.ThreadID < 1<<12 && l.config.NextThread < 1<<12
	return l, plausible
}

// layoutOf returns the layout of a version; b is the begin of _PyRuntime.
func layoutOf(minor int, b []byte) (l layout, ok bool) {
	if minor >= 13 {
		l, ok = readLayout(minor, b)
	} else {
		l, ok = layouts[minor]
		l.minor = minor
	}
	l.config.Strings = l.code.strings
	return l, ok
}
