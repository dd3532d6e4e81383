package library

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"
)

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWrongLines(t *testing.T) {
	f := func(text, pos, want string) {
		t.Helper()
		_, err := parseMod("ppscript.mod", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "ppscript.mod:"+pos) ||
			!strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
			t.Errorf("%q: got %v (hint %q), want %q at %s", text, err, diag.HintOf(err), want, pos)
		}
	}
	f("module a.b/c\n\nrequier d.e/f v1.0.0\n", "3:1:", "unknown line: requier (did you mean require?)")
	f("module a.b/c\nrequier (\nd.e/f v1.0.0\n)\n", "2:1:", "did you mean require?")
	f("module a.b/c\ngarbage\n", "2:1:", "unknown line: garbage")
	f("module a.b/c\ngo 1.21\n", "2:1:", "a line with go means nothing here")
	f("module a.b/c\nexclude d.e/f v1.0.0\n", "2:1:", "a line with exclude")
	f("module a.b/c\nrequire d.e/f main\n", "2:", "d.e/f")
	f("module a.b/c\nrequire d.e/f\n", "2:", "require")
	f("module a.b/c\nreplace d.e/f => sub\n", "2:", "replace")
	f("module a.b/c\n(\n", "2:", "")
	for _, text := range []string{
		"module a.b/c\n",
		"module a.b/c\n// a comment\nrequire (\n\td.e/f v1.0.0 // indirect\n)\nreplace d.e/f => ../f\n",
	} {
		if _, err := parseMod("m", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReplace(t *testing.T) {
	shelf, dir, s := world(t)
	shelf.put("ex.com/fork", "v1.5.0", map[string]string{
		ModName:  "module ex.com/base\n",
		"b.star": "x = 150\n",
	})
	get(t, dir, s, "ex.com/disk@v0.3.0")
	mod := filepath.Join(dir, ModName)
	plain := read(t, mod)
	ctx := context.Background()
	f := func(line, want string) {
		t.Helper()
		put(t, mod, plain+line+"\n")
		l := open(t, dir, s)
		if _, _, err := l.Tidy(ctx); err != nil { // pins
			t.Fatal(err)
		}
		l.Close()
		put(t, mod, plain+line+"\n") // an unused requirement was dropped
		name, src, err := open(t, dir, s).Resolve(ctx, "ex.com/base//b.star")
		if err != nil || string(src) != want || name != "ex.com/base@v1.1.0//b.star" {
			t.Errorf("%s: got %s %q, %v, want %q", line, name, src, err, want)
		}
		if n, err := open(t, dir, s).Verify(ctx); err != nil || n != 2 {
			t.Errorf("%s: verify: got %d, %v", line, n, err)
		}
	}
	put(t, filepath.Join(dir, "use.star"), "load(\"ex.com/disk//disk.star\", \"x\")\n")
	f("replace ex.com/base => ex.com/fork v1.5.0", "x = 150\n")
	f("replace ex.com/base v1.1.0 => ex.com/base v1.2.0", "x = 120\n")
	f("replace ex.com/base v1.0.0 => ex.com/fork v1.5.0", "x = 110\n")
	own := t.TempDir()
	put(t, filepath.Join(own, ModName), "module ex.com/base\n")
	put(t, filepath.Join(own, "b.star"), "x = 1\n")
	f("replace ex.com/base => "+own, "x = 1\n")
	put(t, filepath.Join(own, "b.star"), "x = 2\n")
	f("replace ex.com/base => "+own, "x = 2\n")

	// vendor/ has a copy, which is checked as the others are.
	l := open(t, dir, s)
	if _, err := l.Vendor(ctx); err != nil {
		t.Fatal(err)
	}
	l.Close()
	put(t, filepath.Join(own, "b.star"), "x = 3\n")
	if _, src, err := open(t, dir, s).Resolve(ctx, "ex.com/base//b.star"); err != nil ||
		string(src) != "x = 2\n" {
		t.Errorf("vendor: got %q, %v, want the copy", src, err)
	}
	put(t, filepath.Join(dir, "vendor/ex.com/base/b.star"), "x = 666\n")
	refused(t, dir, s, "ex.com/base//b.star", "were changed")
}

func TestWorkspace(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	top := t.TempDir()
	put(t, filepath.Join(top, "mine", ModName), read(t, filepath.Join(dir, ModName)))
	put(t, filepath.Join(top, "mine", SumName), read(t, filepath.Join(dir, SumName)))
	put(t, filepath.Join(top, "base", ModName), "module ex.com/base\nrequire ex.com/new v1.0.0\n")
	put(t, filepath.Join(top, "base", "b.star"), "x = 1\n")
	put(t, filepath.Join(top, "new", ModName), "module ex.com/new\n")
	put(t, filepath.Join(top, "new", "n.star"), "y = 1\n")
	if dirs, err := Work(top, []string{"mine", "base"}); err != nil || len(dirs) != 2 {
		t.Fatal(dirs, err)
	}
	if dirs, err := Work(top, []string{"new"}); err != nil || len(dirs) != 3 {
		t.Fatal(dirs, err)
	}
	ctx := context.Background()
	for _, at := range []string{"mine", "", "new"} {
		for name, want := range map[string]string{
			"ex.com/base//b.star": "x = 1\n",
			"ex.com/new//n.star":  "y = 1\n",
		} {
			if at == "new" && strings.Contains(name, "new") {
				continue // its own
			}
			full, src, err := open(t, filepath.Join(top, at), s).Resolve(ctx, name)
			if err != nil || string(src) != want {
				t.Errorf("in %s: got %s %q, %v", at, full, src, err)
				continue
			}
			// A script of it loads a file beside itself.
			if _, again, err := open(t, filepath.Join(top, at), s).Resolve(ctx, full); err != nil ||
				string(again) != want {
				t.Errorf("in %s: %s: got %q, %v", at, full, again, err)
			}
		}
	}
	off := s
	off.NoWork = true
	if _, src, err := open(t, filepath.Join(top, "mine"), off).
		Resolve(ctx, "ex.com/base//b.star"); err != nil || string(src) != "x = 100\n" {
		t.Errorf("without workspace: got %q, %v", src, err)
	}
	if _, err := Work(top, []string{"nothing"}); err == nil || diag.HintOf(err) == "" {
		t.Errorf("got %v, want that it is no library", err)
	}
	put(t, filepath.Join(top, workName), "use ./mine\nuze ./base\n")
	if _, err := Open(filepath.Join(top, "mine"), s); err == nil ||
		!strings.Contains(err.Error(), "ppscript.work:2:1: unknown line: uze (did you mean use?)") {
		t.Errorf("got %v, want the wrong line", err)
	}
}

func TestLatest(t *testing.T) {
	_, _, s := world(t)
	name, src, err := open(t, t.TempDir(), s).Resolve(context.Background(), "ex.com/base@latest//b.star")
	if err != nil || name != "ex.com/base@v1.2.0//b.star" || string(src) != "x = 120\n" {
		t.Errorf("got %s %q, %v", name, src, err)
	}
}

func TestHintsNameTheScripts(t *testing.T) {
	shelf, _, s := world(t)
	shelf.put("ex.com/bare", "v1.0.0", map[string]string{ModName: "module ex.com/bare\n"})
	f := func(name, want string) {
		t.Helper()
		_, _, err := open(t, t.TempDir(), s).Resolve(context.Background(), name)
		if err == nil || !strings.Contains(err.Error()+"\n"+diag.HintOf(err), want) {
			t.Errorf("%s: got %v (hint %q), want %q", name, err, diag.HintOf(err), want)
		}
	}
	f("ex.com/disk@v0.3.0//d.star", "did you mean sub/d.star?")
	f("ex.com/disk@v0.3.0//sub/x.star", "the library has: disk.star sub/d.star")
	f("ex.com/bare@v1.0.0//x.star", "the library has no scripts")
}
