package jit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// pythons are the interpreters to try: Debian's, and those that PPSCRIPT_PYTHONS lists, with colons
// between them.
func pythons(t *testing.T) []string {
	t.Helper()
	testkit.Requires(t, testkit.Samples, testkit.Program("python3"))
	testkit.Requires(t, testkit.Live...)
	list := []string{"/usr/bin/python3"}
	if more := os.Getenv("PPSCRIPT_PYTHONS"); more != "" {
		list = append(list, strings.Split(more, ":")...)
	}
	return list
}

// burning takes the innermost function of the program that burns, which may be called natively.
func burning(stack []frame) string {
	for _, f := range stack {
		switch name := f.Symbol[strings.LastIndexByte(f.Symbol, '.')+1:]; {
		case !strings.HasSuffix(f.DSO, "/burn.py"):
		case name == "much", name == "little", name == "natively":
			return name
		}
	}
	return ""
}

// Functions of Python have the shares of CPU time that the program measured, with no option for the
// interpreter: where programs of the kernel count stacks, and of samples with copies of stacks.
func TestPythonFunctionsAreNamed(t *testing.T) {
	testPython(t)
}

func TestPythonOfSamples(t *testing.T) { testPython(t, "--user-callchain=dwarf,16384") }

func testPython(t *testing.T, options ...string) {
	for _, path := range pythons(t) {
		testkit.Again(t, func() (wrong []string) {
			record, said := profiled(t, options, path, "testdata/burn.py", "1.5")
			var much, little, natively float64
			if _, err := fmt.Sscan(said, &much, &little, &natively); err != nil {
				t.Fatalf("the program said %q: %v", said, err)
			}
			by, all := shares(t, record, burning)
			wrong = near(by, map[string]float64{"much": much, "little": little, "natively": natively})

			// From the outermost inwards, and each function once for each of its calls.
			whole, called := 0.0, 0
			paths, _ := shares(t, record, func(stack []frame) string {
				var names []string
				for _, f := range stack {
					if strings.HasSuffix(f.DSO, "/burn.py") {
						names = append(names, f.Symbol[strings.LastIndexByte(f.Symbol, '.')+1:])
					}
				}
				return strings.Join(names, " ")
			})
			const to = "much deeper deeper deeper deeper deeper deeper timed main <module>"
			for names, n := range paths {
				if strings.HasSuffix(names, "main <module>") {
					whole += n
				}
				if names == to {
					called++
				}
			}
			if by["much"] > 0 && called == 0 || whole < 0.9*(all-by[""]) {
				wrong = append(wrong, fmt.Sprintf("%s: got stacks %v", path, paths))
			}
			lines, _ := shares(t, record, func(stack []frame) string {
				for _, f := range stack {
					if strings.HasSuffix(f.Symbol, "much") {
						return fmt.Sprint(f.Line)
					}
				}
				return ""
			})
			delete(lines, "")
			if in := lines["10"] + lines["11"]; in < 0.95*by["much"] {
				wrong = append(wrong, fmt.Sprintf("%s: got lines %v of much", path, lines))
			}
			return wrong
		})
	}
}

// Where the whole machine is observed, each process has its own, also one that a shell begins.
func TestPythonAmongOthers(t *testing.T) {
	path := pythons(t)[0]
	first := testkit.Start(t, path, "-c", "import time\ndef elsewhere():\n    while True: sum(range(1000))\n"+
		"print('ready', flush=True)\nelsewhere()")
	defer first.Stop()
	first.WaitStdout("ready")
	testkit.Again(t, func() (wrong []string) {
		file := filepath.Join(t.TempDir(), "out.json")
		second := testkit.Start(t, "sh", "-c", "while :; do "+path+" testdata/burn.py 0.5; done")
		defer second.Stop()
		testkit.Run(t, testkit.PPScript(t), "profile", "-F", "499", "-g", "--top", "10000",
			"--format", "json", "-o", file, "--duration", "3s").Want(t, 0)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		by, _ := shares(t, string(text), burning)
		others, _ := shares(t, string(text), func(stack []frame) string {
			for _, f := range stack {
				if f.Symbol == "elsewhere" && f.File == "<string>" {
					return f.Symbol
				}
			}
			return ""
		})
		if by["much"] == 0 || by["little"] == 0 || by["natively"] == 0 || others["elsewhere"] == 0 {
			wrong = append(wrong, fmt.Sprintf("got %v of one, and %v of the other", by, others))
		}
		return wrong
	})
}

// A process that is observed from its middle on has names, in its threads too.
func TestPythonOfProcess(t *testing.T) {
	path := pythons(t)[0]
	const threads = `
import threading, time
def spin_here(end):
    while time.time() < end: sum(range(1000))
def wait_here(end):
    while time.time() < end: time.sleep(0.05)
end = time.time() + 60
for f in (wait_here, spin_here, wait_here): threading.Thread(target=f, args=(end,), daemon=True).start()
print("ready", flush=True)
time.sleep(60)
`
	target := testkit.Start(t, path, "-c", threads)
	defer target.Stop()
	target.WaitStdout("ready")
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "profile", "-F", "499", "-g", "--top", "1000",
			"--format", "json", "-p", fmt.Sprint(target.PID()), "--duration", "2s").Want(t, 0)
		by, all := shares(t, out.Stdout, func(stack []frame) string {
			for _, f := range stack {
				if f.Symbol == "spin_here" || f.Symbol == "wait_here" {
					return f.Symbol
				}
			}
			return ""
		})
		// The first samples may come before the program of the kernel knows the process.
		if all < 20 || by["spin_here"] < 0.6*all || by["wait_here"] > 0.1*all {
			wrong = append(wrong, fmt.Sprintf("got %v of %.0f samples, want most of them in spin_here",
				by, all))
		}
		return wrong
	})
}
