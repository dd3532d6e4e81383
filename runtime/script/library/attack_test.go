package library

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"ppscript/runtime/text/diag"
)

// This file plays an attacker who can write to a cache, to vendor/, to
// ppscript.sum or to a proxy, and an attacker that wants other scripts to run.

// overwrite gives a read-only file other contents.
func overwrite(t *testing.T, name, text string) {
	t.Helper()
	os.Chmod(filepath.Dir(name), 0o755)
	os.Chmod(name, 0o644)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, dir string, s Settings, name, want string) {
	t.Helper()
	_, src, err := open(t, dir, s).Resolve(context.Background(), name)
	if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
		t.Errorf("%s: got %q, %v (hint %q), want %q", name, src, err, diag.HintOf(err), want)
	}
}

func TestEditedCacheIsRefused(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	place := filepath.Join(s.Cache, "ex.com/base@v1.0.0")
	overwrite(t, filepath.Join(place, "b.star"), "x = 666\n")
	refused(t, dir, s, "ex.com/base//b.star", "were changed")
	refused(t, dir, s, "ex.com/base@v1.0.0//b.star", "were changed")
	if _, err := open(t, dir, s).Verify(context.Background()); err == nil {
		t.Error("verify is content")
	}
	// As the hint says.
	if err := removeTree(place); err != nil {
		t.Fatal(err)
	}
	if _, src, err := open(t, dir, s).Resolve(context.Background(), "ex.com/base//b.star"); err != nil ||
		string(src) != "x = 100\n" {
		t.Errorf("got %q, %v, want it unpacked anew", src, err)
	}
	// A file more is a change too: another script could load it.
	os.Chmod(place, 0o755)
	if err := os.WriteFile(filepath.Join(place, "more.star"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, s, "ex.com/base//b.star", "were changed")
}

func TestScriptsRunAsTheyWereHashed(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	l := open(t, dir, s)
	if _, _, err := l.Resolve(context.Background(), "ex.com/base//b.star"); err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(s.Cache, "ex.com/base@v1.0.0", "b.star"), "x = 666\n")
	if _, src, err := l.Resolve(context.Background(), "ex.com/base//b.star"); err != nil ||
		string(src) != "x = 100\n" {
		t.Errorf("got %q, %v, want what was hashed", src, err)
	}
}

