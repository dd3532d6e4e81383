// Package packages installs the output of packaging in a clean root of Debian,
// and runs it there.
package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/scripts"
	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// pack runs packaging for this machine's architecture and returns the files by
// their last suffix; the files of the hub's package have "hub" before the
// suffix.
func pack(t *testing.T, only string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	// The tree may be tested outside of a git repository.
	line := fmt.Sprintf("cd ../.. && SOURCE_DATE_EPOCH=1700000000 go run ./packaging -version 1.2.3 -o %s "+
		"-arch %s -binary %s -only %s", dir, runtime.GOARCH, testkit.PPScript(t), only)
	out := testkit.StartFor(t, 5*time.Minute, "sh", "-c", line).Wait()
	if out.Exit != 0 {
		t.Fatalf("packaging: %s%s", out.Stdout, out.Stderr)
	}
	found := map[string]string{}
	paths, _ := filepath.Glob(dir + "/*")
	for _, path := range paths {
		name := filepath.Base(path)
		key := name[strings.LastIndexAny(name, ".")+1:]
		if strings.HasPrefix(name, "ppscript-hub-") {
			key = "hub." + key
		}
		found[key] = path
	}
	return found
}

func TestPackages(t *testing.T) {
	testkit.Requires(t, append([]testkit.Need{testkit.Program("mmdebstrap"), testkit.Program("rpm"),
		testkit.Mke2fs},
		testkit.Live...)...)
	root := filepath.Join(t.TempDir(), "root")
	debian := testkit.StartFor(t, 5*time.Minute, "mmdebstrap", "--quiet", "--variant=essential", "bookworm",
		root)
	made := pack(t, "tar,deb,rpm,bill,image")

	t.Run("same bytes", func(t *testing.T) {
		again := pack(t, "tar,deb,rpm,bill,image")
		for kind, path := range made {
			first, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			second, err := os.ReadFile(again[kind])
			if err != nil || !bytes.Equal(first, second) {
				t.Errorf("two of one commit differ: %s (%v)", filepath.Base(path), err)
			}
		}
	})
	if out := debian.Wait(); out.Exit != 0 {
		t.Fatalf("mmdebstrap: %s", out.Stderr)
	}
	for key, name := range map[string]string{"deb": "/ppscript.deb", "hub.deb": "/ppscript-hub.deb"} {
		if err := os.Link(made[key], root+name); err != nil {
			t.Fatal(err)
		}
	}
	disk := image(t, root)
	t.Run("guest", func(t *testing.T) {
		t.Parallel()
		inGuest(t, disk, made)
	})
	t.Run("deb", func(t *testing.T) {
		// The mounts disappear with the namespace.
		out := testkit.StartFor(t, time.Minute, "unshare", "-m", "sh", "-ec", `cd "$1"
			mount --rbind /proc proc; mount --rbind /sys sys; mount --rbind /dev dev
			chroot . sh -ec 'dpkg -i /ppscript.deb; dpkg -V ppscript; ppscript version; ppscript syscalls -- true
				ls /usr/share/man/man1/ppscript-kvm-exit.1.gz /usr/share/doc/ppscript/tutorial.md
				dpkg -i /ppscript-hub.deb; ppscript-hub --help; dpkg -r ppscript-hub
				dpkg -r ppscript; ! ls /usr/bin/ppscript*'`, "sh", root).Wait()
		for _, want := range []string{"events: tracepoints", "exit_group(231)", "ppscript-kvm-exit.1.gz"} {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("no %q in what was printed", want)
			}
		}
		if out.Exit != 0 || t.Failed() {
			t.Errorf("status %d\n%s%s", out.Exit, out.Stdout, out.Stderr)
		}
	})
	t.Run("rpm", func(t *testing.T) {
		out := testkit.Run(t, "rpm", "-qpl", made["rpm"])
		for _, want := range []string{"/usr/bin/ppscript\n", "/usr/share/man/man1/ppscript-why.1.gz\n"} {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("the package has no %s%s%s", want, out.Stdout, out.Stderr)
			}
		}
	})
	t.Run("image", func(t *testing.T) { container(t, made["tar"]) })
	t.Run("manual", func(t *testing.T) { manual(t, made["gz"]) })
	t.Run("bill", func(t *testing.T) {
		text, err := os.ReadFile(made["json"])
		if err != nil {
			t.Fatal(err)
		}
		var bill struct {
			Components []struct{ Name, Version string }
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile("../../go.mod")
		if err != nil {
			t.Fatal(err)
		}
		known := 0
		for _, c := range bill.Components {
			if strings.Contains(string(mod), c.Name+" "+c.Version) {
				known++
			}
		}
		if known < 20 {
			t.Errorf("%d of %d modules are those of go.mod", known, len(bill.Components))
		}
	})
}

