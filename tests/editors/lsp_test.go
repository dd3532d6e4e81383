// Package editors tests the language server in the way that an editor uses it:
// by the Language Server Protocol, over the pipes of a process.
package editors

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// An editor has a server, and one document.
type editor struct {
	t        *testing.T
	conn     *jsonrpc2.Conn
	problems chan []problem
	uri      string
	text     string
	version  int
}

type problem struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	Severity int
	Message  string
}

type pipe struct {
	io.Reader
	io.WriteCloser
}

// edit starts a server and opens a document at path.
func edit(t *testing.T, path string) *editor {
	t.Helper()
	e := &editor{t: t, problems: make(chan []problem, 64), uri: "file://" + path}
	ctx, end := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, testkit.PPScript(t), "lsp")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	in, out := testkit.StartPiped(t, cmd)
	told := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn,
		r *jsonrpc2.Request) (any, error) {
		if r.Method == "textDocument/publishDiagnostics" {
			var p struct{ Diagnostics []problem }
			if err := json.Unmarshal(*r.Params, &p); err != nil {
				t.Error(err)
			}
			e.problems <- p.Diagnostics
		}
		return nil, nil
	})
	stream := jsonrpc2.NewBufferedStream(pipe{out, in}, jsonrpc2.VSCodeObjectCodec{})
	e.conn = jsonrpc2.NewConn(ctx, stream, told)
	t.Cleanup(func() {
		// A server ends with status 0 when the editor requests it.
		defer end()
		if err := e.conn.Call(ctx, "shutdown", nil, nil); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		_ = e.conn.Notify(ctx, "exit", nil)
		if err := cmd.Wait(); err != nil {
			t.Errorf("exit: %v", err)
		}
	})
	var made struct{ Capabilities map[string]any }
	e.call("initialize", map[string]any{"processId": os.Getpid(), "capabilities": map[string]any{}}, &made)
	for _, want := range []string{"completionProvider", "hoverProvider", "definitionProvider",
		"documentFormattingProvider"} {
		if made.Capabilities[want] == nil {
			t.Errorf("initialize: got %v, want %s", made.Capabilities, want)
		}
	}
	e.notify("initialized", map[string]any{})
	return e
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	if err := e.conn.Notify(e.t.Context(), method, params); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	if err := e.conn.Call(ctx, method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

// types replaces the content of the document by text.
func (e *editor) types(text string) {
	e.t.Helper()
	e.text = text
	e.version++
	doc := map[string]any{"uri": e.uri, "version": e.version, "languageId": "starlark", "text": text}
	if e.version == 1 {
		e.notify("textDocument/didOpen", map[string]any{"textDocument": doc})
		return
	}
	delete(doc, "text")
	e.notify("textDocument/didChange", map[string]any{"textDocument": doc,
		"contentChanges": []any{map[string]any{"text": text}}})
}

// at makes a request about the position after the text before.
func (e *editor) at(before string) map[string]any {
	e.t.Helper()
	i := strings.Index(e.text, before)
	if i < 0 {
		e.t.Fatalf("%q is not in the document", before)
	}
	head := e.text[:i+len(before)]
	line := strings.Count(head, "\n")
	column := len([]rune(head[strings.LastIndexByte(head, '\n')+1:])) // here a character is one UTF-16 unit
	return map[string]any{"textDocument": map[string]any{"uri": e.uri},
		"position": map[string]any{"line": line, "character": column}}
}

// completions returns the words that the server offers after the text before.
func (e *editor) completions(before string) []string {
	e.t.Helper()
	var items []struct{ Label string }
	e.call("textDocument/completion", e.at(before), &items)
	var labels []string
	for _, item := range items {
		labels = append(labels, item.Label)
	}
	return labels
}

func (e *editor) hover(before string) string {
	e.t.Helper()
	var answer *struct{ Contents struct{ Value string } }
	e.call("textDocument/hover", e.at(before), &answer)
	if answer == nil {
		return ""
	}
	return answer.Contents.Value
}

// definition returns the file and the line, from 1, where the name after the text
// before is defined.
func (e *editor) definition(before string) (file string, line int) {
	e.t.Helper()
	var answer *struct {
		URI   string
		Range struct{ Start struct{ Line int } }
	}
	e.call("textDocument/definition", e.at(before), &answer)
	if answer == nil {
		return "", 0
	}
	return strings.TrimPrefix(answer.URI, "file://"), answer.Range.Start.Line + 1
}

// next waits for the next list of diagnostics.
func (e *editor) next() []problem {
	e.t.Helper()
	select {
	case list := <-e.problems:
		return list
	case <-time.After(time.Minute):
		e.t.Fatal("no problems were told, nor that there are none")
		return nil
	}
}

const good = `"""Who wakes whom."""

load("./lib.star", "short", named = "LONG_NAMES")
load("@stdlib//lib/names.star", "comms")

opts = options(
    than = opt.duration(None, help = "only longer waits"),
    filter = opt.list(help = "names"),
)

wakes = tracepoint("sched:sched_wakeup")

def keep(e):
    """Only those of interest."""
    return e.pid > 0

def main(o):
    found = wakes.where(keep).where(lambda e: e.prio < 100)
    if o.filter:
        found = found.where("pid != 1")
    return found.by("comm").count().top(short)
`

func TestEditor(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib.star")
	source := "LONG_NAMES = [\"é\"]\n\ndef other():\n    pass\n\nshort = 5\n"
	if err := os.WriteFile(lib, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	e := edit(t, filepath.Join(dir, "wakes.star"))
	text := strings.Replace(good, `"comms"`, `"named_comm"`, 1)
	text = strings.Replace(text, "load(\"@stdlib//lib/names.star\", \"named_comm\")\n", "", 1)
	e.types(text)
	if list := e.next(); len(list) != 0 {
		t.Fatalf("got %v, want no problems", list)
	}

	t.Run("problems", func(t *testing.T) {
		e.t = t
		// A mistake is reported at its place, with its hint, before anything is saved;
		// columns count characters, not bytes.
		e.types(strings.Replace(text, `"pid != 1"`, `"é" if o.than else "piid != 1"`, 1))
		e.types(strings.Replace(text, "found.by(", `found.bye(`, 1))
		list := e.next()
		if len(list) != 1 || !strings.Contains(list[0].Message, "by") ||
			list[0].Range.Start.Line != strings.Count(text[:strings.Index(text, "found.by(")], "\n") {
			t.Errorf("got %+v, want that stream has no bye", list)
		}
		e.types("def main(o):\n    é = (1\n")
		if list := e.next(); len(list) != 1 || list[0].Severity != 1 {
			t.Errorf("got %+v, want one error", list)
		}
		// A function that stays interpreted gets a note.
		e.types("def main(o):\n    names = {}\n    return tracepoint(\"sched:sched_wakeup\")" +
			".where(lambda e: names.get(e.comm, 0) < 3).count()\n")
		if list := e.next(); len(list) != 1 || list[0].Severity != 3 ||
			!strings.Contains(list[0].Message, "interpreted") {
			t.Errorf("got %+v, want that the function is interpreted", list)
		}
		// An event that this kernel lacks is a mistake. A user without access to the kernel's
		// events gets a note at the event.
		e.types("def main(o):\n    return tracepoint(\"mine:own_event\").count()\n")
		severity, message, line := 1, "no event system mine", 0
		if testkit.Lacks(testkit.Tracefs) {
			severity, message, line = 3, "mine:own_event: not verified here: no event system mine in ", 1
		}
		if list := e.next(); len(list) != 1 || list[0].Severity != severity ||
			!strings.Contains(list[0].Message, message) || list[0].Range.Start.Line != line {
			t.Errorf("got %+v, want %q in line %d of severity %d", list, message, line, severity)
		}
		e.types(text)
		if list := e.next(); len(list) != 0 {
			t.Errorf("got %v, want no problems", list)
		}
	})
	t.Run("completion", func(t *testing.T) {
		e.t = t
		for before, want := range map[string]string{
			"wakes = trace":      "tracepoint",
			"wakes.wh":           "where",
			"return e.p":         "prio",
			"lambda e: e.":       "target_cpu",
			"if o.":              "than",
			`found.by("co`:       "comm",
			`tracepoint("sched:`: "sched:sched_switch",
			"return fo":          "",
			".top(sh":            "short",
			"= found.wh":         "where", // a variable of the function
		} {
			got := e.completions(before)
			if want != "" && !slices.Contains(got, want) {
				t.Errorf("behind %q: got %q, want %s", before, got, want)
			}
		}
	})
	t.Run("hover", func(t *testing.T) {
		e.t = t
		for before, want := range map[string]string{
			"wakes = tracep":        "tracepoint(",
			"wakes.whe":             "stream.where(",
			".where(kee":            "Only those of interest.",
			"if o.filt":             "`--filter`",
			`tracepoint("sched:sch`: "target_cpu",
			"lambda e: e.pri":       "prio: int",
			".top(shor":             "short: int",
		} {
			if got := e.hover(before); !strings.Contains(got, want) {
				t.Errorf("over %q: got %q, want %q", before, got, want)
			}
		}
		if got := e.hover("Who wak"); got != "" {
			t.Errorf("over a comment: got %q", got)
		}
	})
	t.Run("definition", func(t *testing.T) {
		e.t = t
		self := filepath.Join(dir, "wakes.star")
		line := func(part string) int { return 1 + strings.Count(text[:strings.Index(text, part)], "\n") }
		for _, c := range []struct {
			before, file string
			line         int
		}{
			{"return found.by(\"comm\").count().top(sho", lib, 6},
			{`load("./lib`, lib, 1},
			{`named = "LONG_N`, lib, 1},
			{".where(ke", self, line("def keep")},
			{"found = wak", self, line("wakes = ")},
			{"return fou", self, line("found = wakes")},
			{"if o", self, line("def main")},
			{"return e.pi", self, line("def keep")},
		} {
			if file, n := e.definition(c.before); file != c.file || n != c.line {
				t.Errorf("of %q: got %s:%d, want %s:%d", c.before, file, n, c.file, c.line)
			}
		}
		// For a library inside the program, the server writes a file to read.
		e.types("load(\"@stdlib//lib/names.star\", \"named\")\n\ndef main(o):\n    return named\n")
		file, n := e.definition("return nam")
		source, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(strings.Split(string(source), "\n")[n-1], "def named(") {
			t.Errorf("got %s:%d %v, want the definition of named", file, n, err)
		}
	})
	t.Run("signature", func(t *testing.T) {
		e.t = t
		e.types(text)
		for before, want := range map[string]string{
			`wakes = tracepoint(`:    "tracepoint(... name",
			`found.by("comm"`:        "stream.by(... key",
			".where(lambda e: e":     "stream.where(... condition",
			"only longer waits":      "opt.duration(... help",
			`opt.duration(None, hel`: "opt.duration(... help",
		} {
			var help struct {
				ActiveParameter int
				Signatures      []struct {
					Label      string
					Parameters []struct{ Label string }
				}
			}
			e.call("textDocument/signatureHelp", e.at(before), &help)
			if len(help.Signatures) != 1 || help.ActiveParameter >= len(help.Signatures[0].Parameters) {
				t.Errorf("behind %q: got %+v, want %s", before, help, want)
				continue
			}
			name, _, _ := strings.Cut(help.Signatures[0].Label, "(")
			got := name + "(... " + help.Signatures[0].Parameters[help.ActiveParameter].Label
			if got != want {
				t.Errorf("behind %q: got %s, want %s", before, got, want)
			}
		}
	})
	t.Run("fixes", func(t *testing.T) {
		e.t = t
		e.types(strings.Replace(text, "found.by(", "found.bye(", 1))
		for e.version > 0 {
			list := e.next()
			if len(list) != 1 {
				continue
			}
			var actions []struct {
				Edit struct {
					Changes map[string][]struct{ NewText string }
				}
			}
			e.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": e.uri},
				"range": list[0].Range, "context": map[string]any{"diagnostics": list}}, &actions)
			if len(actions) != 1 || actions[0].Edit.Changes[e.uri][0].NewText != "by" {
				t.Errorf("got %+v, want by in place of bye", actions)
			}
			break
		}
		e.types(text)
	})
	t.Run("rename", func(t *testing.T) {
		e.t = t
		rename := func(before, name string) (lines []int) {
			t.Helper()
			var edit struct {
				Changes map[string][]struct {
					Range struct{ Start struct{ Line, Character int } }
				}
			}
			params := e.at(before)
			params["newName"] = name
			if err := e.conn.Call(t.Context(), "textDocument/rename", params, &edit); err != nil {
				return nil
			}
			for _, c := range edit.Changes[e.uri] {
				lines = append(lines, c.Range.Start.Line)
			}
			slices.Sort(lines)
			return lines
		}
		line := func(part string) int { return strings.Count(text[:strings.Index(text, part)], "\n") }
		again := line("found = found")
		want := []int{line("found = wakes"), again, again, line("return found")}
		if got := rename("fou", "woken"); !slices.Equal(got, want) {
			t.Errorf("found: got lines %v, want %v", got, want)
		}
		if got := rename("wakes = tr", "x"); got != nil {
			t.Errorf("a word of the language: got %v, want none", got)
		}
		if got := rename(".top(sho", "x"); got != nil {
			t.Errorf("what a load brings: got %v, want none", got)
		}
		if got := rename("def ke", "not a name"); got != nil {
			t.Errorf("what is no name: got %v, want none", got)
		}
	})
	t.Run("format", func(t *testing.T) {
		e.t = t
		var edits []struct{ NewText string }
		e.types("x=1\n")
		e.call("textDocument/formatting", e.at("x"), &edits)
		if len(edits) != 1 || edits[0].NewText != "x = 1\n" {
			t.Errorf("got %v, want x = 1", edits)
		}
		// A text with mistakes, and a text that is formatted already, stay as
		// they are.
		for _, text := range []string{"x = (\n", "x = 1\n"} {
			e.types(text)
			e.call("textDocument/formatting", e.at("x"), &edits)
			if len(edits) != 0 {
				t.Errorf("%q: got %v, want no change", text, edits)
			}
		}
	})
}

// A message that is no request, or that is about an unknown document, is
// refused; the server goes on.
func TestWrongRequests(t *testing.T) {
	e := edit(t, "/nowhere/new.star")
	for method, params := range map[string]any{
		"textDocument/hover":      map[string]any{"textDocument": map[string]any{"uri": "file:///not-open"}},
		"textDocument/completion": []int{1},
		"textDocument/references": map[string]any{},
	} {
		if err := e.conn.Call(t.Context(), method, params, nil); err == nil {
			t.Errorf("%s: got no error", method)
		}
	}
	// A file that does not exist yet is checked too, and positions after its end are
	// refused.
	e.types("def main(o):\n    return nope\n")
	if list := e.next(); len(list) != 1 || !strings.Contains(list[0].Message, "nope") {
		t.Errorf("got %v, want that nope is not known", list)
	}
	far := map[string]any{"textDocument": map[string]any{"uri": e.uri},
		"position": map[string]any{"line": 99, "character": 99}}
	var answer any
	e.call("textDocument/hover", far, &answer)
	e.call("textDocument/definition", far, &answer)
}
