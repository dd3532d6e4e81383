package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/source/perf"
	"ppscript/tests/testkit"
)

// compile makes a program or library of a source; the arguments begin with the compiler.
func compile(t testing.TB, source string, command ...string) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC)
	out, language := filepath.Join(t.TempDir(), "built"), "c"
	if command[0] == "g++" {
		language = "c++"
	}
	args := append(command[1:], "-o", out, "-x", language, "-")
	cmd := exec.Command(command[0], args...)
	cmd.Stdin = strings.NewReader(source)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command[0], err, text)
	}
	return out
}

// namesOf are the names of the functions that a name or pattern finds in a file.
func namesOf(t testing.TB, file, name string) (names []string) {
	t.Helper()
	m, _, _, err := resolver(t).open(&Spec{File: file})
	if err != nil {
		t.Fatal(err)
	}
	fns := m.find(name)
	if isPattern(name) {
		fns = m.match(name)
	}
	for _, fn := range fns {
		names = append(names, fn.name)
	}
	slices.Sort(names)
	return names
}

func wantNames(t testing.TB, file, name string, want ...string) {
	t.Helper()
	if got := namesOf(t, file, name); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// A pattern means functions of C and of C++ at once.
func TestPatternsMixLanguages(t *testing.T) {
	testkit.Requires(t, testkit.GXX)
	bin := compile(t, `extern "C" __attribute__((noinline)) int fun() { asm volatile(""); return 1; }
__attribute__((noinline)) void fun(int) { asm volatile(""); }
__attribute__((noinline)) void function() { asm volatile(""); }
int main() { fun(); fun(1); function(); }`, "g++", "-O1")
	wantNames(t, bin, "fun*", "_Z3funi", "_Z8functionv", "fun")
	wantNames(t, bin, "fun", "fun")
	wantNames(t, bin, "fun(int)", "_Z3funi")
}

// What the compiler made of a function is called in its place; parts that the function jumps to are not.
func TestFunctionsMadeByTheCompiler(t *testing.T) {
	bin := compile(t, `
void whole(void) __asm__("outer"); void one(void) __asm__("outer.constprop.0");
void two(void) __asm__("outer.isra.0.lto_priv.1"); void cold(void) __asm__("outer.cold");
void part(void) __asm__("outer.part.0"); void other(void) __asm__("outer.odd.0");
void shop(void) __asm__("_ZN4shop3addEi.constprop.0");
#define F(f) void f(void) { __asm__ volatile(""); }
F(whole) F(one) F(two) F(cold) F(part) F(other) F(shop)
int main(void) { return 0; }`, "gcc", "-O1")
	made := []string{"outer", "outer.constprop.0", "outer.isra.0.lto_priv.1"}
	wantNames(t, bin, "outer", made...)
	wantNames(t, bin, "outer*", append(made, "outer.odd.0")...)
	wantNames(t, bin, "outer.cold", "outer.cold")
	wantNames(t, bin, "shop::add", "_ZN4shop3addEi.constprop.0")
	wantNames(t, bin, "shop::add(int)", "_ZN4shop3addEi.constprop.0")
	_, note := choose(t, bin, "outer")
	if !strings.Contains(note, "outer.constprop.0, outer.isra.0.lto_priv.1") {
		t.Errorf("got note %q, want the functions that were made", note)
	}
}

// choose resolves a uprobe without opening it, and returns its note.
func choose(t testing.TB, file, name string) ([]place, string) {
	t.Helper()
	s := Spec{Kind: Uprobe, File: file, Name: name}
	r := resolver(t)
	m, path, shown, err := r.open(&s)
	if err != nil {
		t.Fatal(err)
	}
	places, note, err := r.places(&s, m, path, shown)
	if err != nil {
		t.Fatal(err)
	}
	return places, note
}

// TestAliasesInDebugFile checks that each name of a function in a debug file names it, beside the
// functions that the stripped program exports.
func TestAliasesInDebugFile(t *testing.T) {
	testkit.Requires(t, testkit.Binutils)
	bin := compile(t, `__attribute__((noinline)) int zed_impl(int x) { __asm__ volatile(""); return x + 1; }
int alias_one(int) __attribute__((alias("zed_impl")));
int alias_two(int) __attribute__((weak, alias("zed_impl")));
int main(void) { return alias_one(-1); }`, "gcc", "-O1", "-g", "-rdynamic",
		"-Wl,--version-script="+versions(t))
	for _, args := range [][]string{
		{"--only-keep-debug", bin, bin + ".debug"}, {"--strip-all", bin},
		{"--add-gnu-debuglink=" + bin + ".debug", bin},
	} {
		if text, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy: %v\n%s", err, text)
		}
	}
	for _, name := range []string{"zed_impl", "alias_one", "alias_two"} {
		wantNames(t, bin, name, name)
	}
}

