package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// TestReadKernelFile checks that Functions of a kernel's file are where the recording says that one
// of its symbols was; one address has the name that kallsyms gives it.
func TestReadKernelFile(t *testing.T) {
	testkit.Requires(t, testkit.GCC, testkit.AMD64)
	dir := t.TempDir()
	asm, file := filepath.Join(dir, "k.s"), filepath.Join(dir, "vmlinux")
	source := `.text
.globl _text, __alias, alias, weak
.weak weak
.type alias, @function
.type __alias, @function
_text: .skip 16
weak:
__alias:
alias: .skip 16
local: .skip 16
.data
.globl table
table: .quad 1
`
	if err := os.WriteFile(asm, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0xffffffff81000000,-e_text",
		"-o", file, asm)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const at = 0xffffffff9a200000
	k, err := ReadKernelFile(file, "_text", at)
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		at: "_text", at + 15: "_text", at + 16: "alias", at + 40: "local", at - 1: "", 0xffffffff81000000: "",
	} {
		if name, _, _, _, _ := k.Lookup(addr); name != want {
			t.Errorf("%x: got %q, want %q", addr, name, want)
		}
	}
	if _, ok := k.Address("table"); ok {
		t.Error("got a table of data, want functions alone")
	}
	for path, want := range map[string]string{
		file: "has no symbol _stext", asm: "bad magic", filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := ReadKernelFile(path, "_stext", at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// A kernel that was loaded elsewhere has its own functions there; where modules were is not known.
func TestKernelMoved(t *testing.T) {
	k := ParseKernel("ffffffff81000000 T _text\nffffffff81000010 t read\n" +
		"ffffffffc0000000 t probe\t[module]\n")
	moved, ok := k.Moved("_text", 0xffffffffa1000000)
	if !ok {
		t.Fatal("got no symbols, want them moved")
	}
	for addr, want := range map[uint64]string{
		0xffffffffa1000014: "read", 0xffffffff81000014: "", 0xffffffffc0000000: "", 0xffffffffe0000000: "",
	} {
		if name, _, _, _, _ := moved.Lookup(addr); name != want {
			t.Errorf("%x: got %q, want %q", addr, name, want)
		}
	}
	if name, _, _, _, _ := k.Lookup(0xffffffff81000014); name != "read" {
		t.Errorf("got %q from the kernel itself, want read", name)
	}
	if _, ok := k.Moved("_none", 1); ok {
		t.Error("got symbols by one that is not there, want none")
	}
}
