package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// kernelOfDeferred is the build-id of the kernel of tests/data/deferred.data, and kernelBase is
// the address of its _text.
const (
	kernelOfDeferred = "1fe9968467f2755292a45806719b9bba136b0cc8"
	kernelBase       = 0xffffffffb8e00000
	linkedBase       = 0xffffffff81000000
)

// deferredAddresses returns the kernel addresses in the stacks of deferred.txt.
func deferredAddresses(t *testing.T) (list []uint64) {
	t.Helper()
	text, err := os.ReadFile("../data/deferred.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var addr uint64
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "%x", &addr); err == nil && addr >= kernelBase {
			list = append(list, addr)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// vmlinux builds a kernel file with a function for each block of 64 bytes that contains one of the
// addresses. The number of the block is the function's name.
func vmlinux(t *testing.T, dir string, addresses []uint64) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC, testkit.AMD64)
	var source strings.Builder
	source.WriteString(".text\n.globl _text\n_text:\n")
	last := uint64(0)
	for _, a := range addresses {
		if at := (a - kernelBase) &^ 63; at > last {
			fmt.Fprintf(&source, ".org %#x\n.globl f%x\n.type f%x, @function\nf%x:\n", at, at, at, at)
			last = at
		}
	}
	source.WriteString("nop\n.skip 63\n") // an instruction, which has debug information
	asm, out := filepath.Join(dir, "kernel.s"), filepath.Join(dir, "some.file")
	if err := os.WriteFile(asm, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	link := fmt.Sprintf("-Wl,-Ttext=%#x,--build-id=0x%s,-e_text", uint64(linkedBase), kernelOfDeferred)
	testkit.Run(t, "gcc", "-g", "-nostdlib", "-static", "-no-pie", link, "-o", out, asm).Want(t, 0)
	return out
}

// Functions of the kernel of another machine's recording have names from its file, in a directory
// or on a server, independent of the address at which that kernel was loaded.
func TestKernelOfAnotherMachine(t *testing.T) {
	addresses := deferredAddresses(t)
	dir := t.TempDir()
	vmlinux(t, dir, addresses)
	home := t.TempDir()
	ppscript := testkit.PPScript(t)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	url := serve(t, program{id: kernelOfDeferred}, "debuginfo", dir)
	args := []string{ppscript, "profile", "--input", "../data/deferred.data", "-g", "--top", "100"}
	for name, from := range map[string][]string{
		"directory": {"--symbols-from", dir}, "server": {"--debuginfod", url}, "nowhere": nil,
	} {
		t.Run(name, func(t *testing.T) {
			out := testkit.Run(t, with(args, from...)...).Want(t, 0)
			if told := strings.Contains(out.Stderr, "--symbols-from DIR"); told != (from == nil) {
				t.Errorf("got %q, want a word about where names are: %t", out.Stderr, from == nil)
			}
			seen := 0
			for line := range strings.Lines(out.Stdout) {
				words := strings.Fields(line)
				var addr uint64
				if len(words) < 2 || !strings.Contains(line, "[kernel.kallsyms]") {
					continue
				}
				if _, err := fmt.Sscanf(words[0], "%x", &addr); err != nil {
					t.Fatal(err)
				}
				seen++
				off := addr - kernelBase
				want := fmt.Sprintf("f%x+%#x", off&^63, off&63)
				if from == nil {
					want = "Unknown+0x0"
				} else if off&63 == 0 {
					// The return address of a call may be the first byte after a
					// function.
					continue
				}
				if words[1] != want {
					t.Errorf("%x: got %s, want %s", addr, words[1], want)
				}
			}
			if seen < 50 || len(addresses) < 50 {
				t.Errorf("got %d addresses of %d in results, want more", seen, len(addresses))
			}
		})
	}
}