func TestEditedVendorIsRefused(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/disk@v0.3.0")
	vendor := func() {
		t.Helper()
		l := open(t, dir, s)
		if _, err := l.Vendor(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	vendor()
	base := filepath.Join(dir, "vendor/ex.com/base/b.star")
	overwrite(t, base, "x = 666\n")
	refused(t, dir, s, "ex.com/base//b.star", "were changed")
	if _, err := open(t, dir, s).Verify(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "vendor/ex.com/base were changed") {
		t.Errorf("verify: got %v", err)
	}
	// Another version than vendor/ has is that version.
	if _, src, err := open(t, dir, s).Resolve(context.Background(), "ex.com/base@v1.2.0//b.star"); err !=
		nil || string(src) != "x = 120\n" {
		t.Errorf("got %q, %v, want the version that was asked for", src, err)
	}
	vendor()
	if _, err := open(t, dir, s).Verify(context.Background()); err != nil {
		t.Errorf("verify after vendor: %v", err)
	}
	// A list that says another version than was copied.
	list := filepath.Join(dir, vendorList)
	overwrite(t, list, strings.Replace(read(t, list), "base v1.1.0", "base v1.2.0", 1))
	refused(t, dir, s, "ex.com/base//b.star", "not in "+filepath.Join(dir, SumName))
	// A link in the place of a file.
	vendor()
	if err := errors.Join(os.Remove(base), os.Symlink("/etc/passwd", base)); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, s, "ex.com/base//b.star", "b.star")
}

func TestLostSumIsNotPinnedAgain(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	sum := filepath.Join(dir, SumName)
	for _, cut := range []string{"ex.com/base v1.0.0 ", "ex.com/base v1.0.0/" + ModName} {
		whole := read(t, sum)
		var kept []string
		for _, line := range strings.SplitAfter(whole, "\n") {
			if !strings.HasPrefix(line, cut) {
				kept = append(kept, line)
			}
		}
		overwrite(t, sum, strings.Join(kept, ""))
		refused(t, dir, s, "ex.com/base//b.star", "not in "+sum)
		if _, err := open(t, dir, s).Verify(context.Background()); err == nil {
			t.Errorf("%s: verify is content", cut)
		}
		if read(t, sum) == whole {
			t.Errorf("%s: pinned again", cut)
		}
		// A user who sees it may.
		var said []string
		tty := s
		tty.Pin, tty.Note = true, func(line string) { said = append(said, line) }
		l := open(t, dir, tty)
		if _, _, err := l.Resolve(context.Background(), "ex.com/base//b.star"); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if read(t, sum) != whole || len(said) != strings.Count(cut, " ")-1 {
			t.Errorf("%s: got sum\n%s, said %q", cut, read(t, sum), said)
		}
	}
}

// If the archive is there, an edited copy beside it is never pinned.
func TestFirstPinIsOfTheArchive(t *testing.T) {
	_, dir, s := world(t)
	get(t, dir, s, "ex.com/base@v1.0.0")
	overwrite(t, filepath.Join(s.Cache, "ex.com/base@v1.0.0", "b.star"), "x = 666\n")
	if err := os.Remove(filepath.Join(dir, SumName)); err != nil {
		t.Fatal(err)
	}
	tty := s
	tty.Pin = true
	refused(t, dir, tty, "ex.com/base//b.star", "were changed")
}

// Outside of a library the user's own ppscript.sum pins.
func TestNamedVersionsArePinned(t *testing.T) {
	shelf, _, s := world(t)
	out := t.TempDir()
	use := func() error {
		l := open(t, out, s)
		_, _, err := l.Resolve(context.Background(), "ex.com/base@v1.0.0//b.star")
		return errors.Join(err, l.Close())
	}
	if err := use(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s.Own); !strings.Contains(got, "ex.com/base v1.0.0 h1:") {
		t.Fatalf("got %q", got)
	}
	if err := use(); err != nil {
		t.Error(err)
	}
	// The tag moves; nothing is in the cache.
	shelf.put("ex.com/base", "v1.0.0", map[string]string{
		ModName: "module ex.com/base\n", "b.star": "x = 666\n",
	})
	other := s
	other.Cache = t.TempDir()
	t.Cleanup(func() { removeTree(other.Cache) })
	refused(t, out, other, "ex.com/base@v1.0.0//b.star", "the contents changed")
}

// A proxy in a directory may have anything in the place of its files.
func TestFilesOfAProxy(t *testing.T) {
	_, dir, s := world(t)
	at := filepath.Join(strings.TrimPrefix(s.Proxy, "file://"), "ex.com/odd/@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	mod := filepath.Join(at, "v1.0.0.mod")
	for name, put := range map[string]func() error{
		"fifo":   func() error { return syscall.Mkfifo(mod, 0o600) },
		"device": func() error { return os.Symlink("/dev/zero", mod) },
		"large":  func() error { return errors.Join(os.WriteFile(mod, nil, 0o600), os.Truncate(mod, 1<<40)) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := open(t, dir, s).Get(ctx, []string{"ex.com/odd@v1.0.0"})
		cancel()
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want an error at once", name, err)
		}
		os.Remove(mod)
	}
	// An archive that is small, and unpacks to more than a library may have.
	if err := os.WriteFile(mod, []byte("module ex.com/odd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := t.TempDir()
	zeros := filepath.Join(src, "zeros")
	var zip bytes.Buffer
	err := errors.Join(os.WriteFile(zeros, nil, 0o600), os.Truncate(zeros, maxZip+1),
		modzip.CreateFromDir(&zip, module.Version{Path: "ex.com/odd", Version: "v1.0.0"}, src),
		os.WriteFile(filepath.Join(at, "v1.0.0.zip"), zip.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir, s).Get(context.Background(), []string{"ex.com/odd@v1.0.0"}); err == nil ||
		!strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got %v, want that it is too large", err)
	}
}

// A ppscript.mod of one's own that is a FIFO is an error, too.
func TestOwnModIsAFifo(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, ModName), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Settings{Cache: t.TempDir()}); !errors.Is(err, errIrregular) {
		t.Errorf("got %v, want that it is no regular file", err)
	}
}

func TestStaleScratchIsRemoved(t *testing.T) {
	_, dir, s := world(t)
	old := time.Now().Add(-time.Hour)
	stale, live, fresh := filepath.Join(s.Cache, "tmp-1"), filepath.Join(s.Cache, "tmp-2"),
		filepath.Join(s.Cache, "tmp-3")
	for _, d := range []string{stale, live, fresh} {
		if err := os.MkdirAll(filepath.Join(d, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if d != fresh {
			os.Chmod(filepath.Join(d, "sub"), 0o555)
			os.Chtimes(d, old, old)
		}
	}
	f, err := os.Open(live)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	get(t, dir, s, "ex.com/base@v1.0.0")
	if exists(stale) || !exists(live) || !exists(fresh) {
		t.Errorf("stale is there: %v, of a live process: %v, just made: %v; want only the stale one gone",
			exists(stale), exists(live), exists(fresh))
	}
	if left, _ := filepath.Glob(filepath.Join(s.Cache, "tmp-*")); len(left) != 2 {
		t.Errorf("got %v, want our own gone", left)
	}
}
