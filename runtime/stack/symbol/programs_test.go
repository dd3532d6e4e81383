package symbol

import (
	"bufio"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ppscript/runtime/stack/dso"

	"ppscript/tests/testkit"
)

var built struct {
	sync.Mutex
	dir  string
	done map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// program builds one of the programs of testdata, once. What is "cpp",
// "rust-legacy", "rust-v0", "go", "go-stripped", "c",
// "target".
func program(t testing.TB, what string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "symbol")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.done = dir, map[string]string{}
	}
	if file, ok := built.done[what]; ok {
		return file
	}
	out := filepath.Join(built.dir, what)
	var cmd *exec.Cmd
	switch what {
	case "c":
		testkit.Requires(t, testkit.GCC)
		cmd = exec.Command("gcc", "-O2", "-g", "-Wl,--build-id", "-o", out, "testdata/chain.c")
	case "target", "target-static":
		testkit.Requires(t, testkit.GCC)
		arg := []string{"-O1", "-o", out, "testdata/target.c"}
		if what == "target-static" {
			arg = append(arg, "-static")
		}
		cmd = exec.Command("gcc", arg...)
	case "cpp":
		testkit.Requires(t, testkit.GXX)
		cmd = exec.Command("g++", "-O2", "-g", "-o", out, "testdata/shop.cc")
	case "cpp-compressed":
		testkit.Requires(t, testkit.GXX)
		cmd = exec.Command("g++", "-O2", "-g", "-gz=zlib", "-gdwarf-4", "-o", out, "testdata/shop.cc")
	case "rust-legacy", "rust-v0":
		testkit.Requires(t, testkit.Rustc)
		cmd = exec.Command("rustc", "-O", "-g", "-Z", "unstable-options", "-C",
			"symbol-mangling-version="+what[5:], "-o", out, "testdata/shop.rs")
		cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1")
	case "go":
		cmd = exec.Command("go", "build", "-o", out, "testdata/shop.go")
	case "go-large":
		cmd = exec.Command("go", "build", "-o", out, "cmd/gofmt")
	case "go-stripped":
		cmd = exec.Command("go", "build", "-ldflags=-s -w", "-o", out, "testdata/shop.go")
	default:
		t.Fatalf("no program %s", what)
	}
	if strings.HasPrefix(what, "go") {
		// The developer's GOFLAGS may have -trimpath, which leaves other names of files.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", what, err, text)
	}
	built.done[what] = out
	return out
}

// run runs a tool and returns its output.
func run(t testing.TB, stdin string, name string, arg ...string) string {
	t.Helper()
	cmd := exec.Command(name, arg...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arg, " "), err, errs.String())
	}
	return string(out)
}

// tableOf reads the functions of a file.
func tableOf(t testing.TB, path string) (*Table, *dso.Store, *dso.File) {
	t.Helper()
	store := dso.NewStore(dso.Options{})
	t.Cleanup(func() { store.Close() })
	f, err := store.Open(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(store, f)
	if err != nil {
		t.Fatal(err)
	}
	return table, store, f
}

// nm is the output of binutils' nm for a file: functions with a size, by name.
func nm(t testing.TB, path string) map[string]Func {
	t.Helper()
	testkit.Requires(t, testkit.Binutils)
	fs := map[string]Func{}
	lines := bufio.NewScanner(strings.NewReader(run(t, "", "nm", "-S", path)))
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		if len(w) != 4 || !strings.Contains("tTwWi", w[2]) {
			continue
		}
		addr, _ := strconv.ParseUint(w[0], 16, 64)
		size, _ := strconv.ParseUint(w[1], 16, 64)
		fs[w[3]] = Func{Name: w[3], Addr: addr, Size: size}
	}
	return fs
}

// TestFunctionsAgreeWithNm checks that every function that nm lists is found at its address, by a
// name that nm gives to that address.
func TestFunctionsAgreeWithNm(t *testing.T) {
	for _, what := range []string{"c", "cpp", "rust-legacy", "rust-v0", "go"} {
		t.Run(what, func(t *testing.T) {
			path := program(t, what)
			table, _, _ := tableOf(t, path)
			want := nm(t, path)
			if len(want) < 5 {
				t.Fatalf("got %d functions from nm, want some", len(want))
			}
			byAddr := map[uint64][]string{}
			for name, f := range want {
				byAddr[f.Addr] = append(byAddr[f.Addr], name)
			}
			for name, f := range want {
				for _, off := range []uint64{0, f.Size / 2, f.Size - 1} {
					i, ok := table.Find(f.Addr + off)
					if !ok {
						t.Fatalf("%s+%#x: not found", name, off)
					}
					got := table.At(i)
					same := false
					for _, n := range byAddr[got.Addr] {
						if n == got.Name || strings.HasPrefix(n, got.Name+"@") {
							same = true
						}
					}
					if !same || off == 0 && got.Addr != f.Addr {
						t.Errorf("%s+%#x: got %s at %#x, want one of %q", name, off, got.Name,
							got.Addr, byAddr[f.Addr])
					}
				}
			}
		})
	}
}

// A stripped Go program still has its own table.
func TestStrippedGo(t *testing.T) {
	full, _, _ := tableOf(t, program(t, "go"))
	path := program(t, "go-stripped")
	if f, err := elf.Open(path); err != nil || f.Section(".symtab") != nil {
		t.Fatalf("got %v and a symbol table, want none", err)
	}
	got, _, _ := tableOf(t, path)
	names := map[string]bool{}
	for i := range got.Len() {
		names[got.At(i).Name] = true
	}
	missing := 0
	for i := range full.Len() {
		name := strings.TrimSuffix(strings.TrimSuffix(full.At(i).Name, ".abi0"), ".abiinternal")
		if strings.HasPrefix(name, "main.") && !names[name] {
			t.Errorf("%s: not found", name)
		}
		if !names[name] {
			missing++
		}
	}
	if missing > full.Len()/20 {
		t.Errorf("got %d of %d functions missing, want few", missing, full.Len())
	}
}
