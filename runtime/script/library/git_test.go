package library

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

// A repo is a git repository that git takes for git.example.com/perf/lib.
type repo struct {
	t   *testing.T
	dir string
	s   Settings
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	testkit.Requires(t, testkit.Git)
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "lib")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Repositories beside it do not exist: git says so, and no network is asked.
	for i, kv := range [][2]string{{
		"url.file://" + filepath.Dir(r.dir) + "/.insteadOf", "https://git.example.com/perf/",
	},
		{"url.file:///nowhere/.insteadOf", "https://git.example.com/"}} {
		t.Setenv("GIT_CONFIG_KEY_"+strconv.Itoa(i), kv[0])
		t.Setenv("GIT_CONFIG_VALUE_"+strconv.Itoa(i), kv[1])
	}
	t.Setenv("GIT_CONFIG_COUNT", "2")
	r.git("init", "-q", "--initial-branch", "main")
	cache := t.TempDir()
	t.Cleanup(func() { removeTree(cache) })
	r.s = Settings{Cache: cache, Proxy: "direct", Own: filepath.Join(cache, "own", SumName)}
	return r
}

func (r *repo) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git",
		append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %s", args, out)
	}
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	p := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755),
		os.WriteFile(p, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) tag(tags ...string) {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "one")
	for _, tag := range tags {
		r.git("tag", "--force", tag)
	}
}

