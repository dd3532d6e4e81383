package symbol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/stack/dso"
	"ppscript/tests/testkit"
)

// stripped copies a program without its symbol table.
func stripped(t *testing.T, path string) (dir, file string) {
	t.Helper()
	testkit.Requires(t, testkit.Binutils)
	dir = t.TempDir()
	file = filepath.Join(dir, "prog")
	run(t, "", "strip", "-o", file, path)
	return dir, file
}

// found reports whether a local function of the program has a name.
func found(t *testing.T, store *dso.Store, file, name string, want Func) bool {
	t.Helper()
	f, err := store.Open(nil, file)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(store, f)
	if err != nil {
		t.Fatal(err)
	}
	i, ok := table.Find(want.Addr + want.Size/2)
	return ok && table.At(i) == want
}

func TestStrippedWithoutAnything(t *testing.T) {
	path := program(t, "c")
	want := nm(t, path)["recurse"]
	_, file := stripped(t, path)
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	if found(t, store, file, "recurse", want) {
		t.Error("got a name, want none")
	}
	f, _ := store.Open(nil, file)
	s := New(Options{})
	s.opt.Maps = nil
	table, err := ReadTable(store, f)
	if err != nil || table.Len() == 0 {
		t.Errorf("got %v, %v; want the functions of the PLT at least", table, err)
	}
}

// The debug file with the same build-id, below a directory for such files.
func TestDebugFileByBuildID(t *testing.T) {
	path := program(t, "c")
	want := nm(t, path)["recurse"]
	_, file := stripped(t, path)
	debug := t.TempDir()
	store := dso.NewStore(dso.Options{DebugDirs: []string{debug}})
	defer store.Close()
	f, err := store.Open(nil, file)
	if err != nil || len(f.BuildID) != 40 {
		t.Fatalf("got build-id %q and error %v, want 40 digits", f.BuildID, err)
	}
	at := filepath.Join(debug, ".build-id", f.BuildID[:2], f.BuildID[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "", "objcopy", "--only-keep-debug", "--compress-debug-sections", path, at)
	if !found(t, store, file, "recurse", want) {
		t.Error("got no name, want that of the debug file")
	}
}

// The debug file that .gnu_debuglink names, beside the program; one with
// another checksum is not believed.
func TestDebugFileByLink(t *testing.T) {
	path := program(t, "c")
	want := nm(t, path)["recurse"]
	dir, file := stripped(t, path)
	link := filepath.Join(dir, ".debug", "prog.debug")
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "", "objcopy", "--only-keep-debug", path, link)
	run(t, "", "objcopy", "--add-gnu-debuglink="+link, file)
	store := dso.NewStore(dso.Options{DebugDirs: []string{}})
	defer store.Close()
	if !found(t, store, file, "recurse", want) {
		t.Error("got no name, want that of the linked file")
	}

	b, err := os.ReadFile(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, append(b, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	other := dso.NewStore(dso.Options{DebugDirs: []string{}})
	defer other.Close()
	if found(t, other, file, "recurse", want) {
		t.Error("got a name from a file with another checksum")
	}
}

// MiniDebugInfo as Fedora makes it: the symbol table as an ELF file, under xz,
// in a section of the stripped program.
func TestMiniDebugInfo(t *testing.T) {
	testkit.Requires(t, testkit.XZ)
	path := program(t, "c")
	want := nm(t, path)["recurse"]
	dir, file := stripped(t, path)
	mini := filepath.Join(dir, "mini")
	run(t, "", "objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment", "--keep-symbol=recurse", "--keep-symbol=leaf", path, mini)
	run(t, "", "xz", mini)
	run(t, "", "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", file)
	store := dso.NewStore(dso.Options{DebugDirs: []string{}})
	defer store.Close()
	if !found(t, store, file, "recurse", want) {
		t.Error("got no name, want that of .gnu_debugdata")
	}
}

// TestPLT checks that stubs of the PLT have the names of the functions that they call, as objdump
// says.
func TestPLT(t *testing.T) {
	testkit.Requires(t, testkit.Binutils)
	path := program(t, "cpp")
	table, _, _ := tableOf(t, path)
	checked := 0
	for line := range strings.Lines(run(t, "", "objdump", "-d", "-j", ".plt", "-j", ".plt.sec", path)) {
		// "0000000000001030 <free@plt>:"
		addr, name, ok := strings.Cut(strings.TrimSpace(line), " <")
		if !ok || !strings.HasSuffix(name, "@plt>:") {
			continue
		}
		want := strings.TrimSuffix(name, ">:")
		i, ok := table.Find(hexNumber(t, addr) + 6)
		if !ok || table.At(i).Name != want {
			t.Errorf("%s: got %v, want %s", addr, ok, want)
		}
		checked++
	}
	if checked < 10 {
		t.Errorf("got %d stubs, want some", checked)
	}
}
