package why

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A truth is what a scenario of testdata/causes.c says of itself.
type truth struct {
	Name  string
	TID   int32
	NS    int64
	Parts []truthPart
}

// A truthPart is what a cause took of a span. Chain are the names of the threads that lead to it.
type truthPart struct {
	Kind, Chain string
	Least, Most int64
}

// is reports that a kind of cause is that of the part.
func (p truthPart) is(kind result.WhyKind) bool {
	return kind.String() == p.Kind || p.Kind == "stolen" && isStolen(kind)
}

// not says that something else was told of the part.
func (p truthPart) not(name string, got int64) string {
	return fmt.Sprintf("%s: %s of %s: got %d ns, want %d to %d", name, p.Kind, p.Chain, got, p.Least, p.Most)
}

func isStolen(kind result.WhyKind) bool {
	return kind == result.WhyIRQ || kind == result.WhySoftirq || kind == result.WhySteal
}

// readTruth reads what the program printed.
func readTruth(t testing.TB, output string) (all []truth) {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), `{"name"`) {
			continue
		}
		var one truth
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		all = append(all, one)
	}
	return all
}

// program compiles testdata/causes.c, once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "causes")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "causes")
	cmd := exec.Command("gcc", "-O2", "-static", "-pthread", "-o", file, "testdata/causes.c")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, text)
	}
	return file, nil
})

// chain are the names of the threads of a part's path, the span's first.
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

// A proof has the scenarios whose breakdown was the truth, in one run of several: others
// who work and trace on the machine disturb one or the other.
type proof map[string]bool

// check compares what was told of spans with the truth, and reports the scenarios that were never right.
// Parts that do not add up, and causes that took less than is told, are errors at once.
func (p proof) check(t testing.TB, truths []truth, told map[int32]*result.WhySpan) (missing []string) {
	t.Helper()
	for _, want := range truths {
		got := told[want.TID]
		if got == nil {
			if !p[want.Name] {
				missing = append(missing, want.Name+": no span")
			}
			continue
		}
		for _, w := range append(checkSum(got), wrong(want, got)...) {
			t.Errorf("%s\n%s", w, story(got))
		}
		switch less := lacking(want, got); {
		case p[want.Name]:
		case len(less) == 0 && unknown(got) <= got.NS()/3:
			p[want.Name] = true
		default:
			missing = append(append(missing, less...), story(got))
		}
	}
	return missing
}

// near is by how much a breakdown may be beside the truth: 2 % of the span.
func near(want truth) int64 { return max(want.NS/50, 100_000) }

// wrong reports causes of which more is told than is so, or something else.
func wrong(want truth, got *result.WhySpan) (wrong []string) {
	if off := got.NS() - want.NS; max(off, -off) > near(want) {
		wrong = append(wrong, fmt.Sprintf("%s: span: got %d ns, want %d", want.Name, got.NS(),
			want.NS))
	}
	for _, p := range want.Parts {
		if sum, or := p.in(got); sum > p.Most+near(want) || sum+or < p.Least-near(want) {
			wrong = append(wrong, p.not(want.Name, sum))
		}
	}
	return wrong
}

// lacking reports causes of which less is told than is so. The program does not know of interrupts,
// and some kernels do not tell of all events (see runtime/why/unseen.go): then as much is unknown.
func lacking(want truth, got *result.WhySpan) (lacking []string) {
	for _, p := range want.Parts {
		if sum, _ := p.in(got); sum+stolen(got)+unknown(got) < p.Least-near(want) {
			lacking = append(lacking, p.not(want.Name, sum))
		}
	}
	return lacking
}

// in adds up what a breakdown has of a part. What the program itself does not know may have been told
// instead: interrupts, others that had the CPU, and what is unknown.
func (p truthPart) in(s *result.WhySpan) (sum, instead int64) {
	for i := range s.Parts {
		part := &s.Parts[i]
		switch kind := part.Cause().Kind; {
		case p.is(kind) && chain(part) == p.Chain:
			sum += part.NS()
		case kind == result.WhyUnknown, kind == result.WhyBehind, kind == result.WhyIdle, isStolen(kind):
			instead += part.NS()
		}
	}
	return sum, instead
}

// unknown is how much of a span is.
func unknown(s *result.WhySpan) (ns int64) {
	for i := range s.Parts {
		if part := &s.Parts[i]; part.Cause().Kind == result.WhyUnknown {
			ns += part.NS()
		}
	}
	return ns
}

// stolen is what interrupts took of a span.
func stolen(s *result.WhySpan) (ns int64) {
	for i := range s.Parts {
		if part := &s.Parts[i]; isStolen(part.Cause().Kind) {
			ns += part.NS()
		}
	}
	return ns
}

// story tells a breakdown in lines, for messages.
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
