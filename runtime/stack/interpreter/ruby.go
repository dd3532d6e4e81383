package interpreter

import (
	"encoding/binary"
	"io"
	"math/bits"
	"regexp"
	"strings"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/result"
	"ppscript/runtime/stack/dso"
)

// This file supports Ruby 3.1 and 3.3 (CRuby), if the file has a symbol for the virtual machine;
// Debian's 3.3 does not. Offsets are from the headers vm_core.h, ractor_core.h, iseq.h.

var ruby = &language{
	name: "ruby",
	files: regexp.MustCompile(
		`(?:^|/)(?:libruby(?:-\d\.\d)?\.so[.\d]*|ruby(?:\d\.\d)?)(?: \(deleted\))?$`),
	carrier: rubyCarrier,
}

// A rubyLayout has the facts that differ between versions.
type rubyLayout struct {
	config interpreted.Config
	info   uint64 // offset of insns_info in an iseq's body
	short  uint64 // offset of the characters of texts stored in the object itself
	number bool   // the first line is a number, not an object
}

var rubyLayouts = map[string]rubyLayout{
	"3.1": {config: interpreted.Config{
		Search: interpreted.Search{Threads: 304, ThreadID: 80, Frame: 40},
		Frames: interpreted.Frames{Step: 64}}, info: 120, short: 16},
	"3.3": {config: interpreted.Config{
		Search: interpreted.Search{Threads: 256, Native: 1 + 40, ThreadID: 16, Frame: 48},
		Frames: interpreted.Frames{Step: 56}},
		info: 112, short: 24, number: true},
}

// Offsets that the versions share: in an iseq's body, and in objects.
const (
	rubySize     = 4 // size of its code in words
	rubyCode     = 8
	rubyLocation = 64 // path, base label, label, first line
	rubyFinish   = 0x20
	rubyString   = 0x05
	rubyArray    = 0x07
	rubyApart    = 1 << 13 // for a string: stored elsewhere; for an array: stored in the object
	rubyInfoSize = 12      // size of an entry of insns_info
)

func rubyCarrier(im *dso.Image, _ string) *carrier {
	of, ok := symbols(im, "ruby_current_vm_ptr", "rb_vm_exec", "ruby_version")
	if !ok {
		return nil
	}
	version := string(im.Bytes(of["ruby_version"].Value, 8))
	l, ok := rubyLayouts[version[:min(3, len(version))]]
	if !ok {
		return nil
	}
	c := l.config
	// The threads of the first ractor are a circular list.
	c.Head, c.First, c.NextThread = of["ruby_current_vm_ptr"].Value, 1+32, 0
	c.Holder, c.Stack = 1+16, 0
	c.Instr, c.Code, c.Body, c.Owner, c.Size = 0, 16, 1+16, 32, 40
	c.Entry, c.Mask, c.Strings = interpreted.PointerEntry, rubyFinish, rubyLocation
	return &carrier{config: c, eval: split(im, pieceOf(of["rb_vm_exec"])),
		reader: func(uint64) reader { return l.read }}
}

// A rubyFunction is the body of an iseq that was read.
type rubyFunction struct {
	name, file string
	code       uint64
	words      uint64
	first      int
	lines      []byte // entries of insns_info
	index      []byte // index from words of the code to these entries
}

func (l rubyLayout) read(mem io.ReaderAt, at, check uint64) (function, bool) {
	b := make([]byte, l.info+32)
	if _, err := mem.ReadAt(b, int64(at)); err != nil {
		return nil, false
	}
	word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	path, label := word(rubyLocation), word(rubyLocation+16)
	if interpreted.Check(path, word(rubyLocation+8), label) != check {
		return nil, false
	}
	f := &rubyFunction{code: word(rubyCode), words: uint64(binary.LittleEndian.Uint32(b[rubySize:]))}
	var ok1, ok2 bool
	f.name, ok1 = l.text(mem, label)
	f.file, ok2 = l.path(mem, path)
	f.first = int(int32(word(rubyLocation + 24)))
	if !l.number {
		f.first >>= 1
	}
	n := uint64(binary.LittleEndian.Uint32(b[l.info+16:]))
	f.lines = piece(mem, word(l.info), n*rubyInfoSize)
	if n > 1 {
		f.index = piece(mem, word(l.info+24), rubyIndexSize(f.words))
	}
	return f, ok1 && ok2 && f.name != "" && same(mem, at+rubyLocation, check)
}

