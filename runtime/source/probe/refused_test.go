package probe

import (
	"debug/elf"
	"os/exec"
	"strings"
	"testing"

	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

func TestInstructionsThatMayBeRefused(t *testing.T) {
	f := func(m elf.Machine, want bool, code ...byte) {
		t.Helper()
		if got := mayBeRefused(m, append(code, make([]byte, x86MaxInstruction-len(code))...)); got != want {
			t.Errorf("% x: got %v, want %v", code, got, want)
		}
	}
	f(elf.EM_X86_64, true, 0xf0, 0xff, 0x05)             // lock incl
	f(elf.EM_X86_64, true, 0x66, 0x2e, 0x0f, 0x1f, 0x84) // cs nopw
	f(elf.EM_X86_64, true, 0xf4)                         // hlt
	f(elf.EM_X86_64, true, 0x0f, 0x0b)                   // ud2
	f(elf.EM_X86_64, true, 0xc5, 0xf9, 0x6e, 0xc6)       // vmovd, which strchr of glibc begins with
	f(elf.EM_X86_64, true, 0x62, 0xe2, 0x7d, 0x28, 0x7a) // vpbroadcastb
	f(elf.EM_X86_64, false, 0x55)                        // push %rbp
	f(elf.EM_X86_64, false, 0xf3, 0x0f, 0x1e, 0xfa)      // endbr64
	f(elf.EM_X86_64, false, 0x48, 0x83, 0xec, 0x08)      // sub $8,%rsp
	f(elf.EM_X86_64, false, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28)
	f(elf.EM_AARCH64, true, 0x00, 0x7c, 0x5f, 0xc8)  // ldxr
	f(elf.EM_AARCH64, false, 0xfd, 0x7b, 0xbf, 0xa9) // stp
}

// A function whose first instruction the kernel refuses is an error with its next one, which counts; among
// others that a pattern fits it is left out, with a note.
func TestRefusedInstructions(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	if hostMachine() != elf.EM_X86_64 {
		t.Skip("the program is of x86-64")
	}
	bin := compile(t, `#include <stdio.h>
int x;
__asm__(".text\n.globl f_lock\n.type f_lock,@function\nf_lock: lock incl x(%rip)\nnop\nret\n.size f_lock,.-f_lock\n");
void f_lock(void);
__attribute__((noinline)) void f_plain(void) { __asm__ volatile(""); }
int main(void) { puts("ready 0"); fflush(stdout); getchar();
	for (int i = 0; i < 4; i++) { f_lock(); f_plain(); } return 0; }`, "gcc", "-O1")
	_, err := resolver(t).Resolve(Spec{Kind: Uprobe, File: bin, Name: "f_lock"})
	if err == nil || !strings.Contains(err.Error(), "refuses probes of the instruction there") {
		t.Fatalf("got %v, want that the kernel refuses it", err)
	}
	if hint := diag.HintOf(err); !strings.Contains(hint, `"f_lock+0x7"`) {
		t.Errorf("got hint %q, want the next instruction", hint)
	}
	for name, notes := range map[string]string{"f_lock+0x7": "", "f_*": "left out"} {
		p := start(t, exec.Command(bin))
		probes := resolve(t, Spec{Kind: Uprobe, File: bin, Name: name})
		if got := probes[0].Note; got == "" != (notes == "") || !strings.Contains(got, notes) {
			t.Errorf("%s: got note %q, want %q", name, got, notes)
		}
		hits := record(t, probes, perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() {
			p.in.Write([]byte("\n"))
			p.out.ReadString(0) // until it ends
		}, nil)
		if len(hits) != 1 || hits[0] != 4 {
			t.Errorf("%s: got hits %v, want 4 of one probe", name, hits)
		}
	}
}
