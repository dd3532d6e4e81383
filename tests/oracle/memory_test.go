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

// The members of samples of memory accesses, and the words for their data
// source, equal perf script's.
func TestMemoryEqualsPerfScript(t *testing.T) {
	testkit.Requires(t, testkit.Perf)
	const data = "../data/memory.data"
	// tid [cpu] time: event: addr data_src |OP LOAD|LVL ...|BLK  N/A weight ip phys_addr
	line := regexp.MustCompile(
		`^\s*(\d+) \[(\d+)\].*/P:\s+([0-9a-f]+)\s+([0-9a-f]+) \|OP (\w+)\|LVL ([^|]+)\|SNP ([^|]+)\|TLB ([^|]+)\|LCK (\w)\S*(?:\|BLK\s+\S+)?\s+(\d+)\s+([0-9a-f]+)\s+([0-9a-f]+)$`)
	var want []string
	number := func(hex string) string {
		n, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatUint(n, 10)
	}
	words := map[string]string{} // perf's words for a data source
	out := testkit.Run(t, "perf", "script", "-i", data, "-f", "-F",
		"tid,cpu,time,event,addr,weight,data_src,phys_addr,ip").Want(t, 0).Stdout
	for l := range strings.Lines(out) {
		m := line.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil {
			t.Fatalf("perf script: %q", l)
		}
		cpu, _ := strconv.Atoi(m[2])
		want = append(want, fmt.Sprint(m[1], " ", cpu, " ", number(m[3]), " ", number(m[4]), " ", m[10], " ",
			number(m[11]), " ", number(m[12])))
		words[number(m[4])] = strings.Join([]string{m[5], m[6], m[7], m[8], m[9]}, "|")
	}
	if len(want) != 60 || len(words) != 4 {
		t.Fatalf("perf script: got %d samples of %d kinds, want 60 of 4", len(want), len(words))
	}
	const fields = "tid cpu addr data_src weight ip phys_addr"
	var got []string
	for _, op := range []string{"loads", "stores"} {
		program := fmt.Sprintf(`memory_access(%q).by("%s").count().text(data_src = data_source)`, op,
			strings.ReplaceAll(fields, " ", `", "`))
		table := last(t, testkit.Run(t, testkit.PPScript(t), "--input", data, "--format", "json", "-c",
			program).Want(t, 0).Stdout)
		for _, r := range table.Rows {
			var cells []string
			for _, f := range strings.Fields(fields) {
				cells = append(cells, strconv.FormatInt(r.Int(t, f), 10))
			}
			got = append(got, strings.Join(cells, " "))
			sameAccess(t, r.Text(t, "data_src_text"), words[cells[3]], op)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant perf's\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// sameAccess compares ppscript's words for a data source with perf's, which
// names a level both by its bits and by its number, and cuts long texts.
func sameAccess(t *testing.T, ours, perfs, op string) {
	t.Helper()
	p, o := strings.Split(perfs, "|"), strings.Split(ours, "|")
	level, _, _ := strings.Cut(o[0], " hit")
	if p[0]+"S" != strings.ToUpper(op) ||
		!strings.Contains(p[1], level) && !strings.HasPrefix(level, "Remote") ||
		strings.HasPrefix(p[1], "Remote") != strings.HasPrefix(level, "Remote") {
		t.Errorf("got %s, want perf's %s", ours, perfs)
	}
	for i, prefix := range []string{"SNP ", "TLB ", "LCK "} {
		if !strings.HasPrefix(o[i+1], prefix+strings.TrimSpace(p[i+2])) {
			t.Errorf("got %s, want perf's %s", ours, perfs)
		}
	}
}
