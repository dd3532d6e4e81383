package probe

import (
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// fakeRegisters answers for the registers of a sample: register n is 100*n+1,
// unless it is set.
type fakeRegisters map[uint8]uint64

func (r fakeRegisters) Member(_ *event.Event, f event.Member) (uint64, bool) {
	if f < event.MemberReg {
		return 0, false
	}
	n := uint8(f - event.MemberReg)
	if v, ok := r[n]; ok {
		return v, true
	}
	return 100*uint64(n) + 1, true
}
func (fakeRegisters) Callchain(*event.Event) []uint64 { return nil }

// UserStack starts at the stack pointer of amd64 or arm64, which the test
// sets to 0x1000: 8 bytes 0x1000, 0x1008, ...
func (fakeRegisters) UserStack(*event.Event) []byte {
	var b []byte
	for a := uint64(0x1000); a < 0x1100; a += 8 {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

func TestOperandValues(t *testing.T) {
	regs := fakeRegisters{
		0:       0x1122334455667788,
		1:       0xffffffffffffff80,
		amd64SP: 0x1000,
		amd64BP: 0x1040,
		arm64SP: 0x1000,
		arm64FP: 0x1080,
	}
	e := &event.Event{Stream: &event.Stream{Members: regs, Schema: &event.Schema{}}}
	f := func(m elf.Machine, text string, want int64) {
		t.Helper()
		ops := parseOperands(text, m, nil)
		if len(ops) != 1 || ops[0].Err != nil {
			t.Errorf("%s: got %+v, want one operand", text, ops)
			return
		}
		v, ok := ops[0].reader(m, 0)(e)
		if !ok || int64(v) != want {
			t.Errorf("%s: got %d %v, want %d", text, int64(v), ok, want)
		}
	}
	const x, a = elf.EM_X86_64, elf.EM_AARCH64
	f(x, "8@%rax", 0x1122334455667788)
	f(x, "4@%eax", 0x55667788)
	f(x, "2@%ax", 0x7788)
	f(x, "1@%al", 0x88)
	f(x, "-1@%al", -0x78)
	f(x, "1@%ah", 0x77)
	f(x, "-4@%ebx", -128)
	f(x, "8@%r8", 1601)
	f(x, "4@%r15d", 2301)
	f(x, "-8@$-5", -5)
	f(x, "1@$255", 255)
	f(x, "8@$0x10", 16)
	f(x, "8@24(%rsp)", 0x1018)
	f(x, "4@-8(%rbp)", 0x1038)
	f(x, "8@8+16(%rsp)", 0x1018)
	f(x, "%r8", 1601)
	f(a, "8@x2", 201)
	f(a, "-4@w1", -128)
	f(a, "4@wzr", 0)
	f(a, "-4@-7", -7)
	f(a, "8@#12", 12)
	f(a, "8@[sp, 16]", 0x1010)
	f(a, "8@[sp]", 0x1000)
	f(a, "2@[x29, -8]", 0x1078)
	f(a, "8@x30", 3001)
}

func TestOperandsNotUnderstood(t *testing.T) {
	f := func(m elf.Machine, text, want string) {
		t.Helper()
		for _, o := range parseOperands(text, m, func(string) (uint64, bool) { return 0, false }) {
			if o.Err == nil || !strings.Contains(o.Err.Error(), want) {
				t.Errorf("%s: got %v, want %q", text, o.Err, want)
			}
		}
	}
	f(elf.EM_X86_64, "8f@%xmm0", "floating point")
	f(elf.EM_X86_64, "3@%eax", "size")
	f(elf.EM_X86_64, "8@%mm1", "not sampled")
	f(elf.EM_X86_64, "8@nosuch(%rip)", "nosuch")
	f(elf.EM_X86_64, "8@%fs:0x10", "not understood")
	f(elf.EM_X86_64, "8@$99999999999999999999", "64 bits")
	f(elf.EM_AARCH64, "8@v0", "not sampled")
	f(elf.EM_AARCH64, "8@[x0, x1, sxtw 2]", "not understood")
	f(elf.EM_PPC64, "8@r3", "not known")
}

// Several operands, with blanks inside of them.
func TestOperandsSplit(t *testing.T) {
	ops := parseOperands(" -4@w19  8@[sp, 12] 8@[x0, x1, lsl 3] 1@5", elf.EM_AARCH64, nil)
	want := []string{"-4@w19", "8@[sp, 12]", "8@[x0, x1, lsl 3]", "1@5"}
	if len(ops) != len(want) {
		t.Fatalf("got %+v, want %d operands", ops, len(want))
	}
	for i, w := range want {
		if ops[i].Text != w || ops[i].Err != nil {
			t.Errorf("operand %d: got %q %v, want %q", i, ops[i].Text, ops[i].Err, w)
		}
	}
	if !ops[0].Signed || ops[0].Size != 4 || ops[2].scale != 3 || !ops[2].indx {
		t.Errorf("got %+v", ops)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	e := &event.Event{Stream: &event.Stream{Members: fakeRegisters(nil), Schema: &event.Schema{}}}
	b := newBuilder("usdt", "x", 8, 0, false)
	b.s.Fields = nil
	o := parseOperands("-4@%ebx", elf.EM_X86_64, nil)[0]
	b.number(event.Field{Name: "arg1", Size: 4, Signed: true}, o.reader(elf.EM_X86_64, 0))
	e.Stream.Schema = b.schema()
	f, _ := e.Stream.Schema.Field("arg1")
	fn, _ := e.Stream.Schema.Field("func")
	var v int64
	var name string
	if n := testing.AllocsPerRun(100, func() {
		v, _ = f.Int(e)
		name, _ = e.Stream.Schema.ArgText(e, int(fn.Member-event.MemberArg))
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	if v != 101 || name != "x" {
		t.Errorf("got %d %q, want 101 x", v, name)
	}
}

// For any text of a note, an operand has an error, or can be read and described.
func FuzzOperands(f *testing.F) {
	for _, seed := range []string{
		"-4@%edi 8@-8(%rbp)", "8@[sp, 12]", "8@(%rax,%rsi,8)", "@", "8@", "8@$", "4@x+8(%rip)", "-1@%",
		"8@[x0,x1,lsl 9]",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	e := &event.Event{Stream: &event.Stream{Members: fakeRegisters(nil), Schema: &event.Schema{}}}
	f.Fuzz(func(t *testing.T, args string, x86 bool) {
		m := elf.EM_AARCH64
		if x86 {
			m = elf.EM_X86_64
		}
		for _, o := range parseOperands(args, m, func(string) (uint64, bool) { return 8, true }) {
			if o.Err != nil {
				continue
			}
			if o.Size != 1 && o.Size != 2 && o.Size != 4 && o.Size != 8 {
				t.Errorf("%q: got size %d", o.Text, o.Size)
			}
			o.reader(m, 0)(e)
			for _, u := range o.uses(m) {
				if u >= event.MemberReg+33 {
					t.Errorf("%q: uses register %d", o.Text, u-event.MemberReg)
				}
			}
			o.fetch(m)
		}
	})
}
