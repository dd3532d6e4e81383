package readers

import (
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

var pageURL = regexp.MustCompile(`live page: (http://\S+)`)

// serve starts a run with a page and returns its address.
func serve(t *testing.T, args ...string) (*testkit.Process, string) {
	t.Helper()
	p := testkit.Start(t, append([]string{testkit.PPScript(t)}, args...)...)
	p.WaitStderr("live page: ")
	m := pageURL.FindStringSubmatch(p.Stderr())
	if m == nil {
		t.Fatalf("no address in %q", p.Stderr())
	}
	return p, m[1]
}

// A page shows a run as it goes: its tables sort and filter, and their numbers are those of
// the results.
func TestLivePage(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Chromium)...)
	b := startBrowser(t)
	b.size(1280, 860)
	p, url := serve(t, "syscalls", "-i", "300", "--format", "json", "--http", "127.0.0.1:0")
	b.open(url)
	b.wait(`window.ppscript && ppscript.frames.size >= 3 && document.querySelectorAll("tbody tr").length > 5`)
	b.scheme("light")
	b.picture("table-light")

	// Sorted by calls, the most first; then the fewest.
	column := `[...document.querySelectorAll("tbody tr")].map(r => +r.cells[1].textContent.replace(/,/g, ""))`
	for _, order := range []string{"a >= b", "a <= b"} {
		b.click(`th button[data-name="calls"]`)
		b.wait(`(() => {
			const v = ` + column + `;
			return v.length > 5 && v.slice(1).every((b, i) => { const a = v[i]; return ` + order + `; });
		})()`)
	}
	b.click("#follow")
	b.wait(`!ppscript.following`)
	var shown, all int
	b.eval(`document.querySelectorAll("tbody tr").length`, &all)
	b.write(`input[type=search]`, "read|write")
	b.eval(`document.querySelectorAll("tbody tr").length`, &shown)
	if shown == 0 || shown >= all {
		t.Errorf("filtered, %d of %d rows are shown", shown, all)
	}
	b.picture("table-filter")
	b.scheme("dark")
	b.picture("table-dark")
	b.size(390, 800)
	b.picture("table-phone")
	for _, bad := range b.bad {
		t.Error(bad)
	}
	p.Stop()
	b.wait(`document.querySelector("#status").textContent === "ended"`)
	if out := p.Stdout(); strings.Count(out, `"type":"table"`) < 3 {
		t.Errorf("got %.300s, want the tables that the page had", out)
	}
}