// versions is a script of the linker by which alias_one alone is exported.
func versions(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "versions")
	if err := os.WriteFile(path, []byte("{ global: alias_one; local: *; };\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Generic functions of Rust, of the newer mangling, by the names of the source.
func TestRustGenerics(t *testing.T) {
	m := &image{funcs: []function{
		{name: "_RINvNtCs1234_7mycrate3foo3barmjE", addr: 16, size: 8},
		{name: "_RINvNtCs1234_7mycrate3foo3barlE", addr: 32, size: 8},
		{name: "_RINvMCs1_5crateNtB3_1S3getmE", addr: 48, size: 8},
		{name: "_RNvXs_Cs1_5crateINtB4_3VecpENtB4_5Trait3run", addr: 64, size: 8},
	}}
	f := func(name string, want ...uint64) {
		t.Helper()
		var got []uint64
		for _, fn := range m.find(name) {
			got = append(got, fn.addr)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got functions at %d, want %d", name, got, want)
		}
	}
	f("mycrate::foo::bar", 16, 32)
	f("mycrate::foo::bar::<u32, usize>", 16)
	f("crate::S::get", 48)
	f("<crate::S>::get", 48)
	f("<crate::S>::get::<u32>", 48)
	f("crate::Vec::run", 64)
	f("<crate::Vec as crate::Trait>::run", 64)
}

const chosenSource = `
#define F(f) __attribute__((noinline)) static int f(int x) { __asm__ volatile(""); return x; }
F(plain) F(wide) F(other) F(helped)
typedef int (*fn)(int);
static int which(void) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2"); }
static fn pick(void) { return which() ? wide : plain; }
static fn pick_shared(void) { return which() ? wide : other; }
__attribute__((noinline)) static fn help(void) { __asm__ volatile(""); return helped; }
static fn pick_helped(void) { __asm__ volatile(""); return help(); }
int work(int) __attribute__((ifunc("pick")));
int shared(int) __attribute__((ifunc("pick_shared")));
int far(int) __attribute__((ifunc("pick_helped")));
__attribute__((target_clones("default", "avx2"))) int cloned(int x) { return x * 3; }
int main(void) { int s = 0; for (int i = 0; i < 9; i++) s += work(i) + far(i) + cloned(i); return s == 1; }`

// The implementations that a resolver can give are probed, of programs of all ways of linking.
func TestIndirectFunctions(t *testing.T) {
	if hostMachine().String() != "EM_X86_64" {
		t.Skip("the program is of x86-64")
	}
	for _, flags := range [][]string{{"-pie", "-fPIE"}, {"-no-pie", "-fno-pie"}, {"-shared", "-fPIC"}} {
		bin := compile(t, chosenSource, append([]string{"gcc", "-O1"}, flags...)...)
		f := func(name, notes string, want ...string) {
			t.Helper()
			places, note := choose(t, bin, name)
			var got []string
			for _, p := range places {
				// Newer compilers number clones.
				got = append(got, strings.TrimRight(p.fn.name, ".0123456789"))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || !strings.Contains(note, notes) {
				t.Errorf("%v: %s: got %q, note %q, want %q, %q", flags, name, got, note, want, notes)
			}
		}
		f("work", "resolver can choose: plain, wide; calls of shared are counted too", "plain", "wide")
		f("far", "can choose: helped", "helped")
		f("cloned", "indirect", "cloned.avx", "cloned.default")
		f("main", "", "main")
	}
}

// TestIndirectFunctionsAreCounted checks that calls of an indirect function are counted, each once.
func TestIndirectFunctionsAreCounted(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	if hostMachine().String() != "EM_X86_64" {
		t.Skip("the program is of x86-64")
	}
	bin := compile(t, strings.Replace(chosenSource, "int s = 0;",
		`int s = 0; puts("ready 0"); fflush(stdout); getchar();`, 1), "gcc", "-O1", "-include", "stdio.h")
	for _, name := range []string{"work", "far", "cloned"} {
		p := start(t, exec.Command(bin))
		total := 0
		for _, n := range record(t, resolve(t, Spec{Kind: Uprobe, File: bin, Name: name}),
			perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() {
				p.in.Write([]byte("\n"))
				p.out.ReadString(0) // until it ends
			}, nil) {
			total += n
		}
		if total != 9 {
			t.Errorf("%s: got %d calls, want 9", name, total)
		}
	}
}

// Of functions of the C library that are chosen when a program is linked, a note names the implementations.
func TestIndirectFunctionsOfLibc(t *testing.T) {
	if hostMachine().String() != "EM_X86_64" {
		t.Skip("implementations of x86-64")
	}
	m, _, _, err := resolver(t).open(&Spec{File: "libc"})
	testkit.Requires(t, testkit.Optional("a shared C library", err))
	if fns := m.find("strlen"); len(fns) != 1 || !fns[0].indirect {
		t.Skipf("strlen of this C library is not indirect: %+v", fns)
	}
	for _, name := range []string{"strlen", "memcmp", "strchr", "memcpy"} {
		if places, note := choose(t, "libc", name); len(places) < 3 || !strings.Contains(note, "can choose") {
			t.Errorf("%s: got %d places, note %q, want its implementations", name, len(places), note)
		}
	}
	for _, name := range []string{"time", "gettimeofday"} {
		if _, note := choose(t, "libc", name); !strings.Contains(note, "__vdso_"+name+" of the vDSO") {
			t.Errorf("%s: got note %q, want that the vDSO has it", name, note)
		}
	}
}
