package symbol

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// largeProgram is one of Go's own, with DWARF.
func largeProgram(t testing.TB) string {
	t.Helper()
	return program(t, "go-large")
}

// distinct are n addresses of a program that is mapped as process 1.
func distinct(t testing.TB, path string, n int) (*task.Mappings, []uint64) {
	t.Helper()
	maps := task.NewMappings(task.MappingsOptions{NoProc: true})
	t.Cleanup(func() { maps.Close() })
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
	text := im.Section(".text")
	const base = 0x5500_0000_0000
	maps.Map(&perf.Mapping{
		PID: 1, Addr: base, Len: text.Size &^ 0xfff, Pgoff: text.Offset, Name: path, Prot: 5,
	}, 1)
	var addrs []uint64
	for i := range uint64(n) {
		addrs = append(addrs, base+i*(text.Size&^0xfff)/uint64(n))
	}
	return maps, addrs
}

// 100,000 distinct addresses of a large program, cold: opening, reading the
// table, naming. And the same with lines, and with inlined functions.
func BenchmarkResolve100k(b *testing.B) {
	path := largeProgram(b)
	for _, mode := range []struct {
		name string
		opt  Options
	}{
		{"names", Options{}},
		{"lines", Options{Lines: true}},
		{"inlines", Options{Lines: true, Inlines: true}},
	} {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				maps, addrs := distinct(b, path, 100_000)
				mode.opt.Maps = maps
				s := New(mode.opt)
				named := 0
				for _, addr := range addrs {
					if s.Resolve(1, 1, addr, event.MaxTime)[0].Symbol != Unknown {
						named++
					}
				}
				if named < len(addrs)/2 {
					b.Fatalf("got %d of %d named", named, len(addrs))
				}
			}
		})
	}
}

func TestResolveOnce(t *testing.T) {
	maps, addrs := distinct(t, largeProgram(t), 1000)
	s := New(Options{Maps: maps})
	for _, addr := range addrs {
		s.Resolve(1, 1, addr, event.MaxTime)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		s.Resolve(1, 1, addrs[i%len(addrs)], event.MaxTime)
		i++
	}); n != 0 {
		t.Errorf("got %v allocations for an address that is known, want 0", n)
	}
	if st := s.Stats(); st.Addresses != len(addrs) || st.Tables != 1 {
		t.Errorf("got %+v, want %d addresses of one file", st, len(addrs))
	}
}

// TestFramesAreBounded checks that memory for addresses is bounded.
func TestFramesAreBounded(t *testing.T) {
	maps, addrs := distinct(t, largeProgram(t), 1000)
	s := New(Options{Maps: maps, MaxFrames: 100})
	for _, addr := range addrs {
		s.Resolve(1, 1, addr, event.MaxTime)
		if st := s.Stats(); st.Addresses > 100 {
			t.Fatalf("got %d addresses, want at most 100", st.Addresses)
		}
	}
	if st := s.Stats(); st.Forgotten < 800 {
		t.Errorf("got %d forgotten, want most", st.Forgotten)
	}
}

// An address that a call returns to belongs to the call, also where the call is
// the last instruction of its function.
func TestResolveReturn(t *testing.T) {
	path := program(t, "c")
	maps := task.NewMappings(task.MappingsOptions{NoProc: true})
	defer maps.Close()
	maps.Map(&perf.Mapping{PID: 1, Addr: 0x10000, Len: 0x10000, Name: path, Prot: 5}, 1)
	s := New(Options{Maps: maps})
	f := nm(t, path)["recurse"]
	end := 0x10000 + f.Addr + f.Size
	got := s.ResolveReturn(1, 1, end, 2)[0]
	if got.Symbol != "recurse" || got.Offset != f.Size || got.DSO != path || len(got.BuildID) != 40 {
		t.Errorf("got %+v, want recurse+%#x", got, f.Size)
	}
	if got := s.Resolve(1, 1, end, 2)[0]; got.Symbol == "recurse" {
		t.Errorf("as an interrupted address: got %+v, want what follows", got)
	}
	if got := s.Resolve(1, 1, 0x999, 2)[0]; got.Symbol != Unknown || got.DSO != "" || got.Offset != 0x999 {
		t.Errorf("outside of all mappings: got %+v", got)
	}
	if got := s.Resolve(77, 77, 0x999, 2)[0]; got.Symbol != Unknown {
		t.Errorf("of an unknown process: got %+v", got)
	}
}

func TestKernelFrames(t *testing.T) {
	s := New(Options{Kernel: parsed(t, small)})
	f := func(got []Frame, symbol string, off uint64, dso string) {
		t.Helper()
		if len(got) != 1 || got[0].Symbol != symbol || got[0].Offset != off || got[0].DSO != dso ||
			!got[0].Kernel {
			t.Errorf("got %+v, want %s+%#x in %s", got, symbol, off, dso)
		}
	}
	f(s.Resolve(0, 0, 0xffffffff81000048, 1), "do_one_initcall", 8, KernelDSO)
	f(s.Resolve(5, 5, 0xffffffffc0200001, 1), "kvm_exit", 1, "[kvm]")
	f(s.ResolveReturn(5, 5, 0xffffffffc0200100, 1), "kvm_exit", 0x100, "[kvm]")
	f(s.Resolve(5, 5, 0xffffffffc0300abc, 1), "bpf_prog_1", 0xabc, "[bpf]")
	f(s.Resolve(5, 5, 0xffffffff80000000, 1), Unknown, 0xffffffff80000000, KernelDSO)
}
