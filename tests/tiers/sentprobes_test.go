package tiers

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// For probes, programs send the same values as samples have: arguments in registers and in
// memory, returns with their return addresses, USDT notes with and without a semaphore,
// and the flags of the moment. Texts of the process are read at the hit, not when the
// event is read.
func TestProbesAreSent(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Uprobes)...)
	bin := buildProbed(t)
	// Both tiers print the same lines for the same calls, except for the texts.
	lines := func(engine, results string) (events, texts []string) {
		t.Helper()
		program := fmt.Sprintf(sentProbes, bin) + "\ndef main(o):\n    return " + results + "\n"
		args := []string{testkit.PPScript(t), script(t, program), "--engine", engine}
		feed := fmt.Sprintf("printf 'go\\n' | %s %d > /dev/null", bin, rounds)
		out := testkit.Run(t, append(args, "--", "sh", "-c", feed)...).Want(t, 0)
		for line := range strings.Lines(out.Stdout + out.Stderr) {
			if strings.HasPrefix(line, "ppscript: ") {
				continue
			}
			if text, is := strings.CutPrefix(line, "text "); is {
				texts = append(texts, text)
			} else {
				events = append(events, volatile.ReplaceAllString(line, ""))
			}
		}
		slices.Sort(events)
		return events, texts
	}
	for results, want := range map[string]int{
		"[numbers, returns, notes, gates, texts]":    18 + 3*rounds,
		`merge(back, gate).where("_pid != 0").log()`: 2 * rounds,
	} {
		sent, texts := lines("bpf", results)
		sampled, _ := lines("perf", results)
		if len(sent) != want || !slices.Equal(sent, sampled) {
			t.Errorf("got %d lines\n%s\nwant %d\n%s",
				len(sent), strings.Join(sent, ""), want, strings.Join(sampled, ""))
		}
		for i, line := range texts {
			if want := fmt.Sprintf("%d %s\n", i-3, []string{"even", "odd"}[i%2]); line != want {
				t.Errorf("got %q, want %q", line, want)
			}
		}
		if strings.Contains(results, "texts") && len(texts) != rounds {
			t.Errorf("got %d texts, want %d", len(texts), rounds)
		}
	}
}

// A text that a program has read can be a key and be in conditions of results that
// ppscript computes.
func TestTextsOfProbesAreKeys(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Uprobes)...)
	bin := buildProbed(t)
	for _, by := range []string{`by(s = "s")`, `by(s = lambda e: e.s + "")`} {
		program := fmt.Sprintf(sentProbes, bin) +
			"\ndef main(o):\n    return named.where(\"s != \\\"none\\\"\")." + by + ".count()\n"
		feed := fmt.Sprintf("printf 'go\\n' | %s %d > /dev/null", bin, rounds)
		out := testkit.Run(t, testkit.PPScript(t), script(t, program), "--format", "json",
			"--", "sh", "-c", feed).Want(t, 0)
		got := map[string]int64{}
		for _, table := range testkit.Tables(t, out.Stdout) {
			for _, r := range table.Rows {
				got[fmt.Sprint(r["s"])] += r.Int(t, "count")
			}
		}
		if want := map[string]int64{"even": (rounds + 1) / 2, "odd": rounds / 2}; !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", by, got, want)
		}
	}
}

const sentProbes = `
work = uprobe(%[1]q, "work", args = "int a, long s, long b")
named = uprobe(%[1]q, "work", args = "int a, char *s")
back = uretprobe(%[1]q, "work", ret = "long")
note = usdt("demo:args", %[1]q)
gate = usdt("demo:gate", %[1]q)
numbers = work.where("a > 2").each(lambda e: print("work", e.a, e.b, e.arg1, e.func, e.ip %% 4096))
returns = back.each(lambda e: print("back", e.result, e.retval, e.ip %% 4096, e.ret_ip %% 4096))
notes = note.where("arg1 != 1").each(lambda e: print("note", e.arg1, e.arg3, e.arg4, e.arg5))
gates = gate.each(lambda e: print("gate", e.arg1, e._tid == e._pid))
texts = named.each(lambda e: print("text", e.a, e.s))
`

// volatile matches text that differs from run to run: times, processes, CPUs, addresses of loaded
// programs.
var volatile = regexp.MustCompile(`^[0-9-]+ [0-9:.]+ +|` +
	`\S+ +[0-9]+ (\S+ )?\[[0-9]+\] [0-9.]+: |\([0-9a-f]+\)|=0x[0-9a-f]{9,}`)
