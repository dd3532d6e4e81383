package symbol

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/stack/dso"
)

func hexNumber(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTable(t *testing.T) {
	var b builder
	add := func(name string, addr, size uint64, rank uint8) { b.add([]byte(name), addr, size, 0x2000, rank) }
	add("big", 0x1000, 0x100, rankGlobal)
	add("big.cold", 0x1040, 0x10, rankLocal) // inside
	add("_alias", 0x1200, 0x10, rankGlobal)
	add("alias", 0x1200, 0x10, rankGlobal)
	add("weak_but_long", 0x1200, 0x10, rankWeak)
	add("label", 0x1300, 0, rankNoSize)
	add("last", 0x1400, 0, rankNoSize)
	add("", 0x1500, 8, rankGlobal)
	table := b.table()
	f := func(addr uint64, want string) { t.Helper(); checkName(t, table, addr, want) }
	f(0xfff, "")
	f(0x1000, "big")
	f(0x103f, "big")
	f(0x1045, "big.cold")
	f(0x1050, "big")
	f(0x10ff, "big")
	f(0x1100, "")
	f(0x1205, "alias")
	f(0x1210, "")
	f(0x13ff, "label") // up to the next
	f(0x1fff, "last")  // up to the end of the section
	f(0x2000, "")
}

func TestDemangle(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Demangle(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	f("main", "main")
	f("_ZN4shop3BoxINS_4ItemEE3putERKS1_", "shop::Box<shop::Item>::put")
	f("_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE", "std::sys::backtrace::__rust_begin_short_backtrace")
	f("_ZN54_$LT$main..shop..Item$u20$as$u20$main..shop..Price$GT$5price17h0123456789abcdefE", "<main::shop::Item as main::shop::Price>::price")
	f("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar")
	f("main.(*T).Method", "main.(*T).Method")
	f("_Znwm@plt", "operator new@plt")
	f("_Zfoo", "_Zfoo")
	f("_ZN", "_ZN")
	f("_R", "_R")
	f("Lcom/example/Main;::run", "Lcom/example/Main;::run")
}

// checkName checks the name of the function at an address; empty is none.
func checkName(t *testing.T, table *Table, addr uint64, want string) {
	t.Helper()
	got := ""
	if i, ok := table.Find(addr); ok {
		got = table.At(i).Name
	}
	if got != want {
		t.Errorf("%#x: got %q, want %q", addr, got, want)
	}
}

func TestPerfMap(t *testing.T) {
	table, skipped := parsePerfMap([]byte(
		"1000 10 first\n0x2000 0x20 with blanks (in it)\r\nzzz\n1000 18 again\n3000 0 empty\n4000 5 cut off"))
	f := func(addr uint64, want string) { t.Helper(); checkName(t, table, addr, want) }
	f(0x1000, "again")
	f(0x1017, "again")
	f(0x201f, "with blanks (in it)")
	f(0x3000, "")
	f(0x4000, "")
	if skipped != 3 {
		t.Errorf("got %d lines skipped, want 3", skipped)
	}
}

// TestFunctionsHaveAllNames checks that Functions lists each function of nm by each of its names;
// an indirect one says so.
func TestFunctionsHaveAllNames(t *testing.T) {
	for _, what := range []string{"c", "cpp", "rust-v0", "rust-legacy", "go"} {
		path := program(t, what)
		store := dso.NewStore(dso.Options{})
		defer store.Close()
		f, err := store.Open(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		im, err := f.Image()
		if err != nil {
			t.Fatal(err)
		}
		have := map[string][]Func{}
		for _, fn := range Functions(im, path) {
			have[fn.Name] = append(have[fn.Name], fn)
		}
		missing := 0
		for name, want := range nm(t, path) {
			name, _, _ = strings.Cut(name, "@")
			if !slices.ContainsFunc(have[name], func(f Func) bool {
				return f.Addr == want.Addr && f.Size == want.Size
			}) {
				missing++
				t.Logf("%s: got %+v, want %+v", what, have[name], want)
			}
		}
		if missing > 0 || len(have) < 5 {
			t.Errorf("%s: %d functions of nm are missing, of %d", what, missing, len(have))
		}
	}
}

// containing returns the function that a file offset is in.
func containing(s *FileSymbols, offset uint64) (Func, bool) {
	addr, ok := s.image.Addr(offset)
	i := slices.IndexFunc(s.funcs, func(f Func) bool { return addr-f.Addr < f.Size })
	if !ok || i < 0 {
		return Func{}, false
	}
	return s.funcs[i], true
}

func TestFileSymbols(t *testing.T) {
	f := func(what, name, linker string) {
		t.Helper()
		s, err := OpenFileSymbols(program(t, what))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		off, size, ok := s.Lookup(name)
		if !ok || size == 0 {
			t.Errorf("%s in %s: got %v of %d bytes, want it found", name, what, ok, size)
			return
		}
		fn, ok := containing(s, off+size-1)
		if !ok || linker != "" && fn.Name != linker {
			t.Errorf("%s in %s: got %q at its end, want %q", name, what, fn.Name, linker)
		}
		if want := nm(t, s.Path)[fn.Name]; want.Size != size || want.Addr != fn.Addr {
			t.Errorf("%s in %s: got %+v, want %+v", name, what, fn, want)
		}
	}
	f("c", "recurse", "recurse")
	f("cpp", "shop::Box<shop::Item>::sum", "_ZNK4shop3BoxINS_4ItemEE3sumEv")
	f("cpp", "thrower", "_Z7throweri")
	f("rust-v0", "shop::shop::total::<shop::shop::Item>", "")
	f("rust-legacy", "shop::shop::total", "")
	f("go", "main.(*T).Method", "main.(*T).Method")
	if _, err := OpenFileSymbols(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("got no error for a missing file")
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFileSymbols(text); err == nil {
		t.Error("got no error for a script")
	}
}

// parsePerfMap reads the text of a perf-PID.map in time.
func parsePerfMap(text []byte) (t *Table, skipped int) {
	t, skipped, _ = readPerfMap(bytes.NewReader(text), func() bool { return false })
	return t, skipped
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("1000 10 first\n0x2000 0x20 x\n"))
	f.Add([]byte("ffffffffffffffff 10 wraps\n0 ffffffffffffffff all\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, _ := parsePerfMap(text)
		for i := range table.Len() {
			fn := table.At(i)
			if fn.Name == "" || fn.Size == 0 {
				t.Fatalf("got %+v", fn)
			}
			if j, ok := table.Find(fn.Addr); !ok || j != i {
				t.Fatalf("%#x: got %d %v, want %d", fn.Addr, j, ok, i)
			}
		}
	})
}

func FuzzDemangle(f *testing.F) {
	f.Add("_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE")
	f.Add("_RNvNtCs1234_7mycrate3foo3bar")
	f.Fuzz(func(t *testing.T, name string) {
		if got := Demangle(name); got == "" && name != "" {
			t.Fatalf("%q: got nothing", name)
		}
	})
}

// FuzzELF checks that damaged files make errors or fewer names, never a panic.
func FuzzELF(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	for _, name := range []string{"small.elf"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		im, err := dso.ReadImage(bytes.NewReader(b), int64(len(b)))
		if (im == nil) == (err == nil) {
			t.Fatalf("got %v and %v", im, err)
		}
		if err != nil {
			return
		}
		table, err := readImage(im)
		if (table == nil) == (err == nil) {
			t.Fatalf("got %v and %v", table, err)
		}
		im.BuildID()
		l, err := readDWARF(im, nil)
		if err != nil || l == nil {
			return
		}
		l.expired = func() bool { return false }
		for _, span := range l.spans[:min(len(l.spans), 100)] {
			u := l.unit(span.lo)
			if u == nil {
				continue
			}
			u.line(span.lo)
			if l.readFunctions(u) == nil && len(u.subs) > len(b) {
				t.Fatalf("got %d functions of %d bytes", len(u.subs), len(b))
			}
			(&Signatures{lines: l, image: im}).Of(span.lo)
			line := &lineSearch{source: "small.c", line: 3, found: map[[2]uint64]Statement{}}
			if line.unit(l, span.unit) == nil {
				if list, err := line.result(); (len(list) > 0) == (err != nil) {
					t.Fatalf("got %v and %v", list, err)
				}
			}
		}
	})
}

// readImage is ReadTable without a debug file.
func readImage(im *dso.Image) (*Table, error) {
	t, err := readTable(im, func() *dso.Image { return nil })
	if t == nil {
		return nil, err
	}
	return t, nil
}
