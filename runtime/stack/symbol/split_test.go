package symbol

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/stack/dso"
	"ppscript/tests/testkit"
)

// build runs a command that builds a program in a directory of its own.
func build(t *testing.T, command string, arg ...string) {
	t.Helper()
	cmd := exec.Command(command, arg...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", command, strings.Join(arg, " "), err, text)
	}
}

// debugFacts is all that debug information says about a program: frames all over its functions,
// signatures of functions, and the code of lines.
type debugFacts struct {
	addrs  []uint64
	frames [][]string
	sigs   map[string]*Signature
	lines  map[int][]Statement
}

func tellAll(t *testing.T, path, source string) (all debugFacts, notes []error) {
	t.Helper()
	store := dso.NewStore(dso.Options{Note: func(_ *dso.File, err error) { notes = append(notes, err) }})
	defer store.Close()
	f, err := store.Open(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(store, f)
	if err != nil {
		t.Fatal(err)
	}
	all = debugFacts{sigs: map[string]*Signature{}, lines: map[int][]Statement{}}
	addrs := places(table)
	for i := 0; i < len(addrs); i += 1 + len(addrs)/2000 {
		all.addrs = append(all.addrs, addrs[i])
	}
	all.frames, _ = framesAt(t, store, f, all.addrs)
	sigs := OpenSignatures(path)
	defer sigs.Close()
	for i := range table.Len() {
		if fn := table.At(i); own(fn.Name) {
			all.sigs[fn.Name] = sigs.Of(fn.Addr)
		}
	}
	for line := 1; line < 80; line += 3 {
		if list, err := FindLine(path, filepath.Base(source), line); err == nil {
			all.lines[line] = list
		}
	}
	return all, notes
}

// sameTold compares a program whose debug information is in other files with one that is whole.
func sameTold(t *testing.T, what string, got, want debugFacts) {
	t.Helper()
	inlines, params := 0, 0
	for _, frames := range want.frames {
		inlines += len(frames) - 1
	}
	for _, sig := range want.sigs {
		if sig != nil {
			params += len(sig.Params)
		}
	}
	if inlines == 0 || params == 0 || len(want.lines) < 3 {
		t.Fatalf("%s: the whole program has %d inlined functions, %d parameters, %d lines", what, inlines, params,
			len(want.lines))
	}
	if !slices.Equal(got.addrs, want.addrs) {
		t.Fatalf("%s: got other code than in the whole program", what)
	}
	differ := 0
	for i := range want.frames {
		if !slices.Equal(got.frames[i], want.frames[i]) {
			if differ++; differ <= 3 {
				t.Errorf("%s: %#x: got %q, want %q", what, want.addrs[i], got.frames[i], want.frames[i])
			}
		}
	}
	for name, sig := range want.sigs {
		if !reflect.DeepEqual(got.sigs[name], sig) {
			t.Errorf("%s: %s: got %+v, want %+v", what, name, got.sigs[name], sig)
		}
	}
	if !reflect.DeepEqual(got.lines, want.lines) {
		t.Errorf("%s: got lines %v, want %v", what, got.lines, want.lines)
	}
}

var compilers = map[string]testkit.Need{
	"gcc": testkit.GCC, "g++": testkit.GXX, "clang": testkit.Clang, "clang++": testkit.Clang}

// TestSplitDebugInformation checks that debug information in files of the units, and in a package
// of these, tells the same as in the program itself.
func TestSplitDebugInformation(t *testing.T) {
	for _, x := range []struct{ compiler, source, version, pack string }{
		{"gcc", "chain.c", "5", "llvm-dwp"}, // of binutils 2.40 dwp knows no version 5,
		{"gcc", "chain.c", "4", "dwp"},
		{"g++", "shop.cc", "5", "llvm-dwp"},
		{"g++", "shop.cc", "4", "llvm-dwp"},
		{"clang", "chain.c", "5", "llvm-dwp"},
		{"clang++", "shop.cc", "5", "llvm-dwp"},
		{"clang++", "shop.cc", "4", "llvm-dwp"},
	} {
		t.Run(x.compiler+" "+x.source+" "+x.version, func(t *testing.T) {
			testkit.Requires(t, testkit.Binutils, compilers[x.compiler])
			if x.compiler != "gcc" {
				testkit.Requires(t, testkit.Long)
			}
			dir, source := t.TempDir(), "testdata/"+x.source
			whole, split := filepath.Join(dir, "whole"), filepath.Join(dir, "split")
			object := filepath.Join(dir, "unit.o")
			options := []string{"-O2", "-g", "-gdwarf-" + x.version}
			build(t, x.compiler, append(options, "-c", "-o", object, source)...)
			build(t, x.compiler, "-o", whole, object)
			build(t, x.compiler, append(options, "-gsplit-dwarf", "-c", "-o", object, source)...)
			build(t, x.compiler, "-o", split, object)
			want, _ := tellAll(t, whole, source)
			got, notes := tellAll(t, split, source)
			sameTold(t, "file of the unit", got, want)
			if len(notes) > 0 {
				t.Errorf("got notes %v", notes)
			}

			dwo := filepath.Join(dir, "unit.dwo")
			if testkit.Lacks(testkit.Program(x.pack)) {
				return
			}
			build(t, x.pack, "-o", split+".dwp", dwo)
			if err := os.Remove(dwo); err != nil {
				t.Fatal(err)
			}
			got, _ = tellAll(t, split, source)
			sameTold(t, "package", got, want)

			// Without either the lines are there, and it is said that the rest is not.
			if err := os.Remove(split + ".dwp"); err != nil {
				t.Fatal(err)
			}
			got, notes = tellAll(t, split, source)
			if len(got.lines) != len(want.lines) || !strings.Contains(fmt.Sprint(notes), dwo) {
				t.Errorf("got %d lines and notes %v, want %d and that %s is not there", len(got.lines), notes,
					len(want.lines), dwo)
			}
		})
	}
}

// TestTypeUnits checks that types that have units of their own are those that they are in the units
// that use them, in the program, in a file of the unit and in a package.
func TestTypeUnits(t *testing.T) {
	for _, x := range []struct{ compiler, source, version, pack string }{
		{"gcc", "typed.c", "4", "dwp"},
		{"gcc", "typed.c", "5", ""}, // on which llvm-dwp 14 never ends
		{"g++", "shop.cc", "4", ""},
		{"g++", "shop.cc", "5", ""},
		{"clang", "typed.c", "4", ""},
		{"clang", "typed.c", "5", "llvm-dwp"},
	} {
		t.Run(x.compiler+" "+x.version, func(t *testing.T) {
			testkit.Requires(t, compilers[x.compiler])
			if x.compiler != "gcc" {
				testkit.Requires(t, testkit.Long)
			}
			dir, source := t.TempDir(), "testdata/"+x.source
			whole, typed, split := filepath.Join(dir, "whole"), filepath.Join(dir, "typed"),
				filepath.Join(dir, "split")
			object := filepath.Join(dir, "unit.o")
			options := []string{"-O2", "-g", "-gdwarf-" + x.version, "-o", object, "-c", source}
			for _, program := range []string{whole, typed, split} {
				build(t, x.compiler, options...)
				build(t, x.compiler, "-o", program, object)
				options = append(options, map[string]string{whole: "-fdebug-types-section",
					typed: "-gsplit-dwarf"}[program])
			}
			want, _ := tellAll(t, whole, source)
			if x.source == "typed.c" {
				sig := want.sigs["shop_paint"]
				if sig == nil || len(sig.Params) != 3 || len(sig.Params[0].Members) != 2 ||
					sig.Params[1].Names[5] != "GREEN" || sig.Params[2].Type != "struct list *" {
					t.Fatalf("the whole program: got %+v", sig)
				}
			}
			got, notes := tellAll(t, typed, source)
			sameTold(t, "units of types", got, want)
			if len(notes) > 0 {
				t.Errorf("got notes %v", notes)
			}
			got, notes = tellAll(t, split, source)
			sameTold(t, "file of the unit", got, want)
			if len(notes) > 0 {
				t.Errorf("got notes %v", notes)
			}
			if x.pack == "" || testkit.Lacks(testkit.Program(x.pack)) {
				return
			}
			dwo := filepath.Join(dir, "unit.dwo")
			build(t, x.pack, "-o", split+".dwp", dwo)
			if err := os.Remove(dwo); err != nil {
				t.Fatal(err)
			}
			got, _ = tellAll(t, split, source)
			sameTold(t, "package", got, want)
		})
	}
}

// A file of another build has other entries at the same places: it is not believed.
func TestSplitFileOfAnotherBuild(t *testing.T) {
	testkit.Requires(t, testkit.GCC)
	for _, version := range []string{"4", "5"} {
		dir := t.TempDir()
		split, object := filepath.Join(dir, "split"), filepath.Join(dir, "unit.o")
		options := []string{"-g", "-gsplit-dwarf", "-gdwarf-" + version, "-c", "-o", object,
			"testdata/chain.c"}
		build(t, "gcc", append(options, "-O2")...)
		build(t, "gcc", "-o", split, object)
		build(t, "gcc", append(options, "-O1")...)
		_, notes := tellAll(t, split, "chain.c")
		if len(notes) == 0 {
			t.Errorf("version %s: got no note that the file of the unit is another one", version)
		}
	}
}

// What dwz took out of debug files, within one and of several, is found where it is.
func TestSupplementaryFile(t *testing.T) {
	testkit.Requires(t, testkit.GCC, testkit.Dwz)
	for _, x := range []struct {
		compiler, source string
		options          []string
	}{
		{"gcc", "chain.c", nil},
		{"gcc", "chain.c", []string{"--dwarf-5"}},
		{"g++", "shop.cc", nil},
		{"g++", "shop.cc", []string{"--dwarf-5"}},
	} {
		t.Run(x.source+strings.Join(x.options, " "), func(t *testing.T) {
			testkit.Requires(t, compilers[x.compiler])
			if x.compiler != "gcc" {
				testkit.Requires(t, testkit.Long)
			}
			dir, source := t.TempDir(), "testdata/"+x.source
			whole := filepath.Join(dir, "whole")
			build(t, x.compiler, "-O2", "-g", "-gdwarf-5", "-o", whole, source)
			b, err := os.ReadFile(whole)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, name := range []string{"one", "two"} {
				parts = append(parts, filepath.Join(dir, name))
				if err := os.WriteFile(parts[len(parts)-1], b, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			common := filepath.Join(dir, "common.debug")
			build(t, "dwz", append(append([]string{"-m", common}, x.options...), parts...)...)
			want, _ := tellAll(t, whole, source)
			got, _ := tellAll(t, parts[1], source)
			sameTold(t, "dwz", got, want)

			// One of another build is not believed, and it is said that there is none.
			if err := os.Remove(common); err != nil {
				t.Fatal(err)
			}
			_, notes := tellAll(t, parts[1], source)
			if !strings.Contains(fmt.Sprint(notes), "common.debug") {
				t.Errorf("got notes %v, want that common.debug is not there", notes)
			}
		})
	}
}

// TestSplitDebugInformationOfRust checks that Rust splits debug information too, before DWARF 5.
func TestSplitDebugInformationOfRust(t *testing.T) {
	testkit.Requires(t, testkit.Rustc, testkit.Long)
	dir := t.TempDir()
	compile := func(kind string) string {
		out := filepath.Join(dir, kind, "prog")
		if err := os.Mkdir(filepath.Dir(out), 0o755); err != nil {
			t.Fatal(err)
		}
		build(t, "rustc", "-O", "-g", "-C", "codegen-units=1", "-C", "split-debuginfo="+kind, "-o", out,
			"testdata/shop.rs")
		return out
	}
	whole, _ := tellAll(t, compile("off"), "shop.rs")
	for _, kind := range []string{"unpacked", "packed"} {
		got, notes := tellAll(t, compile(kind), "shop.rs")
		sameTold(t, kind, got, whole)
		if len(notes) > 0 {
			t.Errorf("%s: got notes %v", kind, notes)
		}
	}
}

// FuzzJoined: whatever sections hold, putting them together ends, with an error or with the bytes of both.
func FuzzJoined(f *testing.F) {
	// A unit of version 5 with an entry that refers to a text and to an entry of the supplementary file.
	abbrev := []byte{1, 0x11, 0, 3, 0xa1, 0x3e, 0x31, 0xa0, 0x3e, 0, 0, 0}
	info := append([]byte{17, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0, 1}, 2, 0, 0, 0, 1, 0, 0, 0)
	f.Add(info, abbrev, info, abbrev)
	f.Add([]byte{14, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0x8e, 0, 1, 0, 0, 0},
		[]byte{1, 0x11, 0, 3, 0x16, 0, 0, 0}, info, abbrev)
	f.Fuzz(func(t *testing.T, info, abbrev, moreInfo, moreAbbrev []byte) {
		size := len(info) + len(moreInfo)
		parts := map[string][]byte{".debug_info": slices.Clone(info), ".debug_abbrev": slices.Clone(abbrev)}
		more := map[string][]byte{".debug_info": slices.Clone(moreInfo),
			".debug_abbrev": slices.Clone(moreAbbrev)}
		err := joined(parts, more, binary.LittleEndian, func() bool { return false })
		if err == nil && len(parts[".debug_info"]) != size {
			t.Errorf("got %d bytes, want %d", len(parts[".debug_info"]), size)
		}
	})
}

// What counts from the begin of the supplementary sections is moved, and nothing else.
func TestJoinedValues(t *testing.T) {
	// DW_AT_name as GNU_strp_alt, DW_AT_abstract_origin as GNU_ref_alt, DW_AT_byte_size as data1.
	abbrev := []byte{1, 0x11, 0, 3, 0xa1, 0x3e, 0x31, 0xa0, 0x3e, 0x0b, 0x0b, 0, 0, 0}
	info := []byte{18, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0, 1, 3, 0, 0, 0, 1, 0, 0, 0, 7}
	parts := map[string][]byte{".debug_info": info, ".debug_abbrev": abbrev, ".debug_str": []byte("own\x00")}
	// DW_AT_name as strp, in a table of abbreviations that begins at 1.
	more := map[string][]byte{".debug_info": {13, 0, 0, 0, 5, 0, 3, 8, 1, 0, 0, 0, 1, 3, 0, 0, 0},
		".debug_abbrev": {0, 1, 0x3c, 0, 3, 0x0e, 0, 0, 0}, ".debug_str": []byte("ab\x00c\x00")}
	if err := joined(parts, more, binary.LittleEndian, func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	want := []byte{18, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0, 1, 3 + 4, 0, 0, 0, 1 + 22, 0, 0, 0, 7,
		13, 0, 0, 0, 5, 0, 3, 8, 1 + 14, 0, 0, 0, 1, 3 + 4, 0, 0, 0}
	if !slices.Equal(parts[".debug_info"], want) {
		t.Errorf("got %v, want %v", parts[".debug_info"], want)
	}
	d, err := dwarf.New(parts[".debug_abbrev"], nil, nil, parts[".debug_info"], nil, nil, nil,
		parts[".debug_str"])
	if err != nil {
		t.Fatal(err)
	}
	r := d.Reader()
	e, err := r.Next()
	if err != nil || e.Val(dwarf.AttrName) != "c" || e.Val(dwarf.AttrAbstractOrigin) != dwarf.Offset(23) {
		t.Errorf("got %v, %v; want the text c", e, err)
	}
}

// BenchmarkJoined is for 1 MB of entries.
func BenchmarkJoined(b *testing.B) {
	abbrev := []byte{1, 0x05, 0, 3, 0x0e, 0x3a, 0x0b, 0x3b, 0x0b, 0x49, 0x13, 2, 0x18, 0, 0, 0}
	entry := []byte{1, 1, 0, 0, 0, 1, 9, 0, 0, 0, 0, 2, 0x91, 0x6c}
	const n = 1 << 20 / 14
	size := 8 + n*len(entry)
	info := []byte{byte(size), byte(size >> 8), byte(size >> 16), 0, 5, 0, 1, 8, 0, 0, 0, 0}
	for range n {
		info = append(info, entry...)
	}
	b.SetBytes(int64(len(info)))
	for b.Loop() {
		parts := map[string][]byte{".debug_info": info, ".debug_abbrev": abbrev}
		if err := joined(parts, nil, binary.LittleEndian, func() bool { return false }); err != nil {
			b.Fatal(err)
		}
	}
}
