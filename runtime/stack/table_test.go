package stack

import (
	"fmt"
	"math/rand"
	"testing"

	"ppscript/runtime/event"
)

// k and u are chains of kernel and user addresses.
func k(addrs ...uint64) []uint64 { return append([]uint64{markKernel}, addrs...) }
func u(addrs ...uint64) []uint64 { return append([]uint64{markUser}, addrs...) }

const kbase = 0xffffffff81000000

func both(kernel, user []uint64) []uint64 { return append(append([]uint64(nil), kernel...), user...) }

func TestEqualStacksHaveOneNumber(t *testing.T) {
	tab := New(Options{})
	a := tab.Intern(1, 10, both(k(kbase, kbase+8), u(1, 2)))
	for name, c := range map[string]struct {
		pid   int32
		chain []uint64
		same  bool
	}{
		"again":           {1, both(k(kbase, kbase+8), u(1, 2)), true},
		"another process": {2, both(k(kbase, kbase+8), u(1, 2)), false},
		"another address": {1, both(k(kbase, kbase+8), u(1, 3)), false},
		"no user part":    {1, k(kbase, kbase+8), false},
		"prefix":          {1, both(k(kbase), u(1, 2)), false},
	} {
		if got := tab.Intern(c.pid, 20, c.chain) == a; got != c.same {
			t.Errorf("%s: got same number %v, want %v", name, got, c.same)
		}
	}
	if tab.Intern(1, 1, k(kbase)) != tab.Intern(2, 1, k(kbase)) {
		t.Error("kernel stacks of two processes differ, want one: they belong to none")
	}
	if s, ok := tab.At(a); !ok || s.PID != 1 || s.When != 10 || len(s.Chain) != 6 {
		t.Errorf("got %+v (%v), want the first event's", s, ok)
	}
	if got := tab.Intern(1, 1, nil); got != None {
		t.Errorf("got number %d for no chain, want None", got)
	}
	for _, id := range []ID{None, Full, 1000} {
		if s, ok := tab.At(id); ok {
			t.Errorf("number %d: got %+v, want none", id, s)
		}
	}
}

func TestAnotherProgramIsAnotherStack(t *testing.T) {
	tab := New(Options{})
	a := tab.Intern(7, 1, u(100, 200))
	tab.Exec(7)
	b := tab.Intern(7, 2, u(100, 200))
	if a == b {
		t.Error("got one number before and after exec, want two: the addresses mean something else")
	}
	if tab.Intern(7, 3, u(100, 200)) != b {
		t.Error("got a third number, want the one since exec")
	}
}

func TestAgainstMap(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	tab, want := New(Options{}), map[string]ID{}
	for range 50000 {
		chain := k()
		for range r.Intn(40) {
			chain = append(chain, kbase+uint64(r.Intn(3)))
		}
		name := fmt.Sprint(chain)
		got := tab.Intern(1, 0, chain)
		if id, known := want[name]; known && id != got {
			t.Fatalf("got number %d, want %d again", got, id)
		}
		want[name] = got
		if s, _ := tab.At(got); fmt.Sprint(s.Chain) != name {
			t.Fatalf("number %d: got %v, want %v", got, s.Chain, name)
		}
	}
	if tab.Len() != len(want) {
		t.Errorf("got %d stacks, want %d", tab.Len(), len(want))
	}
}

func TestBoundsAreCounted(t *testing.T) {
	tab := New(Options{Stacks: 3, Words: 1000})
	for i := range uint64(5) {
		tab.Intern(1, 0, k(kbase+i))
	}
	if tab.Len() != 3 || tab.Evicted() != 2 || !tab.Crowded() {
		t.Errorf("got %d stacks, %d evicted; want 3 and 2", tab.Len(), tab.Evicted())
	}
	if got := tab.Intern(1, 0, k(kbase+9)); got != Full {
		t.Errorf("got number %d of a full table, want Full", got)
	}
	if tab.Reset(); tab.Len() != 0 || tab.Evicted() != 0 || tab.Intern(1, 0, k(kbase+9)) == Full {
		t.Error("after Reset: want an empty table")
	}
	small := New(Options{Words: 5})
	if small.Intern(1, 0, k(kbase, kbase)); small.Intern(1, 0, k(kbase+1, kbase)) != Full {
		t.Error("got room for 6 words in 5")
	}
}

