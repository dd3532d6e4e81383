package render

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/unit"
)

// A header stands above the first row, and again where something else came between; rows line
// up below it, however wide their cells are. CSV has the columns with the units of text.
func TestRows(t *testing.T) {
	v := &view.View{Layout: result.Layout{NoRule: true, Upper: true}}
	two := 2
	v.Widths = map[string]view.Width{
		"time": {Min: 8, Left: true, Clock: result.TimeOfDay},
		"at":   {Min: 8, Clock: result.SinceStart, Title: "AT(s)"},
		"lat":  {Min: 8, Prec: &two},
		"n":    {Min: 2},
	}
	v.Units = map[string]unit.Unit{"lat": unit.MS}
	number := func(v event.Value) (string, error) { return "#" + v.String(), nil }
	v.Texts = map[string]view.CellFunc{"n": number}
	v.Hidden = map[string]bool{"gone": true}
	rows, err := v.Rows([]result.Column{
		{Name: "time", Prec: result.UnitPrec}, {Name: "at", Prec: result.UnitPrec},
		{Name: "gone"}, {Name: "comm", Width: 6, Left: true, Prec: result.UnitPrec},
		{Name: "lat", Unit: unit.US, Prec: result.UnitPrec},
		{Name: "n", Prec: result.UnitPrec}, {Name: "args", Left: true, Prec: result.UnitPrec},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := func(comm string, lat int64, args string) *result.Line {
		at := event.Time(2206475151000)
		cells := rows.Cells([]event.Value{event.TimeOf(at), event.TimeOf(at), event.IntOf(1),
			event.StrOf(comm), event.DurationOf(lat), event.IntOf(7), event.StrOf(args)})
		return &result.Line{Event: &event.Event{Time: at}, Rows: &rows.Rows, Cells: slices.Clone(cells)}
	}
	show := func(format, want string) {
		t.Helper()
		var out strings.Builder
		r, err := New(&out, Options{Format: format, Clock: clock, Location: time.UTC, Start: 2206000000000})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []result.Result{row("sh", 1500000, "a b"), row("longer-name", 20, "x\ny"),
			result.TextOf("between\n"), row("sh", 0, "")} {
			if err := r.Show(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(out.String(), "\r\n", "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
	show("text", `TIME        AT(s) COMM    LAT(ms)  N ARGS
09:59:59 0.475151 sh         1.50 #7 a b
09:59:59 0.475151 longer-name     0.00 #7 x\ny
between
TIME        AT(s) COMM    LAT(ms)  N ARGS
09:59:59 0.475151 sh         0.00 #7
`)
	show("csv", `time,result,time_2,at,comm,lat(ms),n,args
2026-01-02T09:59:59.475151000Z,log,2026-01-02T09:59:59.475151000Z,2026-01-02T09:59:59.475151000Z,sh,1.5,"#7",a b
2026-01-02T09:59:59.475151000Z,log,2026-01-02T09:59:59.475151000Z,2026-01-02T09:59:59.475151000Z,longer-name,0.00002,"#7",x\ny
# between
2026-01-02T09:59:59.475151000Z,log,2026-01-02T09:59:59.475151000Z,2026-01-02T09:59:59.475151000Z,sh,0,"#7",
`)
}
