package outbox_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/latetext"
	"ppscript/runtime/record/sent"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

const (
	source    = 3 // the event whose texts are sent
	textsRoom = 8 + 2*(sent.TextHead+assembler.UserRoom)
)

// A call is a program that sends two texts of a call that begins, and the programs that send those later
// that were missing.
type call struct {
	t       *testing.T
	p       *bpftest.Program
	further map[string]*ebpf.Program
	late    latetext.Texts
}

// newCall makes the programs of a call whose texts are at two addresses.
func newCall(t *testing.T, addrs ...uintptr) *call {
	t.Helper()
	schema := &event.Schema{System: "syscalls", Name: "sys_enter_rename"}
	programs, maps := outbox.LateTexts([]outbox.LateCall{{Source: source, Schema: schema, Label: "rename",
		Texts: len(addrs)}}, nil)
	b := bpftest.Builder{Out: textsRoom}
	for _, m := range maps {
		b.Define(m.ID, m.Spec)
	}
	k := &call{t: t, further: map[string]*ebpf.Program{}}
	k.p = b.Build(t, func(c *assembler.Code, fail assembler.Label) {
		task := c.Alloc(8)
		c.Call(asm.FnGetCurrentPidTgid)
		c.Store(task, asm.R0)
		c.MapValue(asm.R7, bpftest.Output, 0)
		c.Emit(asm.Mov.Imm(asm.R5, 8))
		texts := outbox.Texts{Eval: &eval.Eval{Code: c, Fail: fail}, Most: textsRoom, Again: len(addrs),
			Task: task, Program: source}
		for _, at := range addrs {
			texts.Addrs = append(texts.Addrs, expr.NewInt(int64(at)))
		}
		texts.Add()
	})
	for _, p := range programs {
		ins := append(asm.Instructions(nil), p.Ins...)
		for _, m := range maps {
			if err := ins.AssociateMap(m.ID.String(), k.p.Map(m.ID)); err != nil {
				t.Fatal(err)
			}
		}
		made, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: p.Kind, License: "GPL", Instructions: ins})
		if err != nil {
			t.Fatalf("%s: %+v", p.Label, err)
		}
		t.Cleanup(func() { made.Close() })
		k.further[p.Label] = made
	}
	ring := k.p.Map(load.LateTextsMap.Of())
	if err := k.late.Open(ring.FD(), int(ring.MaxEntries())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.late.Close() })
	return k
}

// begin has the call begin, and returns the texts that were sent, with their NULs, by their addresses.
func (k *call) begin() map[uint64]string {
	k.t.Helper()
	out, ok := k.p.Run(nil)
	from, to := binary.NativeEndian.Uint32(out), binary.NativeEndian.Uint32(out[4:])
	if !ok || from != 8 || to < from || to > textsRoom {
		k.t.Fatalf("got texts from %d to %d, %t", from, to, ok)
	}
	texts := map[uint64]string{}
	for b := out[from:to]; len(b) > 0; {
		n := word(b, 8)
		texts[word(b, 0)] = string(b[sent.TextHead : sent.TextHead+n])
		b = b[sent.TextHead+(n+7)&^7:]
	}
	return texts
}

// ends runs the program of the end of calls, or that of an exec.
func (k *call) ends(label string) {
	k.t.Helper()
	p := k.further[label]
	if p == nil {
		k.t.Fatalf("no program %s", label)
	}
	if ret, err := p.Run(&ebpf.RunOptions{}); err != nil || ret != 1 {
		k.t.Fatalf("%s: got %d, %v, want 1, which lets others have the event", label, ret, err)
	}
}

// waiting is how many calls wait for texts.
func (k *call) waiting() (n uint64) {
	k.t.Helper()
	if err := k.p.Map(load.LateCountMap.Of()).Lookup(uint32(0), &n); err != nil {
		k.t.Fatal(err)
	}
	return n
}

// A text that is not in memory when its call begins has the number of the call in its place, and comes when
// the call ends; the other one is sent at once. Nothing waits then.
func TestMissingTextsComeLater(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	there := []byte("/etc/hosts\x00")
	at := uintptr(unsafe.Pointer(unsafe.SliceData(there)))
	missing := testkit.UntouchedTexts(t, 1, func(int) string { return "/etc/passwd" })[0]
	k := newCall(t, at, missing)
	k.ends("texts") // no call began
	if n := k.waiting(); n != 0 {
		t.Fatalf("got %d calls that wait, want none", n)
	}

	texts := k.begin()
	if texts[uint64(at)] != "/etc/hosts\x00" {
		t.Errorf("got %v, want the text that is there", texts)
	}
	number, ok := latetext.Number([]byte(texts[uint64(missing)]))
	if !ok || k.waiting() != 1 {
		t.Fatalf("got %v, %d calls that wait, want a number and 1", texts, k.waiting())
	}
	if testkit.Touch(t, missing) != '/' {
		t.Fatal("the file has another text")
	}
	k.ends("texts")
	key := latetext.Key{Number: number, Task: uint64(unix.Getpid())<<32 | uint64(unix.Gettid()),
		Addr: uint64(missing)}
	k.late.Drain()
	k.late.End()
	if text, ok := k.late.Text(key); !ok || string(text) != "/etc/passwd" {
		t.Errorf("got %q, %t, want the text of the end", text, ok)
	}
	if n := k.waiting(); n != 0 {
		t.Errorf("got %d calls that wait, want none", n)
	}
	if texts := k.begin(); texts[uint64(missing)] != "/etc/passwd\x00" || k.waiting() != 0 {
		t.Errorf("the next call: got %v, %d that wait, want the text, and none", texts, k.waiting())
	}
	runtime.KeepAlive(there)
}

// Where a call executed another program its texts are told to be missing for good, so that nobody waits.
func TestTextsOfOtherMemoryDoNotCome(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	missing := testkit.UntouchedTexts(t, 2, func(i int) string { return strings.Repeat("z", 5+i) })
	k := newCall(t, missing...)
	texts := k.begin()
	for _, at := range missing {
		if testkit.Touch(t, at) != 'z' {
			t.Fatal("the file has another text")
		}
	}
	k.ends("no texts")
	k.late.Drain()
	k.late.End()
	for _, at := range missing {
		number, ok := latetext.Number([]byte(texts[uint64(at)]))
		text, came := k.late.Text(latetext.Key{Number: number,
			Task: uint64(unix.Getpid())<<32 | uint64(unix.Gettid()), Addr: uint64(at)})
		if !ok || !came || string(text) != event.UserTextFault {
			t.Errorf("got number %t, %q, %t, want %s", ok, text, came, event.UserTextFault)
		}
	}
	if n := k.waiting(); n != 0 {
		t.Errorf("got %d calls that wait, want none", n)
	}
}
