package editors

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppscript/builtins/all"
	"ppscript/tests/testkit"
)

// sample is a script with each kind of word.
const sample = `# who wakes
"""Prose: sched:sched_switch."""
load("@stdlib//lib/x.star", "x")
def main(o):
    if o.than == None and not False:
        return tracepoint("sched:sched_wakeup").by("comm").count()
    return agg.sum("n"), 10 * ms, 0x1f
`

// colours are words of the sample with their kinds in VS Code and in Vim.
var colours = []struct{ line, word, scope, group string }{
	{"# who", "who", "comment.line", "pythonComment"},
	{`"""Prose`, "Prose", "string.quoted.docstring", "pythonString"},
	{"load(", "load", "keyword.control", ""},
	{"def main", "main", "entity.name.function", "pythonFunction"},
	{"if o", "not", "keyword.operator.word", "pythonOperator"},
	{"if o", "than", "source.ppscript", ""},
	{"return trace", "tracepoint", "support.function.ppscript", "ppscriptFunction"},
	{"return trace", "sched:sched_wakeup", "entity.name.tag.event", "ppscriptEvent"},
	{"return trace", "by", "support.function.method", "ppscriptMethod"},
	{"return trace", "comm", "string.quoted.double", "pythonString"},
	{"return agg", "agg.sum", "support.function.member", "ppscriptMember"},
	{"return agg", "ms", "support.constant", "ppscriptConstant"},
	{"return agg", "0x1f", "constant.numeric", "pythonNumber"},
}

// place returns the position of a word in the sample: line from 0, column in
// bytes.
func place(t *testing.T, line, word string) (row, column int) {
	t.Helper()
	for i, text := range strings.Split(sample, "\n") {
		at := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(word) + `(\W|$)`).FindStringIndex(text)
		if strings.Contains(text, line) && at != nil {
			return i, at[0] + strings.Index(text[at[0]:], word)
		}
	}
	t.Fatalf("%q is not in the line of %q", word, line)
	return 0, 0
}

// VS Code's own engine applies the grammar for VS Code.
func TestColoursOfVSCode(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Node, testkit.NodeModule("vscode-textmate"),
		testkit.NodeModule("vscode-oniguruma"))
	path, err := filepath.Abs("../../editors/vscode/syntaxes/ppscript.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf(`
const fs = require("fs"), vsctm = require(%q), onig = require(%q);
const wasm = fs.readFileSync(%q + "/release/onig.wasm").buffer;
const lib = onig.loadWASM(wasm).then(() => ({
  createOnigScanner: (p) => new onig.OnigScanner(p), createOnigString: (s) => new onig.OnigString(s)}));
const registry = new vsctm.Registry({onigLib: lib,
  loadGrammar: async () => vsctm.parseRawGrammar(fs.readFileSync(%q, "utf8"), %[4]q)});
registry.loadGrammar("source.ppscript").then((g) => {
  let state = vsctm.INITIAL, lines = [];
  for (const line of fs.readFileSync(0, "utf8").split("\n")) {
    const r = g.tokenizeLine(line, state);
    lines.push(r.tokens.map((x) => ({begin: x.startIndex, end: x.endIndex, scope: x.scopes.join(" ")})));
    state = r.ruleStack;
  }
  console.log(JSON.stringify(lines));
});`, testkit.NodeModulePath("vscode-textmate"), testkit.NodeModulePath("vscode-oniguruma"),
		testkit.NodeModulePath("vscode-oniguruma"), path)
	cmd := exec.CommandContext(t.Context(), "node", "-e", program)
	cmd.Stdin = strings.NewReader(sample)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v %s", err, out)
	}
	var lines [][]struct {
		Begin, End int
		Scope      string
	}
	if err := json.Unmarshal(out, &lines); err != nil {
		t.Fatal(err)
	}
	for _, c := range colours {
		row, column := place(t, c.line, c.word)
		for _, token := range lines[row] {
			if token.Begin <= column && column < token.End && !strings.Contains(token.Scope, c.scope) {
				t.Errorf("%s in %q: got %s, want %s", c.word, c.line, token.Scope, c.scope)
			}
		}
	}
}

// Vim recognizes the type of the file, and colours it.
func TestColoursOfVim(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Vim)
	files, err := filepath.Abs("../../editors/vim")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "wakes.star")
	other := filepath.Join(dir, "other.star")
	const foreign = "def _impl(ctx):\n    pass\n\nrule(_impl)\n"
	for path, text := range map[string]string{script: sample, other: foreign} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := "redir! > " + filepath.Join(dir, "out") + "\n"
	for _, c := range colours {
		row, column := place(t, c.line, c.word)
		asked += fmt.Sprintf("echo synIDattr(synID(%d, %d, 1), 'name')\n", row+1, column+1)
	}
	asked += "echo &filetype &shiftwidth\nsilent edit " + other + "\necho &filetype\nredir END\nqall!\n"
	commands := filepath.Join(dir, "ask.vim")
	if err := os.WriteFile(commands, []byte(asked), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "vim", "-N", "-u", "NONE", "-i", "NONE", "-es",
		"--cmd", "set runtimepath^="+files, "-c", "filetype plugin on", "-c", "syntax on",
		"-c", "edit "+script, "-c", "source "+commands)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("vim: %v %s", err, out)
	}
	told, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(told), "\n")[1:]
	if len(lines) < len(colours)+2 { // Vim also prints a line about the file that it opens
		t.Fatalf("got %q, want %d lines", told, len(colours)+2)
	}
	for i, c := range colours {
		if c.group != "" && lines[i] != c.group {
			t.Errorf("%s in %q: got %s, want %s", c.word, c.line, lines[i], c.group)
		}
	}
	if got := strings.TrimSpace(lines[len(colours)]); got != "ppscript 4" {
		t.Errorf("file type and indent: got %s", got)
	}
	if got := lines[len(lines)-1]; strings.Contains(got, "ppscript") {
		t.Errorf("a file of another program: got %s", got)
	}
}

// The grammars contain all words of the language; after a change of these they must
// be generated again.
func TestGrammarsAreCurrent(t *testing.T) {
	t.Parallel()
	r, err := all.Tests(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"vscode/syntaxes/ppscript.tmLanguage.json", "vim/syntax/ppscript.vim"} {
		grammar, err := os.ReadFile("../../editors/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range r.All() {
			for _, word := range strings.Split(b.Name, ".") {
				if !regexp.MustCompile(`\b` + word + `\b`).Match(grammar) {
					t.Errorf("%s: has no %s; run make generate", file, word)
				}
			}
		}
	}
}
