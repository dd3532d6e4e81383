package probe

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

func TestDefinitionText(t *testing.T) {
	f := func(args string, m elf.Machine, formats []string, want string, skipped int) {
		t.Helper()
		n := Note{Provider: "lib-c", Name: "m.free", Offset: 0x10, SemOffset: 0x20, Args: args, machine: m}
		n.Operands = parseOperands(args, m, func(string) (uint64, bool) { return 0, false })
		d := n.definition("/lib/c.so", formats)
		if d.Text != want || len(d.Skipped) != skipped {
			t.Errorf("%s: got %q, skipped %v\nwant %q, %d skipped", args, d.Text, d.Skipped, want, skipped)
		}
	}
	const head = "p:lib_c/m_free /lib/c.so:0x10(0x20)"
	f("", elf.EM_X86_64, nil, head, 0)
	f("-4@%edi 8@-8(%rbp) 8@$5 2@(%rax)", elf.EM_X86_64, nil,
		head+` arg1=%di:s32 arg2=-8(%bp):u64 arg3=\5:u64 arg4=+0(%ax):u16`, 0)
	f("8@%r9 8@(%rax,%rsi,8) 8@x(%rip) 8f@%xmm0", elf.EM_X86_64, nil, head+` arg1=%r9:u64`, 3)
	f("8@%rsi 8@%rdi", elf.EM_X86_64, []string{"+0(%s):string", "size=%s:u32"},
		head+` arg1=+0(%si):string size=%di:u32`, 0)
	f("-4@w19 8@[sp, 12] 8@[x0] 8@42", elf.EM_AARCH64, nil,
		head+` arg1=%x19:s32 arg2=+12(%sp):u64 arg3=+0(%x0):u64 arg4=\42:u64`, 0)
}

func TestParseUSDT(t *testing.T) {
	f := func(text, name, file string, addr uint64, formats int) {
		t.Helper()
		got, err := ParseUSDT(text)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: got %+v, %v, want one probe", text, got, err)
			return
		}
		if c := got[0]; c.Spec.Name != name || c.Spec.File != file || c.Addr != addr ||
			len(c.Formats) != formats {
			t.Errorf("%s: got %+v, want %q %q %#x %d", text, c, name, file, addr, formats)
		}
	}
	f("/lib/c.so", "", "/lib/c.so", 0, 0)
	f("libc:free@/lib/c.so@0x40 +0(%s):string", "libc:free", "/lib/c.so", 0x40, 1)
	f("free@/lib/c.so", "free", "/lib/c.so", 0, 0)
	for _, bad := range []string{"", "a@b@c@d", "a@"} {
		if _, err := ParseUSDT(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
	got, err := ParseUSDT(`free@/lib/c.so +0(%s):string size=%s:u32 libc:x@/lib/d.so ` +
		`/lib/e.so \1 who=$comm:string libc:f@/lib/g=1.so`)
	var texts []string
	for _, c := range got {
		texts = append(texts, fmt.Sprintf("%s %s %d", c.Spec.Name, c.Spec.File, len(c.Formats)))
	}
	if want := "free /lib/c.so 2, libc:x /lib/d.so 0,  /lib/e.so 2, libc:f /lib/g=1.so 0"; err != nil ||
		strings.Join(texts, ", ") != want {
		t.Errorf("got %q, %v, want %q", texts, err, want)
	}
}

// TestAddDelete checks that Add makes a tracepoint of a probe, Delete takes exactly that away.
func TestAddDelete(t *testing.T) {
	const root = "/sys/kernel/tracing"
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	_, err := os.Stat(root + "/uprobe_events")
	testkit.Requires(t, testkit.Optional("uprobes in tracefs", err))
	bin := buildTarget(t)
	r := resolver(t)
	notes, defs, err := r.Definitions(Spec{File: bin, Name: "demo:*"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || notes[0].Line(bin, defs[0], false) != "demo:args@"+bin {
		t.Fatalf("got %v, want demo:args and demo:gate", notes)
	}
	if err := Add(root, defs); err != nil {
		t.Fatal(err)
	}
	if now := definitions(t, bin); strings.Count(now, "demo/args") == 0 ||
		strings.Count(now, "demo/gate") == 0 {
		t.Errorf("got %q, want both definitions", now)
	}
	if err := Add(root, defs); err == nil {
		t.Error("added again: got no error")
	}
	if err := Delete(root, defs); err != nil {
		t.Error(err)
	}
	if after := definitions(t, bin); after != "" {
		t.Errorf("got %q, want none", after)
	}
	if err := Delete(root, defs); err == nil {
		t.Error("deleted again: got no error")
	}
}
