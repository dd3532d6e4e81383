package output

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// A book counts what it is shown, and fails at the table with number bad.
type book struct {
	render.Ignore
	begun, closed bool
	tables, bad   int
	atClose       error
}

var errFull = errors.New("the book is full")

func (b *book) Begin(about About) error {
	b.begun = about.Script == "trace"
	return nil
}

func (b *book) Show(result.Result) error {
	if b.tables++; b.tables == b.bad {
		return errFull
	}
	return nil
}

func (b *book) Close() error {
	b.closed = true
	return b.atClose
}

func (b *book) opener(name string) Opener {
	return Opener{Option: name, Where: name + ".out",
		Open: func(context.Context) (Sink, error) { return b, nil }}
}

// A sink that fails is told and closed; the run and the others go on, and the end says it.
func TestFailedSinkIsLeftOut(t *testing.T) {
	bad, good, main := &book{bad: 2}, &book{}, &book{}
	var said []string
	s, err := OpenSinks(t.Context(), []Opener{bad.opener("bad"), good.opener("good")},
		func(line string) { said = append(said, line) })
	if err != nil {
		t.Fatal(err)
	}
	r := s.Beside(main, About{Script: "trace"})
	for range 3 {
		if err := r.Show(&result.Table{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bad.begun || !good.begun {
		t.Error("Begin did not come")
	}
	if bad.tables != 2 || good.tables != 3 || main.tables != 3 {
		t.Errorf("tables shown: bad %d, good %d, main %d; want 2, 3, 3", bad.tables, good.tables, main.tables)
	}
	if !bad.closed || good.closed {
		t.Errorf("closed: bad %v, good %v; want true, false", bad.closed, good.closed)
	}
	want := `write --bad bad.out: the book is full; the run goes on without it`
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("said %q\nwant %q", got, want)
	}
	var d *diag.Error
	if err := s.Close(); !errors.As(err, &d) || d.Class != diag.Run {
		t.Errorf("Close is %v; want an error of the run", err)
	}
	if !good.closed {
		t.Error("the good sink was not closed")
	}
}

// TestMainEndsTheRun checks that only the main place can end the run.
func TestMainEndsTheRun(t *testing.T) {
	main, also := &book{bad: 1}, &book{}
	s, err := OpenSinks(t.Context(), []Opener{also.opener("also")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Beside(main, About{}).Show(&result.Table{}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want what main said", err)
	}
	also.atClose = errFull
	if err := s.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close is %v, want what the sink said", err)
	}
}

// When one cannot be opened, those before it are closed.
func TestAllSinksOpenOrNone(t *testing.T) {
	first := &book{}
	_, err := OpenSinks(t.Context(), []Opener{first.opener("first"), {Option: "second",
		Open: func(context.Context) (Sink, error) { return nil, errFull }}}, nil)
	if !errors.Is(err, errFull) || !first.closed {
		t.Errorf("got %v, first closed %v; want its error, true", err, first.closed)
	}
}
