package readers

import (
	"encoding/json"
	"path/filepath"
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

// A page shows a run while it lasts, and as a file without a server; its numbers equal the
// results.
func TestLivePage(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Chromium)...)
	b := startBrowser(t)
	t.Run("tables", b.in(tables))
	t.Run("histograms at the end", b.in(histograms))
	t.Run("pictures in a file", b.in(pictures))
	t.Run("slow pairs in a file", b.in(pairs))
}

// in runs a part of a test in the browser.
func (b *browser) in(part func(*testing.T, *browser)) func(*testing.T) {
	return func(t *testing.T) {
		own := *b
		own.t, own.bad = t, nil
		part(t, &own)
		b.last = own.last
		for _, bad := range own.bad {
			t.Error(bad)
		}
	}
}

// tables sort, filter and follow the run.
func tables(t *testing.T, b *browser) {
	b.size(1280, 860)
	p, url := serve(t, "syscalls", "-i", "100ms", "--format", "json", "--http", "127.0.0.1:0")
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
	b.fits()

	// The rows of an interval on the page equal the printed rows.
	b.size(1280, 860)
	b.press("Escape")
	b.eval(`(() => { const i = document.querySelector("input[type=search]"); i.value = "";
		i.dispatchEvent(new Event("input")); i.blur(); })()`, nil)
	b.press("ArrowLeft")
	var at int
	b.eval(`ppscript.at`, &at)
	var rows [][]string
	b.eval(`[...document.querySelectorAll("tbody tr")].map(r => [r.cells[0].textContent, r.cells[1].textContent])`,
		&rows)
	p.Stop()
	b.wait(`document.querySelector("#status").textContent === "ended"`)
	want := printed(t, p.Stdout(), at)
	if len(rows) != len(want) || len(want) < 5 {
		t.Errorf("interval %d: the page has %d rows, %d were printed", at, len(rows), len(want))
	}
	for _, r := range rows {
		if n := strings.ReplaceAll(r[1], ",", ""); n != want[r[0]] {
			t.Errorf("interval %d, %s: the page has %s calls, %s were printed", at, r[0], n, want[r[0]])
		}
	}
}

// printed returns the calls by system call of an interval in JSON.
func printed(t *testing.T, out string, seq int) map[string]string {
	t.Helper()
	calls := map[string]string{}
	for line := range strings.Lines(out) {
		var r struct {
			Type string
			Data struct {
				Seq  int
				Rows []struct {
					Name  string `json:"syscalls_text"`
					Calls json.Number
				}
			}
		}
		if json.Unmarshal([]byte(line), &r) != nil || r.Type != "table" || r.Data.Seq != seq {
			continue
		}
		for _, row := range r.Data.Rows {
			calls[row.Name] = row.Calls.String()
		}
	}
	return calls
}

// histograms: a page of a run without intervals has its results when the run is over.
func histograms(t *testing.T, b *browser) {
	p, url := serve(t, "-c", `tracepoint("sched:sched_switch").by("_cpu").hist("prev_pid")`,
		"--http", "127.0.0.1:0")
	b.open(url)
	b.wait(`window.ppscript && ppscript.state`)
	p.Stop()
	b.wait(`document.querySelector("#status").textContent === "ended" && document.querySelectorAll(".bar").length > 0`)
	b.scheme("light")
	b.picture("histogram-light")
}

// busy is a command that causes events.
var busy = []string{"--", "sh", "-c",
	"for i in 1 2 3 4 5 6; do ls -lR /usr/share/doc/b* >/dev/null; sleep 0.03; done"}

// pictures: flame graphs zoom, search, and show what changed.
func pictures(t *testing.T, b *browser) {
	stacks := filepath.Join(t.TempDir(), "stacks.html")
	profile := []string{testkit.PPScript(t), "profile", "-g", "-F", "997", "-i", "150ms", "--html", stacks}
	testkit.Run(t, append(profile, busy...)...).Want(t, 0)
	b.size(1280, 860)
	b.scheme("light")
	b.open("file://" + stacks)
	b.wait(`window.ppscript && document.querySelectorAll(".frame").length > 10`)
	b.picture("flame-light")
	var shown int
	b.eval(`[...document.querySelectorAll("script")].filter(s => s.offsetHeight > 0).length`, &shown)
	if shown > 0 {
		t.Errorf("%d parts of the file's data are shown as text", shown)
	}
	b.click(`.frame:nth-child(4)`)
	b.wait(`document.querySelectorAll(".frame.outer").length > 0`)
	b.picture("flame-zoom")
	b.eval(`[...document.querySelectorAll("button")].find(b => b.textContent === "Reset zoom").click()`, nil)
	b.wait(`document.querySelectorAll(".frame.outer").length === 0`)
	b.write(`input[type=search]`, "sys")
	b.wait(`document.querySelectorAll(".frame.hit").length > 0`)
	b.picture("flame-search")
	b.eval(`(() => { const s = document.querySelector("section select"); s.selectedIndex = s.options.length - 1;
		s.dispatchEvent(new Event("change")); })()`, nil)
	b.wait(`/shrank/.test(document.querySelector("section footer").textContent)`)
	b.scheme("dark")
	b.picture("flame-diff-dark")
	b.size(390, 800)
	b.open("file://" + stacks)
	b.wait(`document.querySelectorAll(".frame").length > 10`)
	b.picture("flame-phone")
	b.fits()
}

// pairs: a slow pair shows its events on a time axis that can be zoomed; there is a heat map
// of all pairs.
func pairs(t *testing.T, b *browser) {
	dir := t.TempDir()
	slow := filepath.Join(dir, "slow.html")
	testkit.Run(t, append([]string{testkit.PPScript(t), "multi-trace", "-e", "raw_syscalls:sys_enter",
		"-e", "raw_syscalls:sys_exit,sched:sched_switch//untraced/,sched:sched_wakeup//untraced/",
		"--than", "10ms", "--detail=samecpu,-1ms,+1ms", "-i", "200ms",
		"--heatmap", filepath.Join(dir, "h"), "--html", slow}, busy...)...).Want(t, 0)
	b.size(1280, 860)
	b.scheme("light")
	b.open("file://" + slow)
	b.wait(`document.querySelectorAll(".lanes circle").length > 2`)
	b.picture("slow-light")
	b.eval(`document.querySelector(".lanes").scrollIntoView({block: "center"})`, nil)
	b.picture("slow-lanes")
	const events = `document.querySelectorAll(".timeline tbody tr").length`
	const width = `(() => {
		const l = [...ppscript.views.values()].find(v => v.lanes).lanes;
		return l.range[1] - l.range[0];
	})()`
	var all, some int
	var whole, part float64
	b.eval(events, &all)
	b.eval(width, &whole)
	b.drag(".lanes", 0.7, 0.99)
	b.eval(events, &some)
	b.eval(width, &part)
	if some >= all || part > whole/2 {
		t.Errorf("zoomed to a part, %d of %d events and %v of %v ns are shown", some, all, part, whole)
	}
	b.picture("slow-zoomed")
	b.eval(`document.querySelector(".lanes").focus()`, nil)
	b.press("0")
	if b.eval(width, &part); part != whole {
		t.Errorf("after 0, %v of %v ns are shown", part, whole)
	}
	b.eval(`document.querySelector(".heat canvas").scrollIntoView({block: "center"})`, nil)
	b.picture("slow-heat")
	b.scheme("dark")
	b.picture("slow-heat-dark")
	b.size(390, 800)
	b.eval(`document.querySelector(".lanes").scrollIntoView({block: "center"})`, nil)
	b.picture("slow-phone")
	b.fits()
}
