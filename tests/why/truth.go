package why

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/result"
)

// A truth is the breakdown that a scenario of testdata/causes.c prints about itself.
type truth struct {
	Name  string
	TID   int32
	NS    int64
	Parts []truthPart
}

// A truthPart is the time of a cause in a span. Chain has the names of the threads that lead to
// the cause.
type truthPart struct {
	Kind, Chain string
	Least, Most int64
}

// unnamed is the truth if the event was lost by which the thread took the scenario's name: causes
// then have its previous name.
func (t truth) unnamed(before string) truth {
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		if rest, own := strings.CutPrefix(t.Parts[i].Chain, t.Name); own && (rest == "" || rest[0] == '>') {
			t.Parts[i].Chain = before + rest
		}
	}
	return t
}

// hasCause reports whether a cause is the cause of the part.
func (p truthPart) hasCause(cause result.WhyLink) bool {
	switch p.Kind {
	case "stolen":
		return isStolen(cause.Kind)
	}
	return cause.Kind.String() == p.Kind
}

// not returns the message that the part has another cause.
func (p truthPart) not(name string, got int64) string {
	return fmt.Sprintf("%s: %s of %s: got %d ns, want %d to %d", name, p.Kind, p.Chain, got, p.Least, p.Most)
}

func isStolen(kind result.WhyKind) bool {
	return kind == result.WhyIRQ || kind == result.WhySoftirq || kind == result.WhySteal
}

// readTruth parses the output of the program.
func readTruth(t testing.TB, output string) (all []truth) {
	t.Helper()
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, `{"name"`) {
			continue
		}
		var one truth
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

// chain returns the names of the threads in a part's path; the span's thread is
// the first.
func chain(p *result.WhyPart) string {
	var names []string
	for _, link := range p.Path {
		names = append(names, link.Task.Comm)
	}
	return strings.Join(names, ">")
}

// checkSum reports parts that do not add up to their span.
func checkSum(s *result.WhySpan) (wrong []string) {
	at := s.From
	for i, p := range s.Parts {
		if p.From != at || p.To <= p.From || len(p.Path) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s: part %d is from %d to %d, after %d", s.Task.Comm, i,
				p.From, p.To, at))
		}
		at = p.To
	}
	if at != s.To {
		wrong = append(wrong, fmt.Sprintf("%s: parts end at %d, the span at %d", s.Task.Comm, at, s.To))
	}
	return wrong
}

// A Proof collects the scenarios whose breakdown equalled the truth in one of several
// runs: other work and tracers on the machine disturb some of them in each run.
type Proof struct {
	Right map[string]bool
	// Percent is the allowed difference between breakdown and truth, in percent of the span's
	// length; 0 means 2.
	Percent int64
	// Guest allows wrong causes to be measured again: if the host takes the CPU away while a read
	// begins, the disk is ready before the thread sleeps, and the time belongs to the system call.
	Guest bool
}

// Output compares the JSON output of ppscript why with the output of the program, and reports the
// scenarios that were never right.
func (p *Proof) Output(t testing.TB, output string) (missing []string) {
	t.Helper()
	truths := readTruth(t, output)
	if len(truths) == 0 {
		t.Fatalf("the program said nothing:\n%s", output)
	}
	return p.check(t, truths, readShown(t, output))
}

// check compares the breakdowns of spans with the truth, and reports the scenarios that were never
// right. Parts that do not add up, and causes that are too long, are errors at once.
func (p *Proof) check(t testing.TB, truths []truth, told map[int32]*result.WhySpan) (missing []string) {
	t.Helper()
	if p.Right == nil {
		p.Right = map[string]bool{}
	}
	for _, want := range truths {
		got := told[want.TID]
		if got == nil {
			if !p.Right[want.Name] {
				missing = append(missing, want.Name+": no span")
			}
			continue
		}
		wrong, less := p.wrong(want, got), p.lacking(want, got)
		if p.Guest {
			wrong, less = nil, append(wrong, less...)
		}
		for _, w := range append(checkSum(got), wrong...) {
			t.Errorf("%s\n%s", w, story(got))
		}
		switch {
		case p.Right[want.Name]:
		case len(less) == 0 && unknown(got) <= got.NS()/3:
			p.Right[want.Name] = true
		default:
			missing = append(append(missing, less...), story(got))
		}
	}
	return missing
}

