package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// linesProgram builds the program whose lines are probed. It is loaded at the addresses in
// its file.
func linesProgram(t *testing.T, options ...string) string {
	t.Helper()
	return debugProgram(t, "lines", options...)
}

// debugProgram builds a program of testdata with debug information.
func debugProgram(t *testing.T, name string, options ...string) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC, testkit.Uprobes)
	testkit.Requires(t, testkit.Live...)
	path := filepath.Join(testkit.Open(t), name)
	source, err := filepath.Abs("testdata/" + name + ".c")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"gcc", "-g", "-no-pie", "-o", path, source}, options...)
	testkit.Run(t, args...).Want(t, 0)
	return path
}

// lineOf returns the line of the source that contains a text.
func lineOf(t *testing.T, text string) int {
	t.Helper()
	source, err := os.ReadFile("testdata/lines.c")
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(source), text)
	if !ok {
		t.Fatalf("no %q in the source", text)
	}
	return strings.Count(before, "\n") + 1
}

var breakpoint = regexp.MustCompile(`(0x[0-9a-f]+) in \w+ at `)

// The code of a line begins where the debugger would stop, in each inlined copy of its function
// too, and runs as often as the program says.
func TestSourceLinesEqualGDB(t *testing.T) {
	testkit.Requires(t, testkit.GDB)
	const turns = 10
	for _, level := range []string{"-O0", "-O2"} {
		program := linesProgram(t, level)
		for _, x := range []struct {
			text string
			hits int64 // 0 means any number: the compiler may make several copies of a line's code
		}{
			{"volatile int y", turns + turns/2}, {"return twice(x) + 1", 0}, {"sum += once(i)", turns / 2},
			{"if (i % 2)", 0}, {"struct point p = {3, 4}", 0},
		} {
			line := fmt.Sprintf("lines.c:%d", lineOf(t, x.text))
			said := testkit.Run(t, "gdb", "-batch", "-nx", "-ex", "break "+line, "-ex", "info breakpoints",
				program).Want(t, 0)
			var want []uint64
			for _, m := range breakpoint.FindAllStringSubmatch(said.Stdout, -1) {
				addr, err := strconv.ParseUint(m[1], 0, 64)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, addr)
			}
			if len(want) == 0 {
				t.Fatalf("gdb said %q", said.Stdout)
			}
			testkit.Again(t, func() (wrong []string) {
				out := testkit.Run(t, testkit.PPScript(t), "-c",
					fmt.Sprintf("uprobe(%q, %q).by('ip').count()", program, line), "--format", "json", "--",
					program, strconv.Itoa(turns)).Want(t, 0)
				hits := int64(0)
				for _, row := range tableOf(t, out.Stdout) {
					if at := uint64(row.Int(t, "ip")); !slices.Contains(want, at) {
						wrong = append(wrong, fmt.Sprintf("%s %s: got a hit at %#x, want %#x",
							level, line, at, want))
					}
					hits += row.Int(t, "count")
				}
				if x.hits > 0 && hits != x.hits {
					wrong = append(wrong, fmt.Sprintf("%s %s: got %d hits, want %d",
						level, line, hits, x.hits))
				}
				return wrong
			})
		}
	}
}

// Parameters of functions have the values that they are called with.
func TestParametersOfFunctions(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		program := linesProgram(t, level)
		testkit.Again(t, func() (wrong []string) {
			out := testkit.Run(t, testkit.PPScript(t), "-c",
				fmt.Sprintf("uprobe(%q, 'takes').by('a', 'name', 's', 'b', 'c').count()", program),
				"--format", "json", "--", program, "8").Want(t, 0)
			rows := tableOf(t, out.Stdout)
			if len(rows) != 8 {
				return []string{fmt.Sprintf("%s: got %d rows, want 8: %s%s", level, len(rows),
					out.Stdout, out.Stderr)}
			}
			for _, row := range rows {
				i := -row.Int(t, "a")
				if row.Text(t, "name") != "some text" || row.Int(t, "s") != i-5 || row.Int(t, "b") != i&1 ||
					row.Int(t, "c") != 7 || row.Text(t, "c_text") != "GREEN" ||
					row.Int(t, "count") != 1 || i < 0 || i > 7 {
					wrong = append(wrong, fmt.Sprintf("%s: got %v", level, row))
				}
			}
			return wrong
		})
	}
}

// A probe on the line of a call has the parameters, and the other registers.
func TestLineOfACall(t *testing.T) {
	program := debugProgram(t, "remade", "-O2")
	out := testkit.Run(t, testkit.PPScript(t), "-c", fmt.Sprintf("uprobe(%q, 'behind')", program), "--",
		program, "1").Want(t, 0)
	// The structure is in the first two registers; a and name are in the next.
	want := regexp.MustCompile(` p_x=0 p_y=2 a=0 name=.* arg5=\S+ arg6=`)
	if !want.MatchString(out.Stdout) {
		t.Errorf("got %q", out.Stdout)
	}
}

// Parameters have their values too if they are not in the usual registers: after the address of a
// large result, after structures, in copies of functions with fewer parameters, and in functions
// whose rare code is elsewhere.
func TestParametersThatMoved(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		program := debugProgram(t, "remade", "-O2", version)
		symbols := testkit.Run(t, "nm", program).Want(t, 0).Stdout
		for _, name := range []string{"gives", "behind", "rare",
			"fewer.constprop.0", "constant.constprop.0"} {
			if !strings.Contains(symbols, name+"\n") {
				t.Logf("this compiler made no %s", name)
				continue
			}
			testkit.Again(t, func() (wrong []string) {
				out := testkit.Run(t, testkit.PPScript(t), "-c",
					fmt.Sprintf("uprobe(%q, %q).by('a', 'name').count()", program, name), "--format",
					"json", "--", program, "8").Want(t, 0)
				rows := tableOf(t, out.Stdout)
				if len(rows) != 8 {
					return []string{fmt.Sprintf("%s %s: got %d rows, want 8: %s%s", version, name,
						len(rows), out.Stdout, out.Stderr)}
				}
				for _, row := range rows {
					if a := row.Int(t, "a"); a > 0 || a < -7 || row.Text(t, "name") != "some text" ||
						row.Int(t, "count") != 1 {
						wrong = append(wrong, fmt.Sprintf("%s %s: got %v", version, name, row))
					}
				}
				return wrong
			})
		}
		if !strings.Contains(symbols, "constprop") || !strings.Contains(symbols, "rare.cold") {
			t.Errorf("%s: the compiler made none of what is tested here:\n%s", version, symbols)
		}
	}
}

// A line that cannot be probed is an error that names a possible one.
func TestSourceLinesThatAreNot(t *testing.T) {
	program := linesProgram(t, "-O2")
	stripped := program + ".stripped"
	testkit.Run(t, "strip", "-o", stripped, program).Want(t, 0)
	for _, x := range []struct{ kind, path, name, want string }{
		{"uprobe", program, "lines.c:9999", "some begins in line"},
		{"uprobe", program, "other.c:3", "no such source file"},
		{"uprobe", stripped, "lines.c:6", "no debug information"},
		{"uretprobe", program, "lines.c:6", "lines do not return"},
	} {
		out := testkit.Run(t, testkit.PPScript(t), "-c",
			fmt.Sprintf("%s(%q, %q).count()", x.kind, x.path, x.name), "--duration", "1s")
		if out.Exit == 0 || !strings.Contains(out.Stderr, x.want) || !strings.Contains(out.Stderr, "hint: ") {
			t.Errorf("%s %s: got %q, want %q", x.path, x.name, out.Stderr, x.want)
		}
	}
}
