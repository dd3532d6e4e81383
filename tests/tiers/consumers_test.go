package tiers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// consumers are results that receive every event that programs send, and make no
// table of groups: functions of the script, a database, a picture. DIR is replaced.
const consumers = emitting + `
related = join([enter], [exit], key = "_tid")
ours = calls.where("nr == 110")

def batch(l):
    for e in l:
        print("batch", e.nr, e.n, e.ret)

def pair_batch(l):
    for p in l:
        print("pairs", p.start.id, p.end.ret)

def main(o):
    return [
        ours.each(lambda e: print("each", e.nr, e.n, e.ret)),
        ours.batches(batch),
        related.where("start.id == 110").each(lambda p: print("pair", p.start.id, p.end.ret)),
        related.where("start.id == 110").batches(pair_batch),
        sql(ours, query = "select nr, count(*) n, sum(n) total, min(ret) least from call group by nr"),
        sql(
            related.where("start.id == 110").let(nr = "start.id", ret = "end.ret"),
            query = "select nr, count(*) n, min(ret) least, sum(delay > 0) some from 'sys_enter => sys_exit' group by nr",
        ),
        ours.heatmap("DIR/fold", "n"),
        related.where("start.id == 110").heatmap("DIR/pair", "start.id"),
    ]
`

// Every record of programs reaches these consumers: as many as the target's
// calls, with the same values as natively.
func TestConsumersOfEmitsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls = 200
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-sleep", "20", "-copy", "10")
		l.OnOneCPU()
		before := l.Switches()
		dirs := [2]string{t.TempDir(), t.TempDir()}
		var processes [2]*testkit.Process
		for i, engine := range []string{"bpf", "perf"} {
			processes[i] = run(t, l, engine, strings.ReplaceAll(consumers, "DIR", dirs[i]),
				"--allow", "write="+dirs[i])
		}
		same := l.Switches() == before
		l.Do()
		var seen [2][]string
		for i, p := range processes {
			out := p.Stop().Want(t, 0)
			if sent := strings.Contains(out.Stderr, "sends what matches"); sent != (i == 0) {
				t.Errorf("engine %d: got sent by programs %v, want %v:\n%s", i, sent, i == 0, out.Stderr)
			}
			seen[i] = consumed(t, out.Stdout+out.Stderr, dirs[i])
		}
		l.End()
		counts := map[string]int{}
		for _, line := range seen[0] {
			kind, _, _ := strings.Cut(line, " ")
			counts[kind]++
		}
		for _, kind := range []string{"each", "batch", "pair", "pairs", "drawn", "drawnpair"} {
			if counts[kind] != calls {
				wrong = append(wrong, fmt.Sprintf("%s: got %d events, want %d", kind, counts[kind], calls))
			}
		}
		if counts["query"] != 2 {
			wrong = append(wrong, fmt.Sprintf("got %d rows of the queries, want 2", counts["query"]))
		}
		if !slices.Equal(seen[0], seen[1]) {
			wrong = append(wrong, fmt.Sprintf("got %d lines, want %d:\n%.2000s\nwant\n%.2000s", len(seen[0]),
				len(seen[1]), strings.Join(seen[0], "\n"), strings.Join(seen[1], "\n")))
		}
		if !same && len(wrong) > 0 {
			return []string{"the target's runtime did something while only one of them looked"}
		}
		return wrong
	})
}

// consumed returns the lines that functions printed, the rows of the query, and
// the numbers in the files of the pictures, sorted and without times.
func consumed(t *testing.T, output, dir string) (list []string) {
	t.Helper()
	for line := range strings.Lines(output) {
		switch kind, _, _ := strings.Cut(line, " "); kind {
		case "each", "batch", "pair", "pairs":
			list = append(list, strings.TrimSpace(line))
		}
	}
	for _, table := range testkit.Tables(t, output) {
		for _, row := range table.Rows {
			list = append(list, "query "+fmt.Sprint(row))
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.lat"))
	if err != nil || len(files) != 2 {
		t.Fatalf("got files %v, want two: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := "drawn"
		if strings.HasPrefix(filepath.Base(file), "pair") {
			name = "drawnpair"
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) != 2 {
				t.Fatalf("%s: got the line %q, want a time and a number", file, line)
			}
			list = append(list, name+" "+fields[1])
		}
	}
	slices.Sort(list)
	return list
}
