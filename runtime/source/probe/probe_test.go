package probe

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

func TestReturnOffsets(t *testing.T) {
	// endbr64; mov $0xc3,%eax (an immediate like RET); ret; nop; ret $8; data
	x86 := []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0xc3, 0, 0, 0, 0xc3, 0x90, 0xc2, 8, 0}
	got, err := returnOffsets(elf.EM_X86_64, x86)
	if err != nil || !slices.Equal(got, []uint64{9, 11}) {
		t.Errorf("x86: got %v %v, want 9 and 11", got, err)
	}
	arm := []byte{0x20, 0, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6, 0xff, 0x0b, 0x5f, 0xd6, 0, 0, 0, 0}
	got, err = returnOffsets(elf.EM_AARCH64, arm)
	if err != nil || !slices.Equal(got, []uint64{4, 8}) {
		t.Errorf("arm64: got %v %v, want 4 and 8", got, err)
	}
	if before, ok, err := isBoundary(elf.EM_X86_64, x86, 6); ok || before != 4 || err != nil {
		t.Errorf("offset 6: got %d %v %v, want inside the instruction at 4", before, ok, err)
	}
	if _, ok, _ := isBoundary(elf.EM_X86_64, x86, 9); !ok {
		t.Error("offset 9: got none, want an instruction")
	}
	if _, err := returnOffsets(elf.EM_PPC64, arm); err == nil {
		t.Error("unknown machine: got no error")
	}
}