// path reads the file name of an iseq: a text, or an array of two texts, of which
// the second is the absolute path.
func (l rubyLayout) path(mem io.ReaderAt, at uint64) (string, bool) {
	flags, ok := wordAt(mem, at)
	if !ok || flags&0x1f != rubyArray {
		return l.text(mem, at)
	}
	list := at + 16
	if flags&rubyApart == 0 {
		if list, ok = wordAt(mem, at+32); !ok {
			return "", false
		}
	}
	for _, i := range []uint64{8, 0} {
		if item, ok := wordAt(mem, list+i); ok {
			if text, ok := l.text(mem, item); ok {
				return text, true
			}
		}
	}
	return "", false
}

// text reads a String.
func (l rubyLayout) text(mem io.ReaderAt, at uint64) (string, bool) {
	flags, ok := wordAt(mem, at)
	if !ok || at&7 != 0 || flags&0x1f != rubyString {
		return "", false
	}
	n, _ := wordAt(mem, at+16)
	from := at + l.short
	if flags&rubyApart != 0 {
		if from, ok = wordAt(mem, at+24); !ok {
			return "", false
		}
	} else if l.short == 16 {
		n = flags >> 14 & 0x1f
	}
	text, ok := textAt(mem, from, n)
	return strings.ToValidUTF8(text, "?"), ok
}

func (r *rubyFunction) bytes() int {
	return len(r.name) + len(r.file) + len(r.lines) + len(r.index)
}

func (r *rubyFunction) frame(_ io.ReaderAt, f interpreted.Frame) result.Frame {
	shown := result.Frame{Symbol: r.name, DSO: r.file, File: r.file, Line: r.first}
	if at := (f.Instr&^interpreted.IsEntry - r.code) / 8; f.Instr != 0 && at <= r.words {
		// The position is the one of the next instruction, except at the begin.
		if line := r.line(max(at, 1) - 1); line > 0 {
			shown.Line = line
		}
	}
	return shown
}

// line returns the source line of a word of the code.
func (r *rubyFunction) line(at uint64) int {
	i := 1
	if len(r.lines) > rubyInfoSize {
		i = rubyRank(r.index, at)
	}
	if i < 1 || i*rubyInfoSize > len(r.lines) {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(r.lines[(i-1)*rubyInfoSize:])))
}

// An index gives the entry of each word of the code. For the first words it has numbers of 7 bits,
// 9 in a word. Then it has blocks of bits, each with the count of bits in earlier blocks and in its
// own parts.
const (
	rubyNumbers = 54
	rubyHead    = rubyNumbers / 9 * 8
	rubyBits    = 512
	rubyBlock   = 16 + rubyBits/8
)

func rubyIndexSize(words uint64) uint64 {
	if words <= rubyNumbers {
		return (words + 8) / 9 * 8
	}
	return rubyHead + (words-rubyNumbers+rubyBits-1)/rubyBits*rubyBlock
}

func rubyRank(index []byte, at uint64) int {
	le := binary.LittleEndian
	if at < rubyNumbers {
		if at/9*8+8 > uint64(len(index)) {
			return 0
		}
		return int(le.Uint64(index[at/9*8:]) >> (at % 9 * 7) & 0x7f)
	}
	at -= rubyNumbers
	block := rubyHead + at/rubyBits*rubyBlock
	if block+rubyBlock > uint64(len(index)) {
		return 0
	}
	b, in := index[block:], at%rubyBits
	n := int(le.Uint32(b))
	if part := in / 64; part > 0 {
		n += int(le.Uint64(b[8:]) >> (9 * (part - 1)) & 0x1ff)
	}
	return n + bits.OnesCount64(le.Uint64(b[16+in/64*8:])<<(63-in%64))
}
