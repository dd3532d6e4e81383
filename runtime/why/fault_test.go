package why_test

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// faultsOf is the history of a thread that has so many faults of 2 us each, with a time between two, and then
// computes for 400 us; it begins and ends with calls. The last number is when it ends.
func faultsOf(n, between int) (history string, to int) {
	var b strings.Builder
	b.WriteString("a=10/11\n0 0 a enter getppid\n1 0 a exit getppid\n")
	at := 1 + between
	for range n {
		fmt.Fprintf(&b, "%d 0 a fault\n%d 0 a minor\n", at, at+2)
		at += 2 + between
	}
	at += 400
	fmt.Fprintf(&b, "%d 0 a enter getppid\n%d 0 a exit getppid\n", at, at+1)
	return b.String(), at
}

// A storm of faults, most of whose time is not between their events, is told as faults, and that this is an
// estimate. Of few faults, and of those with work between them, nothing but their events tells.
func TestStormOfFaults(t *testing.T) {
	f := func(n, between int, least, most float64) {
		t.Helper()
		history, to := faultsOf(n, between)
		h := tell(history)
		got := why.New(h.config()).Explain(h.span("a", 1, to), why.History{Events: h.events()})
		whole(t, got)
		faults, user := 0.0, 0.0
		for i := range got.Parts {
			switch l := got.Parts[i].Path[0]; l.Kind {
			case result.WhyFault:
				faults += float64(got.Parts[i].NS()) / 1e3
				if l.What != "minor" {
					t.Errorf("got a %s page fault, want a minor one", l.What)
				}
			case result.WhyUser:
				user += float64(got.Parts[i].NS()) / 1e3
			}
		}
		if faults < least || faults > most || faults+user != float64(to-1) {
			t.Errorf("%d faults, %d us between them: got %v us of faults and %v of user code in %d, "+
				"want %v to %v", n, between, faults, user, to-1, least, most)
		}
		if estimated := strings.Contains(got.Doubt, "an estimate"); estimated != (faults > float64(2*n)) {
			t.Errorf("%d faults, %d us between them: got doubt %q", n, between, got.Doubt)
		}
	}
	f(200, 6, 1600-8, 1600) // all but what precedes the first, and follows the last
	f(200, 1, 599, 600)
	f(20, 6, 40, 40)
	f(200, 50, 400, 400)
}