// mine makes a library that requires nothing yet.
func (r *repo) mine() string {
	r.t.Helper()
	dir := r.t.TempDir()
	if err := Init(dir, "ex.com/mine"); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

const gitLib = "git.example.com/perf/lib"

func TestStraightFromGit(t *testing.T) {
	r := newRepo(t)
	r.write(ModName, "module "+gitLib+"\n")
	r.write("disk.star", "x = 7\n")
	r.tag("v1.0.0", "v1.1.0-rc1", "not-a-version")
	dir := r.mine()
	get(t, dir, r.s, gitLib+"@latest")
	name, src, err := open(t, dir, r.s).Resolve(context.Background(), gitLib+"//disk.star")
	if err != nil || name != gitLib+"@v1.0.0//disk.star" || string(src) != "x = 7\n" {
		t.Errorf("got %s %q, %v; want the release, not the candidate", name, src, err)
	}
}

// A branch that is called as a version is none.
func TestBranchIsNoVersion(t *testing.T) {
	r := newRepo(t)
	r.write(ModName, "module "+gitLib+"\n")
	r.write("a.star", "x = 1\n")
	r.tag("v1.0.0")
	r.git("checkout", "-q", "-b", "v1.0.0")
	r.write("a.star", "x = 2\n")
	r.git("commit", "-q", "-a", "-m", "branch")
	_, src, err := open(t, r.mine(), r.s).Resolve(context.Background(), gitLib+"@v1.0.0//a.star")
	if err != nil || string(src) != "x = 1\n" {
		t.Errorf("got %q, %v, want the tag's", src, err)
	}
}

func TestLibraryInADirectory(t *testing.T) {
	r := newRepo(t)
	r.write(ModName, "module "+gitLib+"\n")
	r.write("a.star", "x = 1\n")
	r.write("net/tcp/"+ModName, "module "+gitLib+"/net/tcp\n")
	r.write("net/tcp/t.star", "x = 2\n")
	r.tag("v1.0.0", "net/tcp/v0.2.0", "net/tcp/v0.3.0")
	dir := r.mine()
	get(t, dir, r.s, gitLib+"/net/tcp", gitLib)
	l := open(t, dir, r.s)
	name, src, err := l.Resolve(context.Background(), gitLib+"/net/tcp//t.star")
	if err != nil || name != gitLib+"/net/tcp@v0.3.0//t.star" || string(src) != "x = 2\n" {
		t.Errorf("got %s %q, %v", name, src, err)
	}
	// It is none of the outer library's files.
	if _, _, err := l.Resolve(context.Background(), gitLib+"//net/tcp/t.star"); err == nil {
		t.Error("the outer library has the inner one's file")
	}
	if n, err := open(t, dir, r.s).Verify(context.Background()); err != nil || n != 2 {
		t.Errorf("verify: got %d, %v", n, err)
	}
	if _, err := open(t, dir, r.s).Vendor(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, err := open(t, dir, r.s).Verify(context.Background()); err != nil || n != 2 {
		t.Errorf("verify of vendor: got %d, %v", n, err)
	}
}

// TestLinksOfRepositories checks that links and submodules in a repository are not followed:
// nothing on this machine is read through them.
func TestLinksOfRepositories(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("module "+gitLib+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{secret, "/dev/zero", fifo, "/nowhere"} {
		r := newRepo(t)
		if err := os.Symlink(target, filepath.Join(r.dir, ModName)); err != nil {
			t.Fatal(err)
		}
		r.tag("v1.0.0")
		_, err := open(t, r.mine(), r.s).Get(context.Background(), []string{gitLib + "@v1.0.0"})
		if !errors.Is(err, errIrregular) {
			t.Errorf("%s: got %v, want that it is no regular file", target, err)
		}
		if found, _ := filepath.Glob(
			filepath.Join(r.s.Cache, "download/git.example.com/perf/lib/@v/*")); found != nil {
			t.Errorf("%s: got %v in the cache", target, found)
		}
	}
	r := newRepo(t)
	r.write(ModName, "module "+gitLib+"\n")
	if err := os.Symlink(secret, filepath.Join(r.dir, "s.star")); err != nil {
		t.Fatal(err)
	}
	r.tag("v1.0.0")
	if _, src, err := open(t, r.mine(), r.s).
		Resolve(context.Background(), gitLib+"@v1.0.0//s.star"); err == nil {
		t.Errorf("got %q through a link, want no such file", src)
	}
}

func TestSizeOfRepositories(t *testing.T) {
	r := newRepo(t)
	r.write(ModName, "module "+gitLib+"\n// "+strings.Repeat("x", maxMod)+"\n")
	r.tag("v1.0.0")
	_, err := open(t, r.mine(), r.s).Get(context.Background(), []string{gitLib + "@v1.0.0"})
	if err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("got %v, want that its ppscript.mod is too large", err)
	}
	r.write(ModName, "module "+gitLib+"\n")
	// Packed it is nothing, unpacked too much.
	zeros := filepath.Join(r.dir, "zeros.data")
	if err := errors.Join(os.WriteFile(zeros, nil, 0o644), os.Truncate(zeros, maxZip+1)); err != nil {
		t.Fatal(err)
	}
	r.tag("v1.1.0")
	_, err = open(t, r.mine(), r.s).Get(context.Background(), []string{gitLib + "@v1.1.0"})
	if err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got %v, want that it is too large", err)
	}
}

func TestClonesAreBounded(t *testing.T) {
	dir, done := t.TempDir(), make(chan struct{})
	f, err := os.Create(filepath.Join(dir, "pack"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(5000); err != nil {
		t.Fatal(err)
	}
	if !growsBeyond(dir, 4999, done) {
		t.Error("5000 bytes are not more than 4999")
	}
	close(done)
	if growsBeyond(dir, 5000, done) {
		t.Error("5000 bytes are more than 5000")
	}
}

// The messages are ours, not git's.
func TestErrorsOfGit(t *testing.T) {
	r := newRepo(t)
	r.write("a.star", "")
	r.tag("v1.0.0")
	f := func(arg, want string) {
		t.Helper()
		_, err := open(t, r.mine(), r.s).Get(context.Background(), []string{arg})
		if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" ||
			strings.Contains(err.Error(), "fatal:") {
			t.Errorf("%s: got %v (hint %q), want %q", arg, err, diag.HintOf(err), want)
		}
	}
	f("git.example.com/perf/nothing@v1.0.0", "no such repository")
	f(gitLib+"@v1.9.0", "not found")
	f(gitLib+"@v1.0.0", "has no ppscript.mod")
}
