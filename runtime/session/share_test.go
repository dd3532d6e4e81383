package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/source/eventspec"
)

// tape is a ring that plays the same records again and again.
type tape struct {
	evs      []event.Event
	pos, end uint64
}

func (r *tape) Bounds() (known, visible uint64) { return r.end, r.end }
func (r *tape) Pos() uint64                     { return r.pos }
func (r *tape) Release()                        {}
func (r *tape) Read(dst []event.Event, until uint64) int {
	n := min(len(dst), int(until-r.pos))
	for i := range n {
		dst[i] = r.evs[(r.pos+uint64(i))%uint64(len(r.evs))]
	}
	r.pos += uint64(n)
	return n
}

type deck struct {
	streams []*event.Stream
	rings   []event.Ring
}

func (d *deck) Streams() []*event.Stream                  { return d.streams }
func (d *deck) Rings() []event.Ring                       { return d.rings }
func (d *deck) Poll(context.Context, time.Duration) error { return nil }
func (d *deck) Close() error                              { return nil }

var playedSchema = &event.Schema{System: "t", Name: "ev", Type: 2, Size: 4, Fields: []event.Field{
	{Name: "id", Type: "int", Size: 4, Signed: true}, {Name: "n", Type: "int", Size: 4, Signed: true}}}

type playedCatalog struct{}

func (playedCatalog) Find(*plan.Source) ([]*event.Schema, error) {
	return []*event.Schema{playedSchema}, nil
}

func playedPlan(tb testing.TB) *plan.Instance {
	tb.Helper()
	src := &plan.Source{Spec: eventspec.Spec{System: "t", Name: "ev"}}
	g := &plan.Group{In: src, By: []plan.Var{{Name: "id", Fn: plan.Fn{Text: "id"}}},
		Aggs: []plan.AggCol{
			{Name: "count", Agg: agg.Agg{Op: agg.Count}},
			{Name: "p99", Agg: agg.Agg{Op: agg.Quantile, Q: 0.99}, Arg: &plan.Fn{Text: "id * 3"}},
		}}
	p, err := plan.Build([]plan.Report{g}, plan.Env{Catalog: playedCatalog{}})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Instantiate()
}

func played(tb testing.TB, p *plan.Instance, rings, records int) *deck {
	tb.Helper()
	d := &deck{streams: []*event.Stream{p.Events[0].Stream}}
	for r := range rings {
		t := &tape{}
		for i := range records {
			raw := binary.LittleEndian.AppendUint32(nil, uint32((r*31+i*7)%500))
			t.evs = append(t.evs, event.Event{Time: event.Time(i + 1), Stream: d.streams[0], Raw: raw})
		}
		d.rings = append(d.rings, t)
	}
	return d
}

func (d *deck) advance(n int) {
	for _, r := range d.rings {
		r.(*tape).end += uint64(n)
	}
}

func TestSharedReadersCountTheSame(t *testing.T) {
	var want string
	for _, readers := range []int{1, 2, 3} {
		p := playedPlan(t)
		if !p.Shareable() {
			t.Fatal("a count by key is not shareable")
		}
		d := played(t, p, 20, 100)
		s := share(d, p, readers)
		for range 5 {
			d.advance(333)
			s.Round(p.Router.Events, false)
		}
		s.absorb()
		table, err := plan.Runs[*plan.Table](p)[0].Result(result.Meta{})
		if err == nil {
			err = table.Sort("id", false)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(table.Rows)
		if readers == 1 {
			want = got
		}
		if got != want || p.Router.Samples != 20*5*333 {
			t.Errorf("%d readers: got %d samples and other rows than one reader", readers, p.Router.Samples)
		}
	}
}

// A key's events may lie in the rings of several readers.
func TestSharedReadersFindTheSameSilences(t *testing.T) {
	in := &plan.Source{Spec: eventspec.Spec{System: "t", Name: "ev"}}
	silences, err := plan.Build([]plan.Report{&plan.Silences{
		In: in, Key: plan.Var{Name: "id", Fn: plan.Fn{Text: "id"}}, Than: 20,
	}}, plan.Env{Catalog: playedCatalog{}})
	if err != nil {
		t.Fatal(err)
	}
	if !silences.Shareable() {
		t.Fatal("silences are not shareable")
	}
	want := ""
	for _, readers := range []int{1, 2, 3} {
		p := silences.Instantiate()
		d := played(t, p, 20, 100)
		s := share(d, p, readers)
		got := ""
		for i := range 4 {
			d.advance(25)
			s.Round(p.Router.Events, false)
			s.absorb()
			table, err := plan.Runs[*plan.SilencesRun](p)[0].Result(result.Meta{Final: i == 3, End: 100}, 0)
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintln(len(table.Rows), table.Rows)
		}
		if want == "" {
			want = got
		}
		if got != want || len(got) < 1000 {
			t.Errorf("%d readers: got %.300s, want as of one %.300s", readers, got, want)
		}
	}
}

// Conditions that fail are told of once, whichever reader met them.
func TestSharedReadersCountFailures(t *testing.T) {
	in := &plan.Where{In: &plan.Source{Spec: eventspec.Spec{
		System: "t", Name: "ev",
	}}, Pred: plan.Fn{Text: "1000 / (id % 5) > 0"}}
	g := &plan.Group{In: in, Aggs: []plan.AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}}}}
	failing, err := plan.Build([]plan.Report{g}, plan.Env{Catalog: playedCatalog{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, readers := range []int{1, 2, 3} {
		p := failing.Instantiate()
		d := played(t, p, 20, 100)
		s := share(d, p, readers)
		for i := range 3 {
			d.advance(100)
			s.Round(p.Router.Events, false)
			s.absorb()
			if got, want := p.Failures().Failed(), uint64(20*100/5*(i+1)); got != want {
				t.Errorf("%d readers: got %d failed conditions, want %d", readers, got, want)
			}
		}
	}
}

func TestReadersFor(t *testing.T) {
	for _, rings := range []int{0, 1, 2, 8, 15} {
		if got := readersFor(rings); got != 1 {
			t.Errorf("%d rings: got %d readers, want 1", rings, got)
		}
	}
}

// BenchmarkReaders shows what a second reader adds, on a machine that has two
// cores to spare.
func BenchmarkReaders(b *testing.B) {
	for _, readers := range []int{1, 2} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			p := playedPlan(b)
			const rings = 16
			d := played(b, p, rings, 4096)
			s := share(d, p, readers)
			b.ReportAllocs()
			n := 0
			for n < b.N {
				d.advance(4096)
				s.Round(p.Router.Events, false)
				n += rings * 4096
			}
			s.absorb()
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			if p.Router.Samples != uint64(n) {
				b.Fatalf("got %d events, want %d", p.Router.Samples, n)
			}
		})
	}
}
