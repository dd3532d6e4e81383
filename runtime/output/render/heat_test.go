package render

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

func heatSVG(t *testing.T, m *result.Heatmap) string {
	t.Helper()
	var b strings.Builder
	if err := HeatMap(&b, m); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatalf("not well formed: %v\n%s", err, b.String())
		}
	}
}

func TestHeatMapSaysWhatItCounts(t *testing.T) {
	var h agg.Heat
	for i := range 1000 {
		h.Add(event.Time(5e9+i*1e6), event.IntNumber(int64(1000+i%7*100000)))
	}
	m := h.Result(HeatRows)
	m.Title, m.Value, m.Unit = "a => <b>\x1b", "delay", unit.US
	m.Loss.Lost = 3
	got := heatSVG(t, m)
	for _, want := range []string{
		"a =&gt; &lt;b&gt;", "1,000 values of delay; a column is 8ms", "lost 3", ">100us<", ">0<",
		">1s<",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if n := strings.Count(got, "<title>"); n < 100 || strings.Contains(got, "\x1b") {
		t.Errorf("got %d cells, want many, and no control characters", n)
	}
}

func TestHeatMapsOfLittle(t *testing.T) {
	for _, values := range [][]int64{{}, {0}, {-5, 0}, {1 << 62}, {7, 7, 7}, {-1 << 63, 1<<63 - 1}} {
		var h agg.Heat
		for i, v := range values {
			h.Add(event.Time(i), event.IntNumber(v))
		}
		m := h.Result(HeatRows)
		if got := heatSVG(t, m); strings.Contains(got, "NaN") || strings.Contains(got, "Inf") ||
			(len(values) == 0) != strings.Contains(got, "no values") {
			t.Errorf("%v: got a broken picture:\n%s", values, got)
		}
	}
}
