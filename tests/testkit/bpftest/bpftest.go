// Package bpftest runs BPF programs from package assembler, for tests of the packages that
// generate them. The kernel's test command (BPF_PROG_TEST_RUN) calls the program, so no event of
// the machine is needed, and a run takes microseconds.
package bpftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/tests/testkit"
)

// Input and Output are the maps with the input and the output of a run: the program reads the bytes
// of the one and writes those of the other. Generated programs have fewer maps of this kind, so the
// numbers are free.
var (
	Input  = load.ScratchMap.Of(1000)
	Output = load.ScratchMap.Of(1001)
)

// A Body emits the code of a program, which jumps to fail or continues after its end. R6 is
// the program's context.
type Body func(c *assembler.Code, fail assembler.Label)

// A Program runs a body.
type Program struct {
	t       testing.TB
	maps    map[string]*ebpf.Map
	program *ebpf.Program
	in, out int
	spilled *Program // the second program of Spills
}

// A Builder has the sizes of the input and of the output, and the further maps of the body.
type Builder struct {
	In, Out int
	Maps    map[load.MapID]*ebpf.MapSpec
	// Spills adds a second program, which has its places in scratch memory instead of on the stack,
	// and must have the same output for the same input. It is for bodies that keep no state.
	Spills bool
}

// spillFrom is the size in bytes from which on places of the second program lie in scratch memory:
// all texts longer than one word do.
const spillFrom = 16

// Define adds a map.
func (b *Builder) Define(id load.MapID, m *ebpf.MapSpec) {
	if b.Maps == nil {
		b.Maps = map[load.MapID]*ebpf.MapSpec{}
	}
	b.Maps[id] = m
}

// Build loads the program of a body, until the test ends. It skips the test if the machine can
// run no program.
func (b *Builder) Build(t testing.TB, body Body) *Program {
	t.Helper()
	testkit.Requires(t, testkit.Programs, testkit.Sysfs)
	p := b.build(t, body, 0)
	if b.Spills {
		p.spilled = b.build(t, body, spillFrom)
	}
	return p
}

func (b *Builder) build(t testing.TB, body Body, spills int) *Program {
	t.Helper()
	c := assembler.New()
	c.Scratch, c.Spills = load.ScratchMap.Of(0), spills
	fail, end := c.Label(), c.Label()
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	c.FindScratch(fail)
	body(c, fail)
	c.Emit(asm.Mov.Imm(asm.R0, 1))
	c.GoTo(end)
	c.Place(fail)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.Place(end)
	c.Emit(asm.Return())
	ins := c.Finish()
	spec := &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{
			Input.String(): array(max(b.In, 8)), Output.String(): array(max(b.Out, 8)),
		},
		Programs: map[string]*ebpf.ProgramSpec{
			"body": {Type: ebpf.RawTracepoint, Instructions: ins, License: "GPL"},
		},
	}
	for id, m := range b.Maps {
		spec.Maps[id.String()] = m
	}
	if m := c.ScratchMap(); m != nil {
		spec.Maps[c.Scratch.String()] = m
	}
	for id, m := range assembler.Tables(ins) {
		spec.Maps[id.String()] = m
	}
	if err := rlimit.RemoveMemlock(); err != nil { // maps count as locked memory up to Linux 5.10
		t.Fatal(err)
	}
	loaded, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("load the program of a test: %+v", err)
	}
	t.Cleanup(loaded.Close)
	return &Program{t: t, maps: loaded.Maps, program: loaded.Programs["body"], in: b.In, out: b.Out}
}

func array(size int) *ebpf.MapSpec {
	return &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1}
}

// OnStack makes a body that has its input at a place of the stack, and leaves its output at
// another one. Both sizes are multiples of 8.
func (b *Builder) OnStack(t testing.TB, body func(c *assembler.Code, in, out int16,
	fail assembler.Label)) *Program {
	t.Helper()
	return b.Build(t, func(c *assembler.Code, fail assembler.Label) {
		in, out := c.Alloc(b.In), c.Alloc(b.Out)
		c.Zero(out, b.Out)
		c.MapValue(asm.R1, Input, 0)
		for i := int16(0); i < int16(b.In); i += 8 {
			c.Emit(asm.LoadMem(asm.R0, asm.R1, i, asm.DWord))
			c.Store(in+i, asm.R0)
		}
		body(c, in, out, fail)
		c.MapValue(asm.R1, Output, 0)
		for i := int16(0); i < int16(b.Out); i += 8 {
			c.Load(asm.R0, out+i)
			c.Emit(asm.StoreMem(asm.R1, i, asm.R0, asm.DWord))
		}
	})
}

// Run calls the program once with an input, which is padded with zeros to its size. ok is false
// if the program failed: then the output is zeros, or what it wrote to Output before.
func (p *Program) Run(in []byte) (out []byte, ok bool) {
	p.t.Helper()
	return p.run(in, nil)
}

// Context calls the program with a context of at most 12 arguments of a raw tracepoint.
func (p *Program) Context(args ...uint64) (out []uint64, ok bool) {
	p.t.Helper()
	b, ok := p.run(nil, append(Bytes(args...), make([]byte, 8*(12-len(args)))...))
	return wordsOf(b), ok
}

func (p *Program) run(in, context []byte) (out []byte, ok bool) {
	p.t.Helper()
	value := make([]byte, max(p.in, 8))
	copy(value, in)
	out = make([]byte, max(p.out, 8))
	err := errors.Join(p.Map(Input).Put(uint32(0), value), p.Map(Output).Put(uint32(0), out))
	if err != nil {
		p.t.Fatal(err)
	}
	opts := &ebpf.RunOptions{}
	if context != nil {
		opts.Context = context
	}
	ret, err := p.program.Run(opts)
	if err = errors.Join(err, p.Map(Output).Lookup(uint32(0), &out)); err != nil {
		p.t.Fatalf("run the program of a test: %v", err)
	}
	if p.spilled != nil {
		if other, ok := p.spilled.run(in, context); ok != (ret == 1) || !bytes.Equal(other, out[:p.out]) {
			p.t.Errorf("%q: got %q, %t with places in scratch memory, want %q, %t", in, other, ok,
				out[:p.out], ret == 1)
		}
	}
	return out[:p.out], ret == 1
}

// Words is Run with numbers as input and output.
func (p *Program) Words(in ...uint64) (out []uint64, ok bool) {
	p.t.Helper()
	b, ok := p.Run(Bytes(in...))
	return wordsOf(b), ok
}

func wordsOf(b []byte) (words []uint64) {
	for ; len(b) >= 8; b = b[8:] {
		words = append(words, binary.NativeEndian.Uint64(b))
	}
	return words
}

// Bytes converts words to bytes, in the byte order of programs.
func Bytes(words ...uint64) (b []byte) {
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// Text returns a text in the form that it has in the input.
func Text(s string, size int) []byte {
	b := make([]byte, size)
	copy(b[:size-1], s)
	return b
}

// Map returns a map of the program.
func (p *Program) Map(id load.MapID) *ebpf.Map {
	p.t.Helper()
	m := p.maps[id.String()]
	if m == nil {
		p.t.Fatalf("the program has no map %s", id)
	}
	return m
}

// Refused checks that f refuses to emit a program.
func Refused(t testing.TB, what string, f func(c *assembler.Code)) {
	t.Helper()
	defer func() {
		t.Helper()
		var no *assembler.Refusal
		if err, _ := recover().(error); !errors.As(err, &no) {
			t.Errorf("%s: got %v, want a refusal", what, err)
		}
	}()
	f(assembler.New())
}
