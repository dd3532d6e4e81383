package render

import (
	"bytes"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// TestMarkdownTexts checks that texts that Markdown would read something into are code; others stay
// as they are.
func TestMarkdownTexts(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := string(appendMarkdown(nil, []byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f("", "")
	f("   2 (  2%)", "2 (  2%)")
	f("sched:sched_switch", "sched:sched_switch")
	f("日本語", "日本語")
	f("swapper/0", "swapper/0")
	f("_start", "`_start`")
	f("a__b", "`a__b`")
	f("*", "`*`")
	f("@somebody", "`@somebody`")
	f("#1", "`#1`")
	f(":a:", "`:a:`")
	f("http://x", "`http://x`")
	f("WWW.x.org", "`WWW.x.org`")
	f("R|S", "`R\\|S`")
	f("<b>", "`<b>`")
	f("a`b", "``a`b``")
	f("``", "``` `` ```")
	f(`a\`, "`a\\`")
}

// TestMarkdownPrintsInPieces checks that text that comes in pieces is indented once in each line,
// and what follows begins a line of its own.
func TestMarkdownPrintsInPieces(t *testing.T) {
	var out bytes.Buffer
	r, err := New(&out, Options{Format: "markdown", Time: "mono"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one ", "line\n\n```\n# two", " more"} {
		if err := r.Show(result.TextOf(text)); err != nil {
			t.Fatal(err)
		}
	}
	table := &result.Table{Columns: []result.Column{key("who", 0)}}
	table.Layout = result.Layout{NoDate: true, NoHeader: true}
	table.Rows = [][]event.Value{{event.StrOf("x")}}
	if err := r.Show(table); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "    one line\n\n    ```\n    # two more\n\n| who |\n| --- |\n| x |\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
