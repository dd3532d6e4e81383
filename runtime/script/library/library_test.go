package library

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"ppscript/runtime/text/diag"
)

// shelf is a module proxy in a directory.
type shelf struct {
	t   *testing.T
	dir string
}

func (s *shelf) put(path, version string, files map[string]string) {
	s.t.Helper()
	src := s.t.TempDir()
	for name, text := range files {
		p := filepath.Join(src, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755),
			os.WriteFile(p, []byte(text), 0o644)); err != nil {
			s.t.Fatal(err)
		}
	}
	at := filepath.Join(s.dir, path, "@v")
	var zip bytes.Buffer
	err := modzip.CreateFromDir(&zip, module.Version{Path: path, Version: version}, src)
	list, _ := os.ReadFile(filepath.Join(at, "list"))
	err = errors.Join(err, os.MkdirAll(at, 0o755),
		os.WriteFile(filepath.Join(at, version+".zip"), zip.Bytes(), 0o644),
		os.WriteFile(filepath.Join(at, version+".mod"), []byte(files[ModName]), 0o644),
		os.WriteFile(filepath.Join(at, "list"), append(list, version+"\n"...), 0o644))
	if err != nil {
		s.t.Fatal(err)
	}
}

// world is a shelf with two libraries, and a library of the user's.
func world(t *testing.T) (*shelf, string, Settings) {
	s := &shelf{t, t.TempDir()}
	s.put("ex.com/base", "v1.0.0", map[string]string{ModName: "module ex.com/base\n", "b.star": "x = 100\n"})
	s.put("ex.com/base", "v1.1.0", map[string]string{ModName: "module ex.com/base\n", "b.star": "x = 110\n"})
	s.put("ex.com/base", "v1.2.0", map[string]string{ModName: "module ex.com/base\n", "b.star": "x = 120\n"})
	s.put("ex.com/disk", "v0.3.0", map[string]string{
		ModName:      "module ex.com/disk\nrequire ex.com/base v1.1.0\n",
		"disk.star":  `load("ex.com/base//b.star", "x")` + "\n",
		"sub/d.star": "y = 1\n",
	})
	dir := t.TempDir()
	if err := Init(dir, "ex.com/mine"); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", cache).Run() })
	return s, dir, Settings{Cache: cache, Proxy: "file://" + s.dir, Own: filepath.Join(cache, SumName)}
}

