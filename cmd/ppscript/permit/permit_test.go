package permit

import (
	"errors"
	"os"
	"path/filepath"
	"ppscript/runtime/plan"
	"strings"
	"syscall"
	"testing"

	"ppscript/runtime/text/diag"
)

// What lies below a directory is decided as the kernel follows links: out/up/../x
// is beside the target of up.
func TestWithinFollowsLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	err = errors.Join(os.MkdirAll("out/sub", 0o755), os.MkdirAll("other/sub", 0o755),
		os.Symlink(dir+"/other/sub", "out/up"), os.Symlink("../other/new", "out/new"),
		os.Symlink("new", "out/new2"),
		os.Symlink("sub/here", "out/here"), os.Symlink("loop", "out/loop"), os.Symlink("out", "way"),
		os.WriteFile("other/file", nil, 0o600), os.Symlink("../other/file", "out/file"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(path, allow string, want bool) {
		t.Helper()
		for _, p := range []string{path, dir + "/" + path} {
			for _, a := range []string{allow, dir + "/" + allow} {
				if got := within(p, a); got != want {
					t.Errorf("%s within %s: got %v, want %v", p, a, got, want)
				}
			}
		}
	}
	f("out/x", "out", true)
	f("out/x", "way", true)
	f("way/x", "out", true)
	f("out/x", "out/x", true)
	f("out/sub/../x", "out", true)
	f("out/here", "out", true)
	f("outer", "out", false)
	f("out/../x", "out", false)
	f("out/up/x", "out", false)
	f("out/up/../x", "out", false) // other/x
	f("out/up/../x", "other", true)
	f("out/file", "out", false)
	f("out/file", "other", true)
	f("out/new", "out", false) // a file that is not there yet
	f("out/new2", "out", false)
	f("out/new2", "other", true)
	f("out/loop", "out", false)
	f("out/none/x", "out", false)
}

// The hint's option allows the refused file.
func TestHintOfRefusedWrites(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	err = errors.Join(os.MkdirAll("out", 0o755), os.MkdirAll("other/sub", 0o755),
		os.Symlink(dir+"/other/new", "out/new"), os.Symlink(dir+"/other/sub", "out/up"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out/x", "out/new", "out/up/../x", "none/x"} {
		p := &Permits{Typed: func() bool { return false }, Say: func(string) {}}
		u := plan.Use{Kind: plan.Writes, Name: name, ScriptText: name}
		refused := p.Check(u)
		_, value, ok := strings.Cut(diag.HintOf(refused), "--allow write=")
		if !ok {
			t.Fatalf("%s: got %v, hint %q", name, refused, diag.HintOf(refused))
		}
		p.Files = []string{value}
		if err := p.Check(u); (err == nil) != (name != "none/x") {
			t.Errorf("%s: with what the hint says: got %v", name, err)
		}
	}
}

// With --look-only no script or option may write or send; events are received from files only.
func TestLookOnly(t *testing.T) {
	p := &Permits{Typed: func() bool { return true }, Named: map[string]bool{"9900": true}, LookOnly: true,
		Files: []string{"/"}, Peers: []string{"9900"}, Say: func(string) {}}
	f := func(kind plan.UseKind, name string, want bool) {
		t.Helper()
		if err := p.Check(plan.Use{Kind: kind, Name: name, ScriptText: name}); (err == nil) != want {
			t.Errorf("%v %s: got %v, want permitted %v", kind, name, err, want)
		}
	}
	f(plan.Writes, "/tmp/x", false)
	f(plan.Sends, "9900", false)
	f(plan.Sends, "/tmp/x", false)
	f(plan.Receives, "9900", false)
	f(plan.Receiving("/tmp/x").Kind, "/tmp/x", true)
	f(plan.Starts, "/bin/true", true)
}

// Somebody at another machine has no file read but programs that every user may read, and nothing started.
func TestForOthers(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755),
		os.WriteFile(dir+"/public", nil, 0o644), os.WriteFile(dir+"/secret", nil, 0o640),
		os.Mkdir(dir+"/private", 0o700), os.WriteFile(dir+"/private/x", nil, 0o644),
		os.Chmod(dir+"/public", 0o644), os.Chmod(dir+"/private/x", 0o644),
		os.Symlink("secret", dir+"/link"), syscall.Mkfifo(dir+"/pipe", 0o644))
	if err != nil {
		t.Fatal(err)
	}
	p := &Permits{Typed: func() bool { return true }, ForOthers: true, Say: func(string) {}}
	f := func(u plan.Use, want bool) {
		t.Helper()
		if err := p.Check(u); (err == nil) != want || err != nil && diag.HintOf(err) == "" {
			t.Errorf("%v %s: got %v, want permitted %v", u.Kind, u.Name, err, want)
		}
	}
	f(plan.Receiving(dir+"/public"), false)
	f(plan.Receiving(dir+"/pipe"), false)
	f(plan.Use{Kind: plan.Reads, Name: dir + "/public"}, false)
	f(plan.Use{Kind: plan.Starts, Name: "/bin/true"}, false)
	f(plan.Probing("libc"), true)
	f(plan.Probing(dir+"/public"), true)
	for _, name := range []string{"secret", "private/x", "link", "pipe", "none"} {
		f(plan.Probing(dir+"/"+name), false)
	}
	f(plan.Probing("/dev/null"), false)
}