// The installed program is small, and the hub's server is a separate program beside it.
func TestHubIsAProgramOfItsOwn(t *testing.T) {
	testkit.Requires(t, testkit.Program("go"))
	dir := t.TempDir()
	small, hub := dir+"/ppscript", dir+"/ppscript-hub"
	out := testkit.StartFor(t, 5*time.Minute, "go", "build", "-trimpath", "-tags", "nohub", "-ldflags=-s -w",
		"-o", small, "ppscript/cmd/ppscript").Wait()
	if out.Exit != 0 {
		t.Fatalf("build: %s", out.Stderr)
	}
	info, err := os.Stat(small)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(40_000_000); runtime.GOARCH == "amd64" && info.Size() > most {
		t.Errorf("%d bytes are installed, want at most %d", info.Size(), most)
	}
	out = testkit.Run(t, small, "hub")
	for _, want := range []string{"there is no " + hub, "the package ppscript-hub", "make install HUB=1"} {
		if out.Exit != 1 || !strings.Contains(out.Stderr, want) {
			t.Errorf("without the program: status %d, no %q in %s", out.Exit, want, out.Stderr)
		}
	}
	if err := os.Symlink(testkit.PPScript(t), hub); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{small, "hub", "--listen", "nowhere"}, {hub, "--listen", "nowhere"}} {
		out := testkit.Run(t, line...)
		if out.Exit != 2 || !strings.Contains(out.Stderr, "listen nowhere: want HOST:PORT") {
			t.Errorf("%s: status %d, %s", line, out.Exit, out.Stderr)
		}
	}
	p := testkit.StartFor(t, time.Minute, small, "hub", "--listen", "127.0.0.1:0")
	p.WaitStderr("the hub is at nats://127.0.0.1:")
	p.Signal(syscall.SIGINT)
	if out := p.Wait(); out.Exit != 0 {
		t.Errorf("status %d: %s", out.Exit, out.Stderr)
	}
}

// container follows the hashes of an image to its layer, and runs the program in
// a root that has nothing but this layer.
func container(t *testing.T, path string) {
	files := map[string][]byte{}
	unpack(t, path, func(h *tar.Header, r io.Reader) error {
		b, err := io.ReadAll(r)
		files[h.Name] = b
		return err
	})
	blob := func(d descriptor) []byte {
		sum, ok := strings.CutPrefix(d.Digest, "sha256:")
		b := files["blobs/sha256/"+sum]
		if !ok || len(b) != d.Size || fmt.Sprintf("%x", sha256.Sum256(b)) != sum {
			t.Fatalf("blob %s: %d bytes, not those that it names", d.Digest, len(b))
		}
		return b
	}
	read := func(b []byte) (m manifest) {
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	index := read(blob(read(files["index.json"]).Manifests[0]))
	m := read(blob(index.Manifests[0]))
	blob(m.Config)
	layer, err := gzip.NewReader(bytes.NewReader(blob(m.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	packed := filepath.Join(root, "layer")
	text, err := io.ReadAll(layer)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := testkit.Run(t, "tar", "-C", root, "-xf", packed); out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	if out := testkit.Run(t, "chroot", root, "/usr/bin/ppscript", "version"); out.Exit != 0 {
		t.Errorf("status %d: %s", out.Exit, out.Stderr)
	}
}

// manual formats the pages of a tar file with the program that man uses: there is one for
// each profiler and question, none has a mistake, and all fit a terminal.
func manual(t *testing.T, path string) {
	testkit.Requires(t, testkit.Program("groff"))
	dir := t.TempDir()
	if out := testkit.Run(t, "tar", "-C", dir, "-xzf", path); out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	pages, _ := filepath.Glob(dir + "/*/usr/share/man/man1/*.1.gz")
	for _, name := range slices.Concat(stdlib.Names(), scripts.Names(), []string{"record", "hub", "tls"}) {
		page := "ppscript-" + strings.ReplaceAll(name, "_", "-") + ".1.gz"
		if !slices.ContainsFunc(pages, func(path string) bool { return filepath.Base(path) == page }) {
			t.Errorf("%s is missing", page)
		}
	}
	line := "zcat " + strings.Join(pages, " ") + " | groff -man -Tascii -P-cbou -ww -rLL=80n"
	out := testkit.Run(t, "sh", "-c", line)
	if out.Exit != 0 || out.Stderr != "" {
		t.Errorf("groff: status %d %s", out.Exit, out.Stderr)
	}
	for line := range strings.Lines(out.Stdout) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	for _, heading := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"} {
		if n := strings.Count(out.Stdout, "\n"+heading+"\n"); n < len(stdlib.Names()) {
			t.Errorf("%d pages have %s", n, heading)
		}
	}
}

type descriptor struct {
	Digest string
	Size   int
}

type manifest struct {
	Manifests []descriptor
	Config    descriptor
	Layers    []descriptor
}

// unpack calls fn for each file of an archive.
func unpack(t *testing.T, path string, fn func(*tar.Header, io.Reader) error) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err == nil {
			err = fn(h, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
