package readers

import (
	"encoding/base64"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"ppscript/tests/testkit"
)

// Speedscope, in a browser, reads a pprof profile, and shows for each function the numbers of the
// folded stacks.
func TestSpeedscopeShowsTheFoldedNumbers(t *testing.T) {
	testkit.Requires(t, testkit.Chromium, testkit.NodeModule("speedscope"))
	dir := t.TempDir()
	profile, fold := filepath.Join(dir, "a.pb.gz"), filepath.Join(dir, "a.folded")
	testkit.Run(t, testkit.PPScript(t), "page-faults", "-g", "--input", data(t, "stacks.data"),
		"-o", "/dev/null", "--lines=no", "--pprof", profile, "--flame-graph", fold).Want(t, 0)
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	// Speedscope's command passes a file to the page in this way.
	script := filepath.Join(dir, "a.js")
	load := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", "a.pb.gz",
		base64.StdEncoding.EncodeToString(text))
	if err := os.WriteFile(script, []byte(load), 0o644); err != nil {
		t.Fatal(err)
	}
	page := "file://" + testkit.NodeModulePath("speedscope") + "/dist/release/index.html"
	dom := browse(t, page+"#localProfilePath="+script+"&view=sandwich")

	// A row of the table has: 7 (64%)<bar>, 3 (27%)<bar>, the name of the function.
	row := regexp.MustCompile(`<tr[^>]*><td[^>]*>([0-9.]+)[^<]*<div.*?</td>` +
		`<td[^>]*>([0-9.]+)[^<]*<div.*?</td>` +
		`<td[^>]*>(?:<span[^>]*></span>)?([^<]+)</td></tr>`)
	gotTotal, gotSelf := map[string]int64{}, map[string]int64{}
	for _, m := range row.FindAllStringSubmatch(dom, -1) {
		all, err1 := strconv.ParseInt(m[1], 10, 64)
		own, err2 := strconv.ParseInt(m[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("got row %q, want numbers", m)
		}
		// Functions with the same name in two files have a row each.
		gotTotal[html.UnescapeString(m[3])] += all
		gotSelf[html.UnescapeString(m[3])] += own
	}
	sum, total, self := folded(t, fold)
	if sum != 11 || len(total) < 5 {
		t.Fatalf("got %d samples in %d functions, want the 11 of the recording", sum, len(total))
	}
	for _, comm := range []string{"sh", "true"} {
		delete(total, comm) // in folded stacks this is a frame, in pprof a label
	}
	for name, n := range total {
		if gotTotal[name] != n || gotSelf[name] != self[name] {
			t.Errorf("%s: speedscope shows %d, %d itself; want %d, %d", name, gotTotal[name], gotSelf[name],
				n, self[name])
		}
	}
	if len(gotTotal) != len(total) {
		t.Errorf("speedscope shows %d functions, want %d:\n%.3000s", len(gotTotal), len(total), dom)
	}
}
