package symbol

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"

	"ppscript/tests/testkit"
)

// small has aliases, a gap between modules, a symbol out of order, per-cpu
// offsets of an old kernel.
const small = `0000000000000000 A fixed_percpu_data
0000000000014240 A cpu_info
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t do_one_initcall
ffffffff81000200 T schedule
ffffffff82000ff0 D jiffies
ffffffffc0200000 t kvm_exit	[kvm]
ffffffffc0200100 t kvm_entry	[kvm]
ffffffffc0100000 t nf_hook	[nf_tables]
ffffffffc0300000 t bpf_prog_1 [bpf]
`

func parsed(t *testing.T, text string) *Kernel {
	t.Helper()
	k, err := parseKernel(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestLookup(t *testing.T) {
	k := parsed(t, small)
	f := func(addr uint64, want string) {
		t.Helper()
		name, off, size, module, ok := k.Lookup(addr)
		got := ""
		if ok {
			got = name + "+" + strconv.FormatUint(off, 16) + "/" + strconv.FormatUint(size, 16) + " " + module
		}
		if got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
	f(0, "")
	f(0x14250, "") // a user address, though the file has a smaller one
	f(0xffffffff80ffffff, "")
	f(0xffffffff81000000, "_stext+0/40 ") // the first of two names
	f(0xffffffff8100003f, "_stext+3f/40 ")
	f(0xffffffff81000040, "do_one_initcall+0/1c0 ")
	f(0xffffffff810001ff, "do_one_initcall+1bf/1c0 ")
	f(0xffffffff82000fff, "jiffies+f/10 ") // the last of the kernel ends with its page
	f(0xffffffff82001000, "")
	f(0xffffffffc0100010, "nf_hook+10/1000 nf_tables")
	f(0xffffffffc0101010, "") // between two modules
	f(0xffffffffc0200001, "kvm_exit+1/100 kvm")
	f(0xffffffffc0200fff, "kvm_entry+eff/f00 kvm")
	f(0xffffffffc0300abc, "bpf_prog_1+abc/1000 bpf")
	f(1<<64-1, "")
}

func TestForms(t *testing.T) {
	k := parsed(t, small)
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(string(k.AppendSymbol(nil, 0xffffffff81000048)), "do_one_initcall+0x8/0x1c0")
	f(string(k.AppendSymbol(nil, 0xffffffffc0200001)), "kvm_exit+0x1/0x100 [kvm]")
	f(string(k.AppendSymbol(nil, 0x1234)), "0x1234")
	f(k.Text(0xffffffff81000048), "do_one_initcall+0x8")
	f(k.Text(0xffffffff81000040), "do_one_initcall")
	f(k.Text(0x10), "0x10")
	name, off, size, ok := k.Ksym(0xffffffffc0200004)
	if name != "kvm_exit [kvm]" || off != 4 || size != 0x100 || !ok {
		t.Errorf("Ksym: got %q %d %d %v", name, off, size, ok)
	}
}

func TestLastPage(t *testing.T) {
	k := parsed(t, "fffffffffffffff0 t end\n")
	if _, off, size, _, ok := k.Lookup(1<<64 - 1); off != 15 || size != 16 || !ok {
		t.Errorf("got offset %d, size %d, %v; want 15, 16, true", off, size, ok)
	}
}

func TestAddress(t *testing.T) {
	k := parsed(t, small+"ffffffffc0300100 t kvm_exit\t[kvm_amd]\n")
	f := func(name string, want uint64) {
		t.Helper()
		got, ok := k.Address(name)
		if got != want || ok != (want != 0) {
			t.Errorf("%s: got %#x %v, want %#x", name, got, ok, want)
		}
	}
	f("_text", 0xffffffff81000000)
	f("kvm_exit", 0xffffffffc0200000)
	f("kvm_exit [kvm_amd]", 0xffffffffc0300100)
	f("cpu_info", 0)
	f("schedul", 0)
	f("", 0)
}

func TestHiddenAddresses(t *testing.T) {
	hidden := "0000000000000000 T _text\n0000000000000000 T schedule\t[x]\n"
	path := filepath.Join(t.TempDir(), "kallsyms")
	if err := os.WriteFile(path, []byte(hidden), 0o600); err != nil {
		t.Fatal(err)
	}
	k := NewKernel(path)
	if _, _, _, _, ok := k.Lookup(0xffffffff81000000); ok {
		t.Error("got a symbol, want none")
	}
	if _, ok := k.Address("_text"); ok {
		t.Error("got an address, want none")
	}
	if err := k.Err(); !errors.Is(err, errHidden) || !strings.Contains(diag.HintOf(err), "kptr_restrict") {
		t.Errorf("got error %v with hint %q, want hidden addresses and the setting", err, diag.HintOf(err))
	}
}

func TestMissingFile(t *testing.T) {
	k := NewKernel(filepath.Join(t.TempDir(), "none"))
	if _, _, _, _, ok := k.Lookup(0xffffffff81000000); ok {
		t.Error("got a symbol, want none")
	}
	if err := k.Err(); !errors.Is(err, os.ErrNotExist) || diag.HintOf(err) == "" {
		t.Errorf("got error %v with hint %q, want not-exist and a hint", err, diag.HintOf(err))
	}
}

func TestBadText(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := parseKernel(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got error %v, want %q", text, err, want)
		}
	}
	f("", "no symbols")
	f("hello\n", "line 1: got \"hello\", want ADDRESS TYPE NAME")
	f("ffffffff81000000 T a\nffffffff81000000\n", "line 2")
	f("ffffffff81000000 T \n", "want ADDRESS")
	f("fffffffff81000000 T a\n", "16 digits")
	f("ffffffff81000000 T a kvm\n", "[MODULE]")
	f("ffffffff81000000 T a []\n", "[MODULE]")
	f("ffffffff81000000 T "+strings.Repeat("x", maxLine)+"\n", "longer than")
	f("0000000000001000 A a\n", "no symbol has an address")
}

func TestLookUpDoesNotAllocate(t *testing.T) {
	k := parsed(t, small)
	buf := make([]byte, 0, 100)
	k.Text(0xffffffff81000048)
	n := testing.AllocsPerRun(100, func() {
		k.Lookup(0xffffffffc0200004)
		k.Ksym(0xffffffffc0200004)
		k.Text(0xffffffff81000048)
		buf = k.AppendSymbol(buf[:0], 0xffffffffc0200004)
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The running kernel: every symbol is found again, in little memory.
func TestRunningKernel(t *testing.T) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		testkit.Requires(t, testkit.Core("/proc/kallsyms", err))
	}
	defer f.Close()
	k := NewKernel("")
	before := heap()
	if errors.Is(k.Err(), errHidden) {
		testkit.Requires(t, testkit.Core("kernel addresses",
			errors.New("be root, or set kernel.kptr_restrict=0")))
	}
	if err := k.Err(); err != nil {
		t.Fatal(err)
	}
	if used := heap() - before; used > 80*uint64(k.Len()) {
		t.Errorf("got %d bytes for %d symbols, want at most 80 for each", used, k.Len())
	}
	lines, checked := bufio.NewScanner(f), 0
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		addr, err := strconv.ParseUint(w[0], 16, 64)
		if err != nil || addr < kernelHalf || strings.HasSuffix(lines.Text(), "[bpf]") {
			continue // BPF programs come and go between two readings
		}
		name, off, _, _, ok := k.Lookup(addr)
		if !ok || off != 0 {
			t.Fatalf("%s at %#x: got %q+%#x %v, want offset 0", w[2], addr, name, off, ok)
		}
		if checked++; checked%1000 == 0 {
			if got, ok := k.Address(name); !ok || got > addr {
				t.Errorf("%s: got address %#x %v, want at most %#x", name, got, ok, addr)
			}
		}
	}
	got := 0
	for i := range k.syms {
		if !strings.HasSuffix(k.text(&k.syms[i]), "[bpf]") {
			got++
		}
	}
	if checked != got {
		t.Errorf("got %d symbols, want the %d of the file", got, checked)
	}
}

func FuzzParseKernel(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("ffffffff81000000 T a"))
	f.Add([]byte("0000000000000000 T a\t[m]\r\n\r\n"))
	f.Add([]byte("ffffffffffffffff t z\nffffffff81000000 T \x00\xff\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := parseKernel(strings.NewReader(string(text)))
		if (k == nil) == (err == nil) {
			t.Fatalf("got %v and error %v, want one of them", k, err)
		}
		if err != nil {
			return
		}
		if (k.Len() == 0) != (k.Err() != nil) {
			t.Fatalf("got %d symbols and reason %v", k.Len(), k.Err())
		}
		for i := range k.syms {
			s := &k.syms[i]
			name, off, size, _, ok := k.Lookup(s.addr)
			if !ok || off != 0 || size == 0 || name == "" {
				t.Fatalf("%#x: got %q+%d/%d %v", s.addr, name, off, size, ok)
			}
			if at, ok := k.Address(k.text(s)); !ok || at > s.addr {
				t.Fatalf("%q: got address %#x %v, want at most %#x", k.text(s), at, ok, s.addr)
			}
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	k := NewKernel("")
	if k.Err() != nil {
		b.Skip(k.Err())
	}
	addr := k.syms[k.Len()/3].addr + 5
	b.ReportAllocs()
	for b.Loop() {
		k.Lookup(addr)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if k := NewKernel(""); k.Err() != nil {
			b.Skip(k.Err())
		}
	}
}

// Callers of one function are one row: its name has no offset, unless it is asked
// for.
func TestNameHasNoOffset(t *testing.T) {
	k, err := parseKernel(strings.NewReader(
		"ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff81000200 T end\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64][2]string{0xffffffff81000100: {"schedule", "schedule"},
		0xffffffff81000110: {"schedule", "schedule+0x10"},
		0x1234:             {"0x1234", "0x1234"}} {
		if name, text := k.Name(addr), k.Text(addr); name != want[0] || text != want[1] {
			t.Errorf("%#x: got %s and %s, want %v", addr, name, text, want)
		}
	}
}

// parseKernel reads a text in the form of /proc/kallsyms.
func parseKernel(r io.Reader) (*Kernel, error) {
	k := &Kernel{}
	if err := k.parse(r); err != nil {
		return nil, err
	}
	return k, nil
}