// A million stacks pass through a table, of which a few are needed.
func TestStacksAreLetGo(t *testing.T) {
	fresh := 0
	tab := New(Options{Stacks: 16 << 10, Fresh: func(int32, event.Time) { fresh++ }})
	held, want := map[ID]bool{7 << 20: true, None: true}, map[ID]uint64{}
	most := 0
	for i := range uint64(1_000_000) {
		id := tab.Intern(int32(i), event.Time(i), u(i, 1, 2, 3))
		if id == Full {
			t.Fatalf("stack %d: got no room", i)
		}
		if i%10_000 == 0 {
			held[id], want[id] = true, i
		}
		most = max(most, tab.Len())
		if tab.Crowded() {
			fresh = 0
			tab.Retain(held)
			if tab.Len() != len(want) || fresh != len(want) || tab.Words() != 5*len(want) {
				t.Fatalf("got %d stacks of %d words, %d looked at; want %d", tab.Len(), tab.Words(), fresh,
					len(want))
			}
		}
	}
	if most > 2048 {
		t.Errorf("got %d stacks at once, want at most an eighth of what the table may hold", most)
	}
	for id, i := range want {
		s, ok := tab.At(id)
		if !ok || s.PID != int32(i) || s.When != event.Time(i) || s.Chain[1] != i {
			t.Errorf("number %d: got %+v, want the stack of event %d", id, s, i)
		}
		if got := tab.Intern(int32(i), 0, u(i, 1, 2, 3)); got != id {
			t.Errorf("stack %d: got number %d, want %d again", i, got, id)
		}
	}
	if _, ok := tab.At(7 << 20); ok {
		t.Error("got a stack for a number that was never given")
	}
}

// fake decodes nothing: it has one chain.
type fake struct {
	chain, regs []uint64
	stack       []byte
}

func (f *fake) Member(*event.Event, event.Member) (uint64, bool) { return 42, true }
func (f *fake) Callchain(*event.Event) []uint64                  { return f.chain }
func (f *fake) UserMask() uint64                                 { return 0xff }
func (f *fake) UserRegs(*event.Event) []uint64                   { return f.regs }
func (f *fake) UserStack(*event.Event) []byte                    { return f.stack }

func TestReaderKeepsWhatIsWanted(t *testing.T) {
	chain := both(k(kbase+1, kbase+2), u(10, 20))
	for _, c := range []struct {
		name string
		spec Spec
		want []uint64
		cut  bool
	}{
		{"all", Spec{Kernel: true, User: true}, chain, false},
		{"kernel", Spec{Kernel: true}, k(kbase+1, kbase+2), false},
		{"user", Spec{User: true}, u(10, 20), false},
		{"at the limit", Spec{Kernel: true, User: true, Max: 4}, chain, true},
		{"below the limit", Spec{Kernel: true, User: true, Max: 5}, chain, false},
	} {
		tab := New(Options{})
		r := NewReader(&fake{chain: chain}, tab, c.spec)
		id, ok := r.Member(&event.Event{PID: 5}, event.MemberCallchain)
		s, _ := tab.At(ID(id))
		if !ok || fmt.Sprint(s.Chain) != fmt.Sprint(c.want) || s.Cut != c.cut {
			t.Errorf("%s: got %x cut %v, want %x cut %v", c.name, s.Chain, s.Cut, c.want, c.cut)
		}
		if v, _ := r.Member(nil, event.MemberAddr); v != 42 {
			t.Errorf("got member %d, want that of the decoder", v)
		}
	}
}

// steps unwinds to fixed addresses.
type steps struct {
	addrs []uint64
	cut   bool
}

func (s *steps) Unwind(dst []uint64, _ int32, _ event.Time, _ uint64, _ []uint64, _ []byte) ([]uint64, bool) {
	return append(dst, s.addrs...), s.cut
}

func TestReaderUnwinds(t *testing.T) {
	chain := both(k(kbase), u(10, 20, 30))
	for _, c := range []struct {
		name    string
		steps   steps
		regs    int
		want    []uint64
		unwound bool
		cut     bool
	}{
		{"whole", steps{[]uint64{10, 11, 12, 13}, false}, 2, both(k(kbase), u(10, 11, 12, 13)), true, false},
		{"short but at its end", steps{[]uint64{10}, false}, 2, both(k(kbase), u(10)), true, false},
		{"frame pointers saw more", steps{[]uint64{10}, true}, 2, chain, false, false},
		{"both are short", steps{[]uint64{10, 11, 12, 13}, true}, 2, both(k(kbase), u(10, 11, 12, 13)), true, true},
		{"frame pointers lead on", steps{[]uint64{10, 15, 20}, true}, 2, both(k(kbase), u(10, 15, 20, 30)), true, false},
		{"they miss what a signal interrupted", steps{[]uint64{10, 20, 25}, true}, 2, both(k(kbase), u(10, 20, 25, 30)), true, false},
		{"they are elsewhere", steps{[]uint64{10, 11}, true}, 2, chain, false, false},
		{"kernel thread", steps{nil, false}, 0, chain, false, false},
	} {
		tab := New(Options{})
		f := &fake{chain: chain, regs: make([]uint64, c.regs), stack: []byte{1}}
		r := NewReader(f, tab, Spec{Kernel: true, User: true, Unwinder: &c.steps})
		s, _ := tab.At(r.id(&event.Event{PID: 5}))
		if fmt.Sprint(s.Chain) != fmt.Sprint(c.want) || s.Unwound != c.unwound || s.Cut != c.cut {
			t.Errorf("%s: got %x unwound %v cut %v, want %x %v %v", c.name, s.Chain, s.Unwound, s.Cut, c.want,
				c.unwound, c.cut)
		}
	}
}