// near is the allowed difference between a breakdown and the truth.
func (p *Proof) near(want truth) int64 { return max(want.NS*cmp.Or(p.Percent, 2)/100, 100_000) }

// wrong returns causes that are too long, or that are not in the truth.
func (p *Proof) wrong(want truth, got *result.WhySpan) (wrong []string) {
	for _, part := range want.Parts {
		if sum, or := part.in(got); sum > part.Most+p.near(want) || sum+or < part.Least-p.near(want) {
			wrong = append(wrong, part.not(want.Name, sum))
		}
	}
	return wrong
}

// lacking returns causes that are too short. The program cannot see interrupts, and some kernels do
// not report all events (see runtime/why/unseen.go): then this time is unknown.
func (p *Proof) lacking(want truth, got *result.WhySpan) (lacking []string) {
	for _, part := range want.Parts {
		if sum, _ := part.in(got); sum+stolen(got)+unknown(got) < part.Least-p.near(want) {
			lacking = append(lacking, part.not(want.Name, sum))
		}
	}
	return lacking
}

// in adds up the time of a part in a breakdown. The breakdown may have causes instead that the
// program cannot see: interrupts, other threads that had the CPU, and unknown time.
func (p truthPart) in(s *result.WhySpan) (sum, instead int64) {
	for i := range s.Parts {
		part := &s.Parts[i]
		switch kind := part.Cause().Kind; {
		case p.hasCause(part.Cause()) && chain(part) == p.Chain:
			sum += part.NS()
		case kind == result.WhyUnknown, kind == result.WhyBehind, kind == result.WhyIdle, isStolen(kind):
			instead += part.NS()
		}
	}
	return sum, instead
}

// unknown returns the nanoseconds of a span that have no known cause.
func unknown(s *result.WhySpan) (ns int64) {
	for i := range s.Parts {
		if part := &s.Parts[i]; part.Cause().Kind == result.WhyUnknown {
			ns += part.NS()
		}
	}
	return ns
}

// stolen is the time of interrupts in a span.
func stolen(s *result.WhySpan) (ns int64) {
	for i := range s.Parts {
		if part := &s.Parts[i]; isStolen(part.Cause().Kind) {
			ns += part.NS()
		}
	}
	return ns
}

// story returns a breakdown as lines, for messages.
func story(s *result.WhySpan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d ns %s\n", s.Task.Comm, s.NS(), s.Doubt)
	type row struct {
		what string
		ns   int64
		n    int
	}
	var rows []*row
	byWhat := map[string]*row{}
	for i := range s.Parts {
		var what []string
		for _, l := range s.Parts[i].Path {
			what = append(what, fmt.Sprintf("%s: %v %s (%s)", l.Task.Comm, l.Kind, l.What, l.Whom.Comm))
		}
		key := strings.Join(what, " > ")
		if byWhat[key] == nil {
			byWhat[key] = &row{what: key}
			rows = append(rows, byWhat[key])
		}
		byWhat[key].ns += s.Parts[i].NS()
		byWhat[key].n++
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "  %9d ns %5d x %s\n", r.ns, r.n, r.what)
	}
	return b.String()
}

// BesideShell is a shell script. It runs a virtual machine whose virtual CPU, a marked span, shares
// a CPU with a shell that computes. The guest counts down from spin between two exits.
func BesideShell(minikvm string, spin int) string {
	const script = "while :; do :; done & shell=$!; %s -spin %d -mark 200ms 100000000; status=$?; " +
		"kill $shell; exit $status"
	return fmt.Sprintf(script, minikvm, spin)
}
