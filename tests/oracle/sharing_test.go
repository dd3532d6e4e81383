package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Contended cache lines, and the code that accesses them, equal those of perf c2c report.
func TestCacheLinesEqualPerfC2C(t *testing.T) {
	testkit.Requires(t, testkit.Perf)
	const data = "../data/sharing.data"
	report := testkit.Run(t, "perf", "c2c", "report", "--stdio", "-f", "-i", data)
	if report.Exit != 0 {
		t.Fatalf("perf c2c: %s", report.Stderr)
	}
	_, text, _ := strings.Cut(report.Stdout, "Shared Data Cache Line Table")
	table, pareto, _ := strings.Cut(text, "Shared Cache Line Distribution Pareto")
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			t.Fatalf("perf c2c: %v", err)
		}
		return n
	}
	// index address node count share hitm lcl rmt records loads stores ...; the loads include those
	// from remote caches a second time, as loads from remote memory: the last column.
	var want, wantCode []string
	lines := regexp.MustCompile(`(?m)^ +\d+ +0x.*$`)
	for _, line := range lines.FindAllString(table, -1) {
		w := strings.Fields(line)
		twice := number(w[len(w)-1])
		want = append(want, fmt.Sprint(number(w[1]), " hitm ", w[5], " ", w[6], " ", w[7], " records ",
			number(w[8])-twice, " loads ", number(w[9])-twice, " stores ", w[10]))
	}
	// Five shares, the offset, node, count, the code, cycles of loads with remote and local HITM and others,
	// records, CPUs; below a line with the number of each line and its address.
	line := int64(0)
	for text := range strings.Lines(pareto) {
		w := strings.Fields(text)
		switch {
		case len(w) == 7 && strings.HasPrefix(w[6], "0x"):
			line = number(w[6])
		case len(w) > 13 && strings.HasSuffix(w[0], "%"):
			wantCode = append(wantCode, fmt.Sprint(line, " ", number(w[5]), " ", number(w[8]), " cpus ",
				w[13]))
		}
	}
	if len(want) != 2 || len(wantCode) != 6 {
		t.Fatalf("perf c2c: got %q and %q, want 2 lines and code at 6 places", want, wantCode)
	}
	out := testkit.Run(t, testkit.PPScript(t), "c2c", "--input", data, "--format", "json").Want(t, 0).Stdout
	tables := testkit.Tables(t, out)
	if len(tables) != 2 {
		t.Fatalf("got %d tables, want 2", len(tables))
	}
	var got, gotCode []string
	fought := map[int64]bool{}
	for _, r := range tables[0].Rows {
		if r.Int(t, "hitm") == 0 {
			continue // perf shows none of these
		}
		fought[r.Int(t, "line")] = true
		got = append(got, fmt.Sprint(r.Int(t, "line"), " hitm ", r.Int(t, "hitm"), " ", r.Int(t, "lcl"), " ",
			r.Int(t, "rmt"), " records ", r.Int(t, "records"), " loads ", r.Int(t, "loads"), " stores ",
			r.Int(t, "stores")))
	}
	for _, r := range tables[1].Rows {
		// perf leaves out code whose loads hit the line in the local cache.
		if fought[r.Int(t, "line")] && r.Int(t, "hitm")+r.Int(t, "stores") > 0 {
			gotCode = append(gotCode, fmt.Sprint(r.Int(t, "line"), " ", r.Int(t, "offset"), " ",
				r.Int(t, "ip"), " cpus ", r.Int(t, "cpus")))
		}
	}
	if !slices.Equal(got, want) { // in the same order
		t.Errorf("got\n%s\nwant perf's\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	slices.Sort(gotCode)
	slices.Sort(wantCode)
	// perf has one row for loads of the same code on different CPUs; ppscript has a row for
	// each code.
	if !slices.Equal(gotCode, slices.Compact(wantCode)) {
		t.Errorf("got\n%s\nwant perf's\n%s", strings.Join(gotCode, "\n"), strings.Join(wantCode, "\n"))
	}
}
