package shipped

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// The commands in the README and in some pages of docs/ work: command lines are explained or run,
// scripts are checked, prompt lines are typed.
func TestReadme(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	var text []byte
	for _, page := range []string{
		"README.md", "docs/libraries.md", "docs/pictures.md", "docs/recordings.md",
	} {
		b, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"stdlib": "stdlib", "perf.data": "tests/data/kvm.data", "load.data": "tests/data/load.data",
	} {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	bin := testkit.PPScript(t)
	sh := func(line string) testkit.Output {
		t.Helper()
		return testkit.Run(t, "sh", "-c", `cd "$1" && PATH="$2:$PATH" && `+line, "sh", dir, filepath.Dir(bin))
	}

	scripts := readmeScripts(string(text))
	if len(scripts) != 2 {
		t.Fatalf("got %d scripts, want two", len(scripts))
	}
	for i, name := range []string{"slow.star", "wakers.star"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(scripts[i]), 0o644); err != nil {
			t.Fatal(err)
		}
		sh("ppscript check "+name).Want(t, 0)
	}
	sh("ppscript slow.star --input load.data").Want(t, 0)

	comment := regexp.MustCompile(`\s{2,}#.*`)
	prompt, commands := "", 0
	for line := range strings.Lines(string(text)) {
		line = comment.ReplaceAllString(strings.TrimRight(line, "\n"), "")
		if typed, ok := strings.CutPrefix(line, "    >>> "); ok {
			prompt += strings.ReplaceAll(strings.ReplaceAll(typed, "4711", "1"), "seconds = 5",
				"seconds = 0.2") + "\n"
			continue
		}
		args, ok := strings.CutPrefix(line, "    ppscript ")
		if !ok || strings.Contains(args, "NAME") || strings.Contains(args, "LIB") ||
			strings.Contains(args, " | ") || regexp.MustCompile(`[A-Z]{4}| {4}`).MatchString(args) {
			continue // a synopsis, or a row of a table
		}
		args = strings.ReplaceAll(strings.ReplaceAll(args, "4711", "1"), "1234", "1")
		commands++
		if first, rest, ok := strings.Cut(args, "; ppscript "); ok {
			sh("ppscript "+first).Want(t, 0)
			args = rest
		}
		switch first, _, _ := strings.Cut(args, " "); first {
		case "mod", "test", "fmt", "info": // they run no script
			sh("ppscript help "+first).Want(t, 0)
		default:
			sh("ppscript explain "+args).Want(t, 0)
		}
	}
	if commands < 8 {
		t.Errorf("got %d commands, want 8 at least", commands)
	}

	// The statement that runs until Ctrl-C comes last, over the recording.
	prompt = strings.Replace(prompt, "\nw\n", "\n", 1) + "w\n"
	if err := os.WriteFile(filepath.Join(dir, "typed"), []byte(prompt), 0o644); err != nil {
		t.Fatal(err)
	}
	sh("ppscript < typed").Want(t, 0)
}

// readmeScripts returns the indented blocks that begin with a docstring.
func readmeScripts(text string) []string {
	var list []string
	in := false
	for line := range strings.Lines(text) {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case !in && strings.HasPrefix(code, `"""`) && indented:
			in = true
			list = append(list, code)
		case in && (indented && !strings.HasPrefix(code, "ppscript ") || line == "\n"):
			list[len(list)-1] += strings.TrimSuffix(code, "\n") + "\n"
		default:
			in = false
		}
	}
	return list
}
