package plan

import (
	"fmt"
	"testing"
)

// TestSamplesPassedThePredicates checks that samples are the events that passed the predicates of
// the result that most reached, whichever reader saw them; one whose predicate failed did not pass.
func TestSamplesPassedThePredicates(t *testing.T) {
	where := func(in Stream, pred string) Report { return counted(&Where{In: in, Pred: *text(pred)}) }
	for _, c := range []struct {
		of   func(s, e Stream) []Report
		want uint64
	}{
		{func(s, e Stream) []Report { return []Report{counted(s)} }, 20},
		{func(s, e Stream) []Report { return []Report{where(s, "n >= 100")} }, 0},
		{func(s, e Stream) []Report { return []Report{where(s, "10 / n >= 0")} }, 18}, // n is 0 once for each reader
		{func(s, e Stream) []Report { return []Report{where(s, "n < 4"), where(s, "n >= 3")} }, 14},
		{func(s, e Stream) []Report { return []Report{where(s, "n < 4"), counted(s)} }, 20},
		{func(s, e Stream) []Report { return []Report{where(s, "n < 4"), where(e, "n < 1")} }, 10},
	} {
		p, err := Build(c.of(src("start"), src("end")), Env{Catalog: shelf{}, Replay: true})
		if err != nil {
			t.Fatal(err)
		}
		in := p.Instantiate()
		for _, reader := range []*Instance{in, in.Another()} {
			for n := range 10 {
				play(reader, fmt.Sprintf("start@%d 1 %d", 10*n+1, n))
				if len(p.Events) > 1 {
					play(reader, fmt.Sprintf("end@%d 1 %d", 10*n+2, n))
				}
			}
			if reader != in {
				in.Absorb(reader)
				in.Absorb(reader) // it is empty by now
			}
		}
		if got := in.Samples(); got != c.want {
			t.Errorf("%s: got %d samples, want %d", p.Explain(), got, c.want)
		}
	}
}
