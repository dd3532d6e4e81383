package join

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// newNested makes functions a, b, ...: "A" enters, "a" returns.
func newNested(t *testing.T, functions string) *testJoin {
	t.Helper()
	var stages []string
	for _, f := range strings.Fields(functions) {
		stages = append(stages, f+","+strings.ToLower(f))
	}
	j := newJoin(t, strings.Join(stages, " "))
	var names []string
	for i := range j.spec.Pairs {
		clear(j.spec.Pairs[i])
	}
	for i, f := range strings.Fields(functions) {
		ret := strings.ToLower(f)
		j.pairOf(f, ret)
		j.in(f).Stage, j.in(ret).Stage, j.in(ret).Return = i, i, true
		names = append(names, f)
	}
	j.nested = NewNested(j.spec, NewTree(names), sinkFunc(func(evs []*event.Event) {
		for _, e := range evs {
			j.pairs = append(j.pairs,
				fmt.Sprintf("%s %d+%d self=%d depth=%d",
					strings.Join(j.nested.tree.Path(int32(e.Derived.Slots[SlotNode].Int())), "/"),
					e.Derived.Start.Time, e.Derived.End.Time-e.Derived.Start.Time,
					e.Derived.Slots[SlotSelf].Int(),
					e.Derived.Slots[SlotDepth].Int()))
		}
	}))
	return j
}

func (j *testJoin) call(batches ...string) {
	j.t.Helper()
	for _, b := range batches {
		j.feed(j.nested, b)
	}
}

func (j *testJoin) wantTree(lines ...string) {
	j.t.Helper()
	var got []string
	j.nested.tree.Walk(func(n int32, depth int) {
		s := strings.Repeat("-", depth) + j.nested.tree.Name(n)
		if j.nested.tree.Recursive(n) {
			s += " R"
		}
		got = append(got, s)
	})
	if g, w := strings.Join(got, ", "), strings.Join(lines, ", "); g != w {
		j.t.Errorf("tree: got %q, want %q", g, w)
	}
}

func TestCallsNest(t *testing.T) {
	j := newNested(t, "A B C")
	j.call("10 A 1; 20 B 1; 25 C 1; 30 c 1; 50 b 1; 60 B 1; 61 b 1; 100 a 1")
	j.want("A/B/C 25+5 self=5 depth=2", "A/B 20+30 self=25 depth=1", "A/B 60+1 self=1 depth=1",
		"A 10+90 self=59 depth=0")
	j.wantTree("A", "-B", "--C")
}

func TestOneFunctionUnderTwoCallersIsTwoNodes(t *testing.T) {
	// The tree must not flip between the shapes.
	j := newNested(t, "A B C")
	for range 3 {
		j.call("10 A 1; 20 C 1; 30 c 1; 40 a 1", "50 B 1; 60 C 1; 70 c 1; 80 b 1", "90 C 1; 95 c 1")
	}
	j.wantTree("A", "-C", "B", "-C", "C")
}

func TestStacksOfKeysAreApart(t *testing.T) {
	j := newNested(t, "A B")
	j.call("10 A 1; 20 B 2; 30 a 1; 40 b 2")
	j.want("A 10+20 self=20 depth=0", "B 20+20 self=20 depth=0")
	j.wantTree("A", "B")
}

func TestRecursionIsMatchedNewestFirst(t *testing.T) {
	j := newNested(t, "A B")
	j.call("10 A 1; 20 B 1; 30 A 1; 40 a 1; 50 b 1; 60 a 1")
	j.want("A 30+10 self=10 depth=2", "A/B 20+30 self=20 depth=1", "A 10+50 self=20 depth=0")
	j.wantTree("A R", "-B")
}

func TestLostReturnSpoilsOnlyItsOwnCall(t *testing.T) {
	j := newNested(t, "A B")
	j.call("10 A 1; 20 B 1; 40 a 1; 50 b 1; 60 A 1; 70 a 1")
	j.want("A 10+30 self=30 depth=0", "A 60+10 self=10 depth=0")
	if s := j.nested.Stats(); s.Cancelled != 1 || s.EndsAlone != 1 || s.Waiting != 0 {
		t.Errorf("got %+v, want one call without return and one return alone", s)
	}
}

func TestNestedLossDropsStacks(t *testing.T) {
	j := newNested(t, "A B")
	j.call("10 A 1; 20 B 1; LOST 30 40 0; 35 A 2; 50 b 1; 60 a 1; 70 A 1; 80 a 1")
	j.want("A 70+10 self=10 depth=0")
	if l := j.nested.Loss(); l.Broken != 3 || l.Unmatched != 2 {
		t.Errorf("got %+v, want 3 broken and 2 unmatched", l)
	}
}

func TestEntriesWithoutReturnsAreBounded(t *testing.T) {
	j := newNested(t, "A B")
	for i := range 10 * MaxDepth {
		j.call(fmt.Sprintf("%d A 1", i+1))
	}
	if s := j.nested.Stats(); s.Waiting > MaxDepth+1 || s.Evicted == 0 {
		t.Errorf("got %+v, want at most %d waiting and the others evicted", s, MaxDepth+1)
	}
	j = newNested(t, "A B")
	j.nested.spec.Limit = 100
	for i := range 1000 {
		j.call(fmt.Sprintf("%d A %d", i+1, i))
	}
	if s := j.nested.Stats(); s.Waiting != 100 || s.Evicted != 900 {
		t.Errorf("got %+v, want 100 waiting and 900 evicted", s)
	}
	j.call("5000 a 999; 5001 a 3")
	j.want("A 1000+4000 self=4000 depth=0")
}

func TestEvictedFromTheMiddleOfAStack(t *testing.T) {
	j := newNested(t, "A B C")
	j.nested.spec.Limit = 2
	j.call("10 A 1; 20 B 1; 30 C 1; 40 c 1; 50 b 1; 60 a 1")
	j.want("A/B/C 30+10 self=10 depth=2", "A/B 20+30 self=20 depth=1")
}

func TestNestedDoesNotAllocate(t *testing.T) {
	s, evs := benchEvents(20000, 100)
	spec := s.spec(t, 16)
	spec.In[1].Stage, spec.In[1].Return = 0, true
	n := NewNested(spec, NewTree([]string{"x"}), &countSink{})
	feedAll(n, evs)
	if a := testing.AllocsPerRun(5, func() { later(evs); feedAll(n, evs) }); a != 0 {
		t.Errorf("got %v allocations, want 0", a)
	}
}

// A tree that programs made is one of the same calls; numbers that were given and are not
// used yet are skipped.
func TestAdoptedTree(t *testing.T) {
	tree := NewTree([]string{"a", "b"})
	tree.child(0, 1) // forgotten
	for range 2 {
		tree.Adopt([]Call{{}, {Stage: 0, Made: true}, {}, {Parent: 1, Stage: 1, Made: true, Recursive: true},
			{Stage: 1, Made: true}})
	}
	var got []string
	tree.Walk(func(n int32, depth int) {
		path := strings.Join(tree.Path(n), "/")
		got = append(got, fmt.Sprintf("%d %s %d %v", n, path, depth, tree.Recursive(n)))
	})
	want := "1 a 0 false, 3 a/b 1 true, 4 b 0 false"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
