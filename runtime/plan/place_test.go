package plan

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"ppscript/runtime/agg"
)

// The cut costs what the best of all cuts costs, and has what it says on its sides.
func TestCutIsCheapest(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 2000 {
		n := newNetwork()
		for range r.Intn(7) {
			n.node()
		}
		type edge struct {
			from, to int
			room     float64
		}
		var edges []edge
		for range r.Intn(20) {
			e := edge{r.Intn(len(n.from)), r.Intn(len(n.from)), float64(r.Intn(9))}
			if r.Intn(5) == 0 && (e.from != kernelEnd || e.to != ourEnd) {
				e.room = never
			}
			edges = append(edges, e)
			n.pipe(e.from, e.to, e.room)
		}
		costOf := func(in func(node int) bool) float64 {
			cost := 0.0
			for _, e := range edges {
				if in(e.from) && !in(e.to) {
					cost += e.room
				}
			}
			return cost
		}
		best, most := never, 0
		for set := range 1 << len(n.from) {
			in := func(node int) bool { return set>>node&1 != 0 }
			if !in(kernelEnd) || in(ourEnd) {
				continue
			}
			size := 0
			for i := range n.from {
				if in(i) {
					size++
				}
			}
			if cost := costOf(in); cost < best || cost == best && size > most {
				best, most = cost, size
			}
		}
		if math.IsInf(best, 1) {
			continue // nobody builds those
		}
		side, cost := n.cut()
		size := 0
		for _, in := range side {
			if in {
				size++
			}
		}
		if cost != best || costOf(func(i int) bool { return side[i] }) != best || size != most {
			t.Fatalf("%v: got %v of cost %v, want %v with %d on the kernel's side", edges, side, cost, best, most)
		}
	}
}

// places is where the parts of a plan run, and why.
func places(p *Plan) string {
	var list []string
	for _, part := range p.Placement.Parts {
		s := part.Name + " " + part.Where.String()
		if part.Why != "" {
			s += ": " + part.Why
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

// Each part says where it runs, and what stands against it.
func TestPlacement(t *testing.T) {
	f := func(engine, want string, reports ...Report) *Plan {
		t.Helper()
		p, err := kernelPlan(t, engine, reports...)
		if err != nil {
			t.Fatal(err)
		}
		if got := places(p); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
		return p
	}
	const none, could = "sched:made_up perf; ",
		": a program could, but takes all of a plan's operators or none"
	f(EngineAuto, "sched:made_up kernel; table kernel", countedBy(made()))
	f(EnginePerf, none+"table native", countedBy(made()))
	pairs := &Join{Stages: []Stream{made(), made()}, Key: text("id")}
	f(EngineAuto, "sched:made_up kernel; sched:made_up kernel; made_up => made_up kernel; table kernel",
		countedBy(pairs))

	src := made()
	p := f(EngineAuto, none+"table native"+could+"; log native: a log shows events", countedBy(src),
		&Log{In: src})
	if text := p.Explain(); !strings.Contains(text, "native      log: a log shows events\n") ||
		!strings.Contains(text, "sched:made_up to log: about 100% of its events, 48 bytes of fields each\n") {
		t.Errorf("got\n%s\nwant it to say so", text)
	}
	// Of two, the one that no program can do the work of is blamed.
	src = made()
	f(EngineAuto, none+"table native"+could+"; table2 native: a field of 4 bytes at 13 of the record",
		countedBy(src, "id"), countedBy(src, "odd"))
	f(EngineAuto, "sched:made_up kernel; table native: last needs the events themselves",
		&Group{In: made(), Aggs: []AggCol{{Name: "x", Agg: agg.Agg{Op: agg.Last}, Arg: text("n")}}})
	f(EngineAuto, none+none+
		"made_up => made_up native: a field of 4 bytes at 13 of the record; table native: made_up => made_up comes from ppscript",
		countedBy(&Join{Stages: []Stream{made(), made()}, Key: text("odd")}))
}

// What programs send crosses the edge; who reads it runs here.
func TestPlacementOfRecords(t *testing.T) {
	p := projectedPlan(t, EngineAuto,
		last(&Where{&Source{System: "sched", Name: "large"}, *text("n > id")}, "id"))
	if got, want := places(p),
		"sched:large kernel; table native: last needs the events themselves"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e := p.Placement.Edges[0]; !e.Crosses || e.Records != 0.5 || e.Bytes != 12 {
		t.Errorf("got %+v, want half of the events, and 12 bytes", e)
	}
	if text := p.Explain(); !strings.Contains(text,
		"kernel      sched:large: a program sends its records\n") {
		t.Errorf("got\n%s\nwant it to say so", text)
	}
}

// A pattern of events does not fill the screen.
func TestPlacementOfMany(t *testing.T) {
	p := &Placement{}
	for range 40 {
		p.Parts = append(p.Parts, Part{Name: "event"})
	}
	p.Parts = append(p.Parts, Part{Name: "table", operator: true})
	var b strings.Builder
	p.explain(&b)
	if got := b.String(); strings.Count(got, "event\n") != 15 ||
		!strings.HasSuffix(got, " and 25 more\n                kernel      table\n") {
		t.Errorf("got\n%s\nwant some events, how many more, and the table", got)
	}
}

// A cut can be made at any edge to which the model gives a cost: in front of what
// leaves little behind it, and behind what does not.
func TestCutAnywhere(t *testing.T) {
	f := func(want string, sizes ...float64) {
		t.Helper()
		n := newNetwork()
		at := kernelEnd
		var nodes []int
		for _, size := range sizes {
			next := n.node()
			nodes = append(nodes, next)
			n.pipe(at, next, size)
			n.pipe(next, at, never)
			at = next
		}
		n.pipe(at, ourEnd, never)
		side, _ := n.cut()
		got := ""
		for _, i := range nodes {
			got += string("-k"[b2i(side[i])])
		}
		if got != want {
			t.Errorf("%v: got %s, want %s", sizes, got, want)
		}
	}
	// An event, a join, a condition, a log: what passes in front of each.
	f("kkk-", 64, 64, 90, 0.9)
	f("---", 10, 64, 90)
	f("k--", 64, 10, 90)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
