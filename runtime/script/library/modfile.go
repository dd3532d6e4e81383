package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A Mod is the content of a ppscript.mod.
type Mod struct {
	Path     string // path of the library itself
	Requires []module.Version
	// Replaces lists replacements of libraries: a version of another library
	// or, without a version, a directory. Only the replacements of the library
	// in the working directory count.
	Replaces []replace
	file     *modfile.File
}

// A replace replaces Old by New; Old without a version stands for any version.
type replace struct{ Old, New module.Version }

// modLines are the words with which lines of a ppscript.mod may begin.
var modLines = []string{"module", "require", "replace"}

const modExample = "write it as: module git.example.com/perf/lib, then: require git.example.com/perf/base v1.2.0"

// parseMod reads a ppscript.mod; name is for messages.
func parseMod(name string, text []byte) (*Mod, error) {
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, wrongLine(name, text, err, modLines, modExample)
	}
	if err := onlyLines(f.Syntax, text, modLines); err != nil {
		return nil, err
	}
	if f.Module == nil || f.Module.Mod.Path == "" {
		return nil, diag.Errorf(diag.Usage, "read", name, "no module line").
			WithHint("begin it with: module git.example.com/perf/lib")
	}
	m := &Mod{Path: f.Module.Mod.Path, file: f, Replaces: replaces(f.Replace)}
	for _, r := range f.Require {
		if err := checkVersion(r.Mod); err != nil {
			return nil, atLine(f.Syntax, text, r.Syntax.Start, err)
		}
		m.Requires = append(m.Requires, r.Mod)
	}
	return m, nil
}

func replaces(list []*modfile.Replace) []replace {
	var out []replace
	for _, r := range list {
		out = append(out, replace{r.Old, r.New})
	}
	return out
}

// onlyLines returns an error for a line that does not begin with one of words:
// the parser also accepts lines that only go.mod has.
func onlyLines(f *modfile.FileSyntax, text []byte, words []string) error {
	for _, st := range f.Stmt {
		var tokens []string
		switch st := st.(type) {
		case *modfile.Line:
			tokens = st.Token
		case *modfile.LineBlock:
			tokens = st.Token
		}
		if len(tokens) == 0 || slices.Contains(words, tokens[0]) {
			continue
		}
		at, _ := st.Span()
		e := diag.Errorf(diag.Usage, "", "", "a line with %s means nothing here", tokens[0]).
			WithHint("remove the line; there are: %s", strings.Join(words, ", "))
		return atLine(f, text, at, e)
	}
	return nil
}

// wrongLine returns the first error of the parser, with its line.
func wrongLine(name string, text []byte, err error, words []string, example string) error {
	var list modfile.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return (&diag.Error{Op: "read", Subject: name, Cause: err, Class: diag.Usage}).WithHint("%s", example)
	}
	e := list[0]
	cause := e.Err
	for _, unknown := range []string{"unknown directive: ", "unknown block type: "} {
		if word, ok := strings.CutPrefix(e.Err.Error(), unknown); ok {
			cause = fmt.Errorf("unknown line: %s%s", word, diag.DidYouMean(word, words))
		}
	}
	if e.ModPath != "" {
		cause = fmt.Errorf("%s %s: %w", e.Verb, e.ModPath, cause)
	}
	d := &diag.Error{Cause: cause, Class: diag.Usage, Hint: example}
	return atLine(&modfile.FileSyntax{Name: name}, text, e.Pos, d)
}

// atLine adds a position in a file and its line to an error.
func atLine(f *modfile.FileSyntax, text []byte, at modfile.Position, err error) error {
	var d *diag.Error
	if !errors.As(err, &d) || at.Line < 1 {
		return err
	}
	d.Pos = fmt.Sprintf("%s:%d:%d", f.Name, at.Line, max(at.LineRune, 1))
	if lines := strings.Split(string(text), "\n"); at.Line <= len(lines) {
		line := plain.Masked(strings.TrimRight(lines[at.Line-1], "\r\t "))
		if runes := []rune(line); len(runes) > 100 {
			line = string(runes[:100]) + "..."
		}
		d.Excerpt = "    " + line
	}
	return d
}

func checkVersion(v module.Version) error {
	if err := module.CheckPath(v.Path); err != nil {
		return diag.Errorf(diag.Usage, "library", v.Path, "not a library path").
			WithHint("write host/path, such as git.example.com/perf/lib")
	}
	if !semver.IsValid(v.Version) {
		return diag.Errorf(diag.Usage, "library", v.Path, "got version %q, want a semver tag", v.Version).
			WithHint("write for example v1.2.0")
	}
	return nil
}

// setRequires writes the requirements, sorted.
func (m *Mod) setRequires(vs []module.Version) ([]byte, error) {
	slices.SortFunc(vs, func(a, b module.Version) int { return strings.Compare(a.Path, b.Path) })
	var want []*modfile.Require
	for _, v := range vs {
		want = append(want, &modfile.Require{Mod: v})
	}
	m.file.SetRequire(want)
	m.file.Cleanup()
	m.Requires = vs
	return m.file.Format()
}

// findUp returns dir, or the nearest directory above it, that contains a file;
// "" if there is none.
func findUp(dir, file string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, file))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", &diag.Error{Op: "read", Subject: filepath.Join(dir, file), Cause: diag.Reason(err)}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil
		}
		dir = up
	}
}
