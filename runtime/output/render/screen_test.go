package render

import (
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

func processes() *result.Table {
	t := &result.Table{Columns: []result.Column{
		{Name: "pid", Kind: result.KeyColumn, Width: 6}, {Name: "runs", Width: 8},
		{Name: "comm", Left: true},
	}}
	t.Title, t.Wall = "sample 9 events", time.Date(2026, 1, 2, 10, 0, 1, 0, time.UTC)
	for i, comm := range []string{"db", "a\x1b[31mb", "日本語", "web"} {
		t.Rows = append(t.Rows, []event.Value{
			event.IntOf(int64(i * 7 % 4)), event.IntOf(int64(100 - i)), event.StrOf(comm),
		})
	}
	return t
}

// screenText is a frame of the screen with its control sequences in words.
func screenText(s *Screen, t *result.Table, v *ScreenView) string {
	return strings.NewReplacer(home, "", toEOL, "", toEnd, "", inverse, "<", normal, ">", bold, "*",
		underline, "_", "\r\n", "|\n").
		Replace(string(s.Frame(nil, t, v)))
}

func TestScreenFrames(t *testing.T) {
	s := NewScreen(Options{Location: time.UTC})
	f := func(table *result.Table, v ScreenView, want string) {
		t.Helper()
		v.Name, v.Every = "top", "1s"
		if got := screenText(s, table, &v); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	f(nil, ScreenView{Width: 40, Height: 4},
		"top - waiting for the first interval|\n<                                        >|\n|\n*q> quit  *p> pause  *< >> sort: as given")
	f(processes(), ScreenView{Width: 60, Height: 8},
		`top - 10:00:01  sample 9 events                     every 1s|
<   pid     runs comm                                        >|
     0      100 db|
     3       99 a\x1b[31mb|
     2       98 日本語|
     1       97 web|
|
*q> quit  *p> pause  *< >> sort: as given  *r> reverse`)
	f(processes(), ScreenView{Width: 60, Height: 6, Sort: "pid", Reverse: true, From: 9},
		`top - 10:00:01  sample 9 events                     every 1s|
<   _pid><     runs comm                                        >|
     2       98 日本語|
     1       97 web|
     0      100 db|
*q> quit  *p> pause  *< >> sort: pid  *r> reverse           2-4 of 4`)
	f(processes(), ScreenView{Width: 21, Height: 7, Paused: true, Message: "lost=5 is much more than fits"},
		`top - 10:00:01  sampl|
<   pid     runs comm >|
     0      100 db|
     3       99 a\x1b|
     2       98 日本|
     1       97 web|
lost=5 is much more t`)
	f(processes(), ScreenView{Width: 9, Height: 7}, "too small")

	lossy := processes()
	lossy.Loss.Lost = 5
	if got := screenText(s, lossy, &ScreenView{Width: 80, Height: 5}); !strings.Contains(got,
		"lost 5 events") {
		t.Errorf("got\n%s\nwant the loss", got)
	}
}

// The order of the table is as it was when the user chooses no column any more.
func TestScreenKeepsTheTable(t *testing.T) {
	s, table := NewScreen(Options{}), processes()
	first := screenText(s, table, &ScreenView{Width: 60, Height: 8})
	screenText(s, table, &ScreenView{Width: 60, Height: 8, Sort: "runs"})
	screenText(s, table, &ScreenView{Width: 60, Height: 8, Reverse: true})
	if again := screenText(s, table, &ScreenView{Width: 60, Height: 8}); again != first {
		t.Errorf("got\n%s\nwant\n%s", again, first)
	}
}