func open(t *testing.T, dir string, s Settings) *Library {
	t.Helper()
	l, err := Open(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func get(t *testing.T, dir string, s Settings, args ...string) {
	t.Helper()
	l := open(t, dir, s)
	if _, err := l.Get(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMinimalVersionsAreChosen(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/disk@latest", "ex.com/base@v1.0.0")
	name, src, err := open(t, dir, s).Resolve(context.Background(), "ex.com/base//b.star")
	if err != nil || name != "ex.com/base@v1.1.0//b.star" || string(src) != "x = 110\n" {
		t.Errorf("got %s %q, %v; want 1.1.0: the highest that somebody asks for, not the newest", name, src, err)
	}
	if got := read(t, filepath.Join(dir, ModName)); !strings.Contains(got, "ex.com/base v1.0.0") ||
		!strings.Contains(got, "ex.com/disk v0.3.0") {
		t.Errorf("got %s, want both requirements", got)
	}
	chain, err := open(t, dir, s).Why(context.Background(), "ex.com/base")
	if err != nil || len(chain) != 2 || chain[0].Path != "ex.com/disk" {
		t.Errorf("got why %v, %v; want it because of disk", chain, err)
	}
}

func TestOfflineFromCacheAndVendor(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/disk@v0.3.0")
	if _, _, err := open(t, dir, s).Resolve(context.Background(), "ex.com/base//b.star"); err != nil {
		t.Fatal(err)
	}
	off := s
	off.Proxy = "off"
	if _, _, err := open(t, dir, off).Resolve(context.Background(), "ex.com/disk//sub/d.star"); err != nil {
		t.Errorf("from the cache: %v", err)
	}
	if _, err := open(t, dir, s).Vendor(context.Background()); err != nil {
		t.Fatal(err)
	}
	empty := Settings{Cache: t.TempDir(), Proxy: "off"}
	_, src, err := open(t, dir, empty).Resolve(context.Background(), "ex.com/base//b.star")
	if err != nil || string(src) != "x = 110\n" {
		t.Errorf("from vendor: got %q, %v", src, err)
	}
}

func TestCacheIsReadOnly(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	st, err := os.Stat(filepath.Join(s.Cache, "ex.com/base@v1.0.0", "b.star"))
	if err != nil || st.Mode().Perm()&0o222 != 0 {
		t.Errorf("got %v, %v; want a file that nobody may write", st, err)
	}
}

func TestTidy(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	if err := os.WriteFile(filepath.Join(dir, "a.star"), []byte("load(\"ex.com/disk//disk.star\", \"x\")\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir, s)
	added, dropped, err := l.Tidy(context.Background())
	if err != nil || len(added) != 1 || added[0].Path != "ex.com/disk" || len(dropped) != 1 {
		t.Fatalf("got added %v, dropped %v, %v", added, dropped, err)
	}
	l.Close()
	sum := read(t, filepath.Join(dir, SumName))
	if strings.Contains(sum, "base v1.0.0 ") || !strings.Contains(sum, "ex.com/disk v0.3.0 h1:") ||
		!strings.Contains(sum, "ex.com/base v1.1.0 h1:") {
		t.Errorf("got sum\n%swant the chosen versions only", sum)
	}
	if n, err := open(t, dir, s).Verify(context.Background()); err != nil || n != 2 {
		t.Errorf("verify: got %d, %v, want 2", n, err)
	}
}

func TestErrors(t *testing.T) {
	shelf, dir, s := world(t)
	ctx := context.Background()
	get(t, dir, s, "ex.com/base@v1.0.0")
	for name, f := range map[string]func() error{
		"not found": func() error {
			_, err := open(t, dir, s).Get(ctx, []string{"ex.com/base@v9.9.9"})
			return err
		},
		"want a semver tag": func() error {
			_, err := open(t, dir, s).Get(ctx, []string{"ex.com/base@main"})
			return err
		},
		"not required by": func() error {
			_, _, err := open(t, dir, s).Resolve(ctx, "ex.com/disk//disk.star")
			return err
		},
		"did you mean b.star": func() error {
			_, _, err := open(t, dir, s).Resolve(ctx, "ex.com/base//bb.star")
			return err
		},
		"nothing is fetched": func() error {
			_, err := open(t, dir, Settings{Cache: s.Cache, Proxy: "off"}).
				Get(ctx, []string{"ex.com/disk@v0.3.0"})
			return err
		},
		"in no library": func() error {
			_, err := open(t, t.TempDir(), s).Get(ctx, []string{"ex.com/base"})
			return err
		},
		"there is a ppscript.mod already": func() error { return Init(dir, "ex.com/x") },
		"says that it is ex.com/other": func() error {
			shelf.put("ex.com/liar", "v1.0.0", map[string]string{
				ModName:  "module ex.com/other\n",
				"a.star": "",
			})
			_, err := open(t, dir, s).Get(ctx, []string{"ex.com/liar@v1.0.0"})
			return err
		},
		"the contents changed": func() error {
			shelf.put("ex.com/base", "v1.0.0", map[string]string{
				ModName:  "module ex.com/base\n",
				"b.star": "x = 666\n",
			})
			other := s
			other.Cache = t.TempDir()
			t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", other.Cache).Run() })
			_, _, err := open(t, dir, other).Resolve(ctx, "ex.com/base//b.star")
			return err
		},
	} {
		err := f()
		if err == nil || !strings.Contains(err.Error(), name) || diag.HintOf(err) == "" {
			t.Errorf("got %v (hint %q), want %q with a hint", err, diag.HintOf(err), name)
		}
	}
}

func FuzzParseMod(f *testing.F) {
	f.Add("module a.b/c\nrequire d.e/f v1.0.0\n")
	f.Add("module \"x\"\nrequire (\n)\n")
	f.Add("module a.b/c\nreplace d.e/f => ../f\nuse ./x\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMod("m", []byte(text))
		if (err == nil) != (m != nil) {
			t.Errorf("got %v and %v", m, err)
		}
	})
}
