package unwind

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ppscript/runtime/stack/dso"
)

// What is compiled says of each address what the walk over the module does.
func TestCompactSaysTheSame(t *testing.T) {
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, path := range []string{
		self, "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6", "/usr/bin/perf",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/gdb",
	} {
		f, err := store.Open(nil, path)
		if err != nil {
			continue
		}
		m := loadModule(store, f)
		c, err := compile(m)
		if err != nil {
			t.Fatal(path, err)
		}
		tested++
		var at []uint64
		for _, table := range m.tables {
			for _, pc := range table.pcs {
				at = append(at, table.base+uint64(pc))
			}
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		if len(at) > 100000 {
			rnd.Shuffle(len(at), func(i, k int) { at[i], at[k] = at[k], at[i] })
			at = at[:100000]
		}
		if len(at) == 0 {
			t.Errorf("%s: no tables", path)
		}
		complexRows := 0
		for _, addr := range at {
			for _, addr := range []uint64{addr - 1, addr, addr + uint64(rnd.IntN(64))} {
				got, want := c.Find(addr), ruleAt(m, addr)
				if got != want {
					t.Fatalf("%s: rule at %#x: got %+v, want %+v", path, addr, got, want)
				}
				if got.Kind == IsComplex {
					complexRows++
				}
			}
		}
		t.Logf("%s: %d rows, %d rules, %d KiB, %d of %d complex", path, len(c.Rows), len(c.Rules),
			(4*len(c.Rows)+8*len(c.Blocks))>>10, complexRows, 3*len(at))
		if complexRows*100 > 3*len(at) {
			t.Errorf("%s: %d of %d addresses are beyond the form", path, complexRows, 3*len(at))
		}
	}
	if tested < 2 {
		t.Errorf("got %d files, want some", tested)
	}
}

// ruleAt is the rule of an address, from the module.
func ruleAt(m *module, addr uint64) Rule {
	code := slices.ContainsFunc(m.load, func(s segment) bool { return addr-s.addr < s.size })
	switch {
	case !code:
		return Rule{}
	case in(m.ends, addr):
		return Rule{Kind: IsEnd}
	case in(m.switches, addr):
		return Rule{Kind: BySwitch}
	case in(m.signal, addr), in(m.signal, addr+1):
		return Rule{Kind: BySignal}
	}
	if table, r := m.rules(addr); r != nil {
		return ruleOf(table, r)
	}
	if in(m.stubs, addr) {
		return Rule{Kind: ByStub, Reg: RegSP, Off: 8}
	}
	return Rule{}
}

func BenchmarkCompact(b *testing.B) {
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	f, err := store.Open(nil, "/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if _, err := Compile(store, f); err != nil {
			b.Fatal(err)
		}
	}
}
