package chart

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

func same(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBars(t *testing.T) {
	table := &result.Table{
		Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn}, {Name: "count"}},
		Rows: [][]event.Value{
			{event.StrOf("dd"), event.IntOf(80)}, {event.StrOf("kworker"), event.IntOf(37)},
			{event.StrOf("x"), event.IntOf(0)}, {event.StrOf("漢"), event.IntOf(1)}, {event.StrOf("none"), {}},
		},
	}
	same(t, Bars("count by comm", Table(table, 1), Options{Width: 52}), `
count by comm
dd      80 ████████████████████████████████████████
kworker 37 ██████████████████▌
x        0
漢       1 ▌
none     -
`)
	odd := []Bar{{Label: "a", Text: "-1", Value: -1}, {Label: "b", Text: "inf", Value: math.Inf(1)}}
	same(t, Bars("", odd, Options{Width: 40}), "a  -1\nb inf\n")
}

func TestHistogram(t *testing.T) {
	us, _ := unit.ByName("us")
	h := result.NewHistogram(result.Meta{}, nil, result.Column{Name: "delay", Unit: us},
		[]result.KeyDistribution{{Distribution: result.Distribution{Buckets: []result.Bucket{
			{Lo: 0, Hi: 1024, Count: 0}, {Lo: 1024, Hi: 2048, Count: 4}, {Lo: 8192, Hi: 16384, Count: 2},
		}}}})
	same(t, Histogram(h, Options{Width: 40}), `
delay of 6
1.024us to 2.048us  4 █████████████████
2.048us to 4.096us  0
4.096us to 8.192us  0
8.192us to 16.384us 2 ████████▌
`)
}

// A heat map has each count of the histograms that it is made of.
func TestHeat(t *testing.T) {
	hist := func(begin event.Time, buckets ...result.Bucket) *result.Table {
		m := result.Meta{Begin: begin, End: begin + 1e9, Loss: event.Loss{Lost: 1}}
		return result.NewHistogram(m, nil, result.Column{Name: "delay"},
			[]result.KeyDistribution{{Distribution: result.Distribution{Buckets: buckets}}})
	}
	m := Over([]*result.Table{
		hist(0, result.Bucket{Lo: 1, Hi: 2, Count: 1}, result.Bucket{Lo: 8, Hi: 16, Count: 100}),
		hist(1e9),
		hist(2e9, result.Bucket{Lo: 2, Hi: 4, Count: 10}),
	})
	if m.Total() != 111 || m.Loss.Lost != 3 || m.Step != 1e9 || len(m.Rows) != 4 {
		t.Errorf("got %d values, %d lost, step %d, %d rows", m.Total(), m.Loss.Lost, m.Step, len(m.Rows))
	}
	for i := range m.Rows[1:] {
		if m.Rows[i].Hi != m.Rows[i+1].Lo {
			t.Errorf("a gap behind %d", m.Rows[i].Hi)
		}
	}
	same(t, Heat(m, Options{Width: 40}), `
delay: 111 values, a column is 1s
8 │█
4 │
2 │  ▒
1 │·
  └───
   0 3s
counts: · 1 to 2  ░ 3 to 6  ▒ 7 to 15  ▓ 16 to 39  █ 40 to 100
`)
	coloured := Heat(m, Options{Width: 40, Color: true})
	if !strings.Contains(coloured, "\x1b[38;5;125m█\x1b[0m") {
		t.Errorf("got %q without colours", coloured)
	}
	// What is squeezed into fewer cells is still all of it, by its density.
	small := Heat(m, Options{Width: 40, Height: 4})
	if !strings.Contains(small, "111 values") {
		t.Errorf("got\n%s", small)
	}
}

func TestLines(t *testing.T) {
	whole := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	same(t, Lines("count", []Line{
		{"dd", []float64{0, 1, 4, 8, math.NaN(), 8}, whole}, {"cat", []float64{8, 8, 8, 8, 8, 8}, whole},
	}, "3s", Options{Width: 40}), `
count
dd   ▁▄█ █ 0 to 8
cat ██████ 8 to 8
    0   3s
`)
	got := Lines("", []Line{{"", []float64{0, 4, 8, 4, 0}, whole}}, "5s", Options{Width: 40, Height: 4})
	same(t, got, `
8 │   ⢀⠎⢆
  │  ⢠⠊  ⢣
4 │ ⡰⠁    ⠱⡀
0 │⡰⠁      ⠈⢆
  └──────────
   0       5s
`)
}
