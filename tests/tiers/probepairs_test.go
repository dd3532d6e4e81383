package tiers

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

const probePairs = `
work = uprobe(%[1]q, "work", args = "int a, char *s, long b")
back = uretprobe(%[1]q, "work", ret = "long")
note = usdt("demo:args", %[1]q)
gate = usdt("demo:gate", %[1]q)
calls = join([work], [back], key = "tid")
notes = join([note.stack()], [gate], key = "tid")
show = lambda p: print("pair", p.start.a, p.start.b, p.start.arg1, p.start.func, p.end.result, p.end.retval)
around = join([work, note.untraced()], [back], key = "tid")
single = join([work], [back.where("result %% 3 == 0")], key = "tid")

def main(o):
    return %[2]s
`

var (
	// detailTime matches the time of an event relative to the pair.
	detailTime = regexp.MustCompile(`(\| *\+?|[<>]=|^) *[0-9.]+ us|\| +[0-9.]+`)
	// remembered matches values that programs read at the event: texts and variables of a process.
	// Natively they have a value only if the event is read before the process ends.
	remembered = regexp.MustCompile(` (s|arg5|arg6|arg7)(=\S+|\b)`)
	// copyOf matches the path of the program, because other tests run copies of it with the same
	// build id.
	copyOf = regexp.MustCompile(`\(/tmp/\S+/target\)`)
	worked = regexp.MustCompile(` a=(-?\d+) s="(\w+)"`)
	noted  = regexp.MustCompile(` arg1=-(\d+) .* arg5=\d+ arg6=(\d+) arg7=7`)
)

// Pairs of probes that programs send equal those of the native join: arguments in registers
// and in memory, returns, USDT notes, stacks, the flags of the moment in lines, details, and
// events without a partner. Texts and variables of the process are those of the moment of
// the hit.
func TestPairsOfProbesAgree(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Uprobes)...)
	bin := buildProbed(t)
	lines := func(engine, results string) (list []string) {
		t.Helper()
		path := script(t, fmt.Sprintf(probePairs, bin, results))
		feed := fmt.Sprintf("printf 'go\\n' | %s %d > /dev/null", bin, rounds)
		out := testkit.Run(t, testkit.PPScript(t), path, "--engine", engine,
			"--", "sh", "-c", feed).Want(t, 0)
		seen := 0
		for line := range strings.Lines(out.Stdout + out.Stderr) {
			if strings.HasPrefix(line, "ppscript: ") {
				continue
			}
			if engine == "bpf" {
				seen += remembers(t, line)
			}
			for _, x := range []*regexp.Regexp{volatile, detailTime, remembered, address, copyOf} {
				line = x.ReplaceAllString(line, "")
			}
			list = append(list, line)
		}
		if engine == "bpf" && seen < 18+rounds {
			t.Errorf("%s: got %d texts and variables of the moment, want at least %d",
				results, seen, 18+rounds)
		}
		slices.Sort(list)
		return list
	}
	for _, results := range []string{
		`[calls.where("start.a > 2").log(), calls.where(lambda p: p.end.result != 0).each(show), notes.log()]`,
		`[around.slow(than = 0 * ms, detail = detail(same = "tid")), spans(work, back).where("delay > 0").log(), ` +
			`single.unpaired().log()]`,
	} {
		sent, native := lines("bpf", results), lines("perf", results)
		if !slices.Equal(sent, native) || len(sent) < 4*rounds {
			t.Errorf("%s: got\n%s\nwant\n%s", results, strings.Join(sent, ""), strings.Join(native, ""))
		}
	}
	path := script(t, fmt.Sprintf(probePairs, bin, `calls.where("delay > 10000000").log()`))
	explained := testkit.Run(t, testkit.PPScript(t), "explain", path).Want(t, 0).Stdout
	if !strings.Contains(explained, "only what matches leaves it") {
		t.Errorf("got %s, want that only slow pairs leave the kernel", explained)
	}
}

// address matches the address of code in lines of stacks.
var address = regexp.MustCompile(`^ +[0-9a-f]{16} `)

// remembers checks and counts the values in a line that were read at the moment
// of its event.
func remembers(t *testing.T, line string) int {
	t.Helper()
	number := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	if m := worked.FindStringSubmatch(line); m != nil {
		if want := []string{"odd", "even"}[(number(m[1])+4)%2]; m[2] != want {
			t.Errorf("got %q, want s=%q", line, want)
		}
		return 1
	}
	if m := noted.FindStringSubmatch(line); m != nil {
		if want := 10 * ((number(m[1])-3)%4 + 1); number(m[2]) != want {
			t.Errorf("got %q, want arg6=%d", line, want)
		}
		return 1
	}
	return 0
}
