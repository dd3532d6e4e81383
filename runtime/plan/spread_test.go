package plan

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/eventspec"
)

func sentTo(name, to string) *Source {
	s := src(name)
	s.Attrs = append(s.Attrs, eventspec.Attr{Name: "push", Value: to})
	return s
}

// TestPushesShareTheirAddress checks that events with one address share it; an event that is sent
// is not logged.
func TestPushesShareTheirAddress(t *testing.T) {
	p := build(t, Env{},
		&Log{In: &Merge{In: []Stream{sentTo("start", "1"), sentTo("end", "1"), src("start")}}})
	if len(Runs[*PushRun](p)) != 1 || len(Runs[*PushRun](p)[0].Of) != 2 || !p.Order {
		t.Fatalf("got %d addresses, order %v, want one with two events, in order",
			len(Runs[*PushRun](p)), p.Order)
	}
	var got []string
	Runs[*PushRun](p)[0].Send = func(id uint64, e *event.Event) {
		got = append(got, fmt.Sprintf("sent %d@%d", id, e.Time))
	}
	Runs[*PushRun](p)[0].Lose = func(n uint64, _ event.Time) { got = append(got, fmt.Sprintf("lost %d", n)) }
	for _, l := range Runs[*LogRun](p) {
		l.Emit = func(e *event.Event) { got = append(got, fmt.Sprintf("shown@%d", e.Time)) }
	}
	play(p, "start@1 1 4")
	p.Router.Events([]*event.Event{{Kind: event.Lost, Count: 3, Ring: 0}})
	play(p, "end@2 1 1")
	if want := "shown@1 sent 1@1 lost 3 sent 2@2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
	if len(Runs[*LogRun](p)) != 1 {
		t.Errorf("got %d logs, want one of what is not sent", len(Runs[*LogRun](p)))
	}
	if p := build(t, Env{}, &Log{In: sentTo("start", "1")}); len(Runs[*LogRun](p)) != 0 {
		t.Errorf("got %d logs of what is sent, want none", len(Runs[*LogRun](p)))
	}
}

// One event goes to several addresses, and comes from several.
func TestSeveralAddresses(t *testing.T) {
	p := build(t, Env{}, &Log{In: &Merge{In: []Stream{sentTo("start", "1, 2,1"), sentTo("end", "2")}}})
	if len(Runs[*PushRun](p)) != 2 || Runs[*PushRun](p)[0].To != "1" || Runs[*PushRun](p)[1].To != "2" ||
		len(Runs[*PushRun](p)[0].Of) != 1 || len(Runs[*PushRun](p)[1].Of) != 2 {
		t.Fatalf("got %d addresses, want 1 with one event and 2 with both", len(Runs[*PushRun](p)))
	}
	var got []string
	for _, run := range Runs[*PushRun](p) {
		run.Send = func(id uint64, e *event.Event) {
			got = append(got, fmt.Sprintf("%s:%d@%d", run.To, id, e.Time))
		}
	}
	play(p, "start@1 1 4", "end@2 1 1")
	if want := "1:1@1 2:1@1 2:2@2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
	s := src("start")
	s.Attrs = []eventspec.Attr{{Name: "pull", Value: "1,2"}, {Name: "pull", Value: "3"}}
	if from := strings.Join(s.Pull(), " "); from != "1 2 3" || !s.Pulled() || src("start").Pulled() {
		t.Errorf("got %s, want 1 2 3", from)
	}
}

func TestSpreadRefusals(t *testing.T) {
	pulled := src("start")
	pulled.Attrs = []eventspec.Attr{{Name: "pull", Value: "1"}}
	soft := &Source{Spec: eventspec.Spec{
		Kind: eventspec.Software, System: "t", Name: "start",
		Attrs: []eventspec.Attr{{Name: "push", Value: "1"}},
	}}
	for want, r := range map[string]Report{
		"neither sent nor received":    counted(&Counters{In: []*Source{pulled}}),
		"only tracepoints can be sent": &Log{In: soft},
	} {
		if _, err := Build([]Report{r}, Env{Catalog: shelf{}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// What comes from elsewhere is filtered here.
	pulled.Filter = "n > 2"
	p := build(t, Env{}, counted(pulled))
	if p.Events[0].Filter != "" || p.Events[0].Native == nil || !p.Pulls() {
		t.Errorf("got filter %q for the kernel, want it done here", p.Events[0].Filter)
	}
}