// In a recursion the same addresses are everywhere; the depth stays.
func TestFramePointersLeadOn(t *testing.T) {
	f := func(walk, chain, want []uint64) {
		t.Helper()
		got, _ := lead(u(walk...), 0, u(chain...))
		if fmt.Sprint(got) != fmt.Sprint(u(want...)) {
			t.Errorf("%v and %v: got %v, want %v", walk, chain, got, u(want...))
		}
	}
	f([]uint64{1, 5, 5, 5}, []uint64{1, 5, 5, 5, 5, 5, 9}, []uint64{1, 5, 5, 5, 5, 5, 9})
	// the caller 4 is missing
	f([]uint64{1, 4, 5, 5}, []uint64{1, 5, 5, 5, 5, 9}, []uint64{1, 4, 5, 5, 5, 5, 9})
	f([]uint64{1, 5, 5, 5}, nil, []uint64{1, 5, 5, 5})
	f([]uint64{1, 2, 3, 4}, []uint64{1, 7}, []uint64{1, 2, 3, 4})
	f([]uint64{1, 2, 3, 4}, []uint64{1, 2, 3, 4}, []uint64{1, 2, 3, 4})
}

func TestEachTellsWorlds(t *testing.T) {
	chain := append(both(k(kbase, kbase+1), u(10, 20)), markGuestUser, 5, markUserDeferred, 99)
	var got string
	Each(chain, func(addr uint64, in Context, exact bool) {
		got += fmt.Sprintf("%x %s %v;", addr, in, exact)
	})
	const want = "ffffffff81000000 kernel true;ffffffff81000001 kernel false;" +
		"a user true;14 user false;5 guest user true;"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = ""
	Each([]uint64{kbase, kbase + 1}, func(addr uint64, in Context, exact bool) {
		got += fmt.Sprint(in, exact, " ")
	})
	if got != "kernel true kernel false " {
		t.Errorf("chain without markers: got %q", got)
	}
}

func TestKnownStacksDoNotAllocate(t *testing.T) {
	chain := k()
	for i := range uint64(20) {
		chain = append(chain, kbase+16*i)
	}
	chain = both(chain, u())
	for i := range uint64(20) {
		chain = append(chain, 0x400000+16*i)
	}
	r := NewReader(&fake{chain: chain}, New(Options{}), Spec{Kernel: true, User: true, Max: 127})
	part := NewReader(&fake{chain: chain}, New(Options{}), Spec{User: true, Max: 127})
	e := &event.Event{PID: 3}
	r.id(e)
	part.id(e)
	if n := testing.AllocsPerRun(100, func() { r.id(e); part.id(e) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkIntern(b *testing.B) {
	for _, depth := range []int{10, 40, 120} {
		b.Run(fmt.Sprintf("known/depth=%d", depth), func(b *testing.B) {
			tab := New(Options{})
			chains := make([][]uint64, 1000)
			for i := range chains {
				chains[i] = k()
				for j := range depth {
					chains[i] = append(chains[i], kbase+uint64(i*j))
				}
			}
			b.ReportAllocs()
			for i := range b.N {
				if tab.Intern(1, 0, chains[i%len(chains)]) == None {
					b.Fatal("no number")
				}
			}
		})
	}
}

// FuzzChain reads chains of any words: every address is visited at most once,
// parts have no more than the whole.
func FuzzChain(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(bytesOf(both(k(kbase), u(5))))
	f.Fuzz(func(t *testing.T, b []byte) {
		words := make([]uint64, len(b)/8)
		copy(bytesOf(words), b)
		n := 0
		Each(words, func(uint64, Context, bool) { n++ })
		if n > addresses(words) {
			t.Fatalf("visited %d of %d addresses", n, addresses(words))
		}
		tab := New(Options{})
		for _, spec := range []Spec{{Kernel: true, User: true}, {User: true}, {Kernel: true}} {
			r := NewReader(&fake{chain: words}, tab, spec)
			if s, ok := tab.At(r.id(&event.Event{PID: 1})); ok && addresses(s.Chain) > addresses(words) {
				t.Fatalf("got %d addresses of %d", addresses(s.Chain), addresses(words))
			}
		}
	})
}
