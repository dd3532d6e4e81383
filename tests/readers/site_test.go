package readers

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// TestSite opens the book's web site from files: every page fits on a screen and on a
// telephone, pictures are drawn, and the search finds pages.
func TestSite(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Chromium)
	dir := t.TempDir()
	if out := testkit.Run(t, testkit.Build(t, "docs/site"), "-o", dir); out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	b := startBrowser(t)
	open := func(page string) {
		t.Helper()
		b.open("file://" + filepath.Join(dir, page))
		b.wait(`document.readyState === "complete" && location.pathname.endsWith("` + page + `")`)
	}

	b.size(1280, 900)
	open("how-it-works.html")
	var drawn []struct {
		Src   string
		Width int
	}
	b.wait(`[...document.images].every(i => i.complete)`)
	b.eval(`[...document.images].map(i => ({Src: i.src.split("/").pop(), Width: i.naturalWidth}))`, &drawn)
	if len(drawn) < 5 {
		t.Errorf("%d pictures on the page: %v", len(drawn), drawn)
	}
	for _, p := range drawn {
		if p.Width == 0 {
			t.Errorf("picture %s is not drawn", p.Src)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for i := range drawn {
			b.eval(fmt.Sprintf(`document.images[%d].scrollIntoView({block: "center"})`, i), nil)
			b.picture(fmt.Sprintf("site-%s-%s", strings.TrimSuffix(drawn[i].Src, ".svg"), scheme))
		}
	}
	var pages []string
	b.eval(`[...document.querySelectorAll("#menu a")].map(a => a.getAttribute("href"))`, &pages)
	for _, wide := range []int{1280, 400} {
		b.size(wide, 900)
		for _, page := range pages {
			open(page)
			var needs int
			if b.eval(`document.documentElement.scrollWidth`, &needs); needs > wide {
				t.Errorf("%s is %d wide on a screen of %d", page, needs, wide)
			}
			b.picture(fmt.Sprintf("site-%d-%s", wide, page))
		}
	}

	b.wait(`document.getElementById("menu").offsetHeight === 0`) // on a telephone, text comes first
	b.click("nav label")
	b.wait(`document.getElementById("menu").offsetHeight > 0`)

	b.size(1280, 900)
	open("index.html")
	b.press("/") // the key / moves the focus to the search field
	b.call("Input.insertText", map[string]any{"text": "flight recorder"}, nil)
	b.wait(`document.querySelectorAll("#found a").length > 0`)
	b.picture("site-search")
	var wide int
	if b.eval(`document.querySelector("nav").scrollWidth`, &wide); wide > 250 {
		t.Errorf("what is found is %d wide, and has 250", wide)
	}
	var best struct{ Text, Page string }
	b.eval(`(a => ({Text: a.textContent, Page: a.getAttribute("href")}))(document.querySelector("#found a"))`,
		&best)
	if !strings.Contains(best.Text, "recorder") && !strings.Contains(best.Text, "flight") {
		t.Errorf("the best of what was found: %+v", best)
	}
	b.click("#found a")
	b.wait(`location.href.endsWith("` + best.Page + `")`)
	b.write("#words", "no-such-word-anywhere")
	b.wait(`document.getElementById("found").textContent.includes("Nothing")`)
	if len(b.bad) > 0 {
		t.Errorf("errors of the pages: %s", strings.Join(b.bad, "\n"))
	}
}
