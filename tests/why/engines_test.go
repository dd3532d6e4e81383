package why

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// Two runs that observe the same spans, one by programs in the kernel and one by rings, report the
// same: each cause has the same share, within 2 % and the time that is unknown in one of them.
func TestEnginesAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	causes := program(t)
	testkit.Again(t, func() (wrong []string) {
		dir := t.TempDir()
		rings, programs := filepath.Join(dir, "rings"), filepath.Join(dir, "programs")
		why := func(engine, file string, more ...string) []string {
			args := []string{testkit.PPScript(t), "why", "--engine", engine, "--before", "30ms", "-o", file}
			return append(append(append(args, more...), marked...), "--")
		}
		args := append(why("perf", rings, "-m", "2048"), why("auto", programs)...)
		args = append(append(args, causes, "-w", "60"), programOptions(t)...)
		args = append(args, "timer", "mutex-sleep", "computes", "chain", "behind", "faults")
		testkit.Run(t, args...).Want(t, 0)
		a, b := readFile(t, rings), readFile(t, programs)
		both := 0
		for tid, s := range a {
			if b[tid] == nil {
				continue
			}
			if unknown(s)+unknown(b[tid]) < s.NS()/10 {
				both++
			}
			wrong = append(wrong, disagree(s, b[tid])...)
		}
		if both < 4 {
			wrong = append(wrong, fmt.Sprintf(
				"got %d spans that both know, want 4 of 6: rings %d, programs %d", both, len(a), len(b)))
		}
		t.Logf("%d spans that both know", both)
		return wrong
	})
}

func readFile(t *testing.T, file string) map[int32]*result.WhySpan {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return readShown(t, string(text))
}

// disagree returns causes with different lengths in two breakdowns of a span.
func disagree(a, b *result.WhySpan) (wrong []string) {
	one, other := byCause(a), byCause(b)
	for cause := range other {
		one[cause] += 0
	}
	// If several runs observe an event, one sees it a little later than the
	// other.
	apart := int64(100 * max(len(a.Parts), len(b.Parts)))
	near := max(a.NS(), b.NS())/50 + 100_000 + apart + unknown(a) + unknown(b)
	for cause, ns := range one {
		if d := ns - other[cause]; d > near || -d > near {
			wrong = append(wrong, fmt.Sprintf("%s: %s: got %d ns by rings, %d by programs\n%s%s",
				a.Task.Comm, cause, ns, other[cause], story(a), story(b)))
		}
	}
	return wrong
}

// byCause adds up the parts of a span by the threads that lead to them and by the kind of cause.
func byCause(s *result.WhySpan) map[string]int64 {
	sums := map[string]int64{}
	for i := range s.Parts {
		p := &s.Parts[i]
		if k := p.Cause().Kind; k != result.WhyUnknown {
			sums[chain(p)+": "+k.String()] += p.NS()
		}
	}
	return sums
}