func TestDeclarations(t *testing.T) {
	f := func(text string, named bool, want decl) {
		t.Helper()
		got, err := parseDecl(text, named)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v %v, want %+v", text, got, err, want)
		}
	}
	f("int fd", true, decl{typ: "int", name: "fd", size: 4, signed: true})
	f(" const char *path ", true, decl{typ: "char *", name: "path", size: 8, text: true})
	f("char*path", true, decl{typ: "char *", name: "path", size: 8, text: true})
	f("unsigned long n", true, decl{typ: "unsigned long", name: "n", size: 8})
	f("struct file *f", true, decl{typ: "file *", name: "f", size: 8, ptr: true})
	f("char **argv", true, decl{typ: "char **", name: "argv", size: 8, ptr: true})
	f("ssize_t", false, decl{typ: "ssize_t", size: 8, signed: true})
	for _, bad := range []string{"", "fd", "int 3", "struct file f", "itn x"} {
		if _, err := parseDecl(bad, true); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestParseBreakpoint(t *testing.T) {
	f := func(text, name string, size int, access string) {
		t.Helper()
		s, err := ParseBreakpoint(text)
		if err != nil || s.Name != name || s.Len != size || s.Access != access {
			t.Errorf("%s: got %+v %v, want %s %d %s", text, s, err, name, size, access)
		}
	}
	f("0xffffffffc2cc004a/1:rw", "0xffffffffc2cc004a", 1, "rw")
	f("ffffffffc2cc004a/4", "0xffffffffc2cc004a", 4, "")
	f("jiffies:w", "jiffies", 0, "w")
	f("0x404040", "0x404040", 0, "")
	for _, bad := range []string{"", "/8:w", "0x10/x"} {
		if _, err := ParseBreakpoint(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestBreakpointRefusals(t *testing.T) {
	f := func(s Spec, want string) {
		t.Helper()
		s.Kind = Breakpoint
		_, err := resolver(t).Resolve(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", s, err, want)
		} else if diag.HintOf(err) == "" {
			t.Errorf("%+v: got no hint", s)
		}
	}
	f(Spec{Name: "0x1001", Len: 4}, "not a multiple")
	f(Spec{Name: "0x1000", Len: 3}, "want 1, 2, 4 or 8")
	f(Spec{Name: "0x1000", Access: "wx"}, "one breakpoint")
	f(Spec{Name: "0x1000", Access: "q"}, "want w, rw, r or x")
	f(Spec{Name: "0x0"}, "got 0")
	f(Spec{Name: "0x1000000000000000"}, "no address")
	f(Spec{Name: "0x1000", Len: 2, Access: "x"}, "for execution")
	f(Spec{Name: "nosuchsymbol"}, "symbols are not known")
	if hostMachine() == elf.EM_X86_64 {
		f(Spec{Name: "0x1000", Access: "r"}, "reads alone")
	}
}

// A tree of event sources without kprobes, as on small kernels.
func TestNoKprobes(t *testing.T) {
	r := resolver(t)
	r.Devices = t.TempDir()
	for _, k := range []Kind{Kprobe, Kretprobe, Uprobe, USDT} {
		_, err := r.Resolve(Spec{Kind: k, Name: "f", File: "/bin/true"})
		var u *diag.Unsupported
		if !errors.As(err, &u) || diag.HintOf(err) == "" {
			t.Errorf("%s: got %v, want what is missing and a hint", k, err)
		}
	}
}

func TestUserRefusals(t *testing.T) {
	r := resolver(t)
	r.Devices = t.TempDir()
	if err := os.MkdirAll(filepath.Join(r.Devices, "uprobe"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Devices, "uprobe/type"), []byte("9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := func(s Spec, want string) {
		t.Helper()
		_, err := r.Resolve(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", s, err, want)
		} else if diag.HintOf(err) == "" {
			t.Errorf("%+v: got no hint", s)
		}
	}
	f(Spec{Kind: Uprobe, File: "/nonexist/x", Name: "f"}, "no such file")
	f(Spec{Kind: Uprobe, File: "/", Name: "f"}, "not a regular file")
	f(Spec{Kind: Uprobe, File: "/etc/passwd", Name: "f"}, "not an ELF file")
	f(Spec{Kind: Uprobe, File: "nosuchprogram", Name: "f"}, "no program or library")
	f(Spec{Kind: Uprobe, Name: "f"}, "no file given")
	f(Spec{Kind: Uprobe, Name: "f", PID: 1 << 30}, "no process")
	f(Spec{Kind: Uprobe, File: exe, Name: "main.mian"}, "did you mean main.main?")
	f(Spec{Kind: Uprobe, File: exe, Name: "main.main+0xfffff"}, "bytes")
	f(Spec{Kind: Uprobe, File: exe, Name: "0x1"}, "not in executable code")
	f(Spec{Kind: Uprobe, File: exe, Name: "+0xffffffff"}, "not in executable code")
	f(Spec{Kind: Uprobe, File: exe, Name: "runtime.*"}, "want at most 100")
	f(Spec{Kind: Uprobe, File: exe, Name: "nosuch.*"}, "no function matches")
	f(Spec{Kind: Uretprobe, File: exe, Name: "main.main+0x4"}, "from its start")
	f(Spec{Kind: USDT, File: exe, Name: "x"}, "no USDT probes")
	f(Spec{Kind: Uprobe, File: exe, Name: ""}, "no name")
	f(Spec{Kind: Uprobe, File: exe, Name: "main.main", Args: "int"}, "a type and a name")
	f(Spec{
		Kind: Uprobe,
		File: exe,
		Name: "main.main",
		Args: "int a,int b,int c,int d,int e,int f,int g,int h,int i,int j",
	}, "in registers")
}

// A file that becomes a pipe between two looks at it is not waited for.
func TestFileThatBecomesAPipe(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program, pipe := filepath.Join(dir, "program"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(program, exe[:min(len(exe), 4096)], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	swapped := make(chan error)
	go func() {
		for {
			select {
			case <-done:
				swapped <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, program, unix.AT_FDCWD, pipe,
				unix.RENAME_EXCHANGE); err != nil {
				swapped <- err
				return
			}
		}
	}()
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		end := time.Now().Add(10 * time.Second) // on a machine where files open slowly
		for n := 0; n < 20_000 && time.Now().Before(end); n++ {
			r := Resolver{}
			_, _ = r.Resolve(Spec{Kind: Uprobe, File: program, Name: "f"})
			r.Close()
		}
	}()
	select {
	case <-opened:
	case <-time.After(time.Minute):
		t.Error("got no answer: it waits for a writer of the pipe")
	}
	close(done)
	if err := <-swapped; err != nil {
		t.Skipf("cannot exchange files here: %v", err)
	}
}

// TestInRoot checks that absolute links inside a root stay inside it.
func TestInRoot(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/usr/lib", 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"/lib": "/usr/lib", "/usr/lib/x.so": "../lib/x.so.1", "/loop": "/loop",
	} {
		if err := os.Symlink(to, root+link); err != nil {
			t.Fatal(err)
		}
	}
	if got := inRoot(root, "/lib/x.so"); got != root+"/usr/lib/x.so.1" {
		t.Errorf("got %s, want %s/usr/lib/x.so.1", got, root)
	}
	if got := inRoot(root, "/../../etc/passwd"); got != root+"/etc/passwd" {
		t.Errorf("got %s, want it below %s", got, root)
	}
	inRoot(root, "/loop") // ends
}

func TestRegisterMasks(t *testing.T) {
	b := newBuilder("uprobe", "f", 8, 0, false)
	sysV.entry(b)
	s := b.schema()
	arg2, _ := s.Field("arg2")
	if got := RegsIntr(s, []event.Member{arg2.Member, event.MemberReg + 40}); got != 1<<4 {
		t.Errorf("got mask %#x, want si alone", got)
	}
	if got := RegsIntr(s, nil); got != 0 {
		t.Errorf("got mask %#x, want none where nobody reads them", got)
	}
}

// Any bytes are refused or read, never a panic.
func FuzzImage(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	f.Add([]byte("\x7fELF\x02\x01\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := openImage(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, fn := range m.functions() {
			if fn.name == "" || fn.addr == 0 {
				t.Errorf("got function %+v", fn)
			}
		}
		m.notes()
		m.find("main")
	})
}

// Rust names of both manglings, without the hash of the older one.
func TestRustNames(t *testing.T) {
	m := &image{
		funcs: []function{
			{name: "_ZN4shop4Cart3add17h0123456789abcdefE", addr: 16, size: 8},
			{name: "_RNvNtCs1234_4shop4cart5total", addr: 32, size: 8},
		},
	}
	for name, addr := range map[string]uint64{"shop::Cart::add": 16, "shop::cart::total": 32} {
		if got := m.find(name); len(got) != 1 || got[0].addr != addr {
			t.Errorf("%s: got %v, want the one at %d", name, got, addr)
		}
	}
	if got := m.match("shop::*"); len(got) != 2 {
		t.Errorf("got %v, want both", got)
	}
}
