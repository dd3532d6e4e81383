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

// A language is an interpreter with a program that spends known CPU times in
// functions with these names.
type language struct {
	program string
	path    string   // the functions of a stack, from the function much to the outermost
	lines   []string // of much
}

var (
	inPython = language{"burn.py", "much deeper deeper deeper deeper deeper deeper timed main <module>",
		[]string{"10", "11"}}
	inRuby = language{"burn.rb",
		"block in much much deeper deeper deeper deeper deeper deeper timed main <main>",
		[]string{"6"}}
	inPHP = language{"burn.php", "much deeper deeper deeper deeper deeper deeper timed main {main}",
		[]string{"9", "10"}}
)

// own returns the name of a function of the program without its class or
// module.
func (l *language) own(f frame) (name string, ok bool) {
	return f.Symbol[strings.LastIndexAny(f.Symbol, ".:")+1:], strings.HasSuffix(f.DSO, "/"+l.program)
}

// burning picks the innermost function of the program that uses CPU time; the function may call
// native code.
func (l *language) burning(stack []frame) string {
	for _, f := range stack {
		name, ok := l.own(f)
		switch name = strings.TrimPrefix(name, "block in "); {
		case ok && (name == "much" || name == "little" || name == "natively"):
			return name
		}
	}
	return ""
}

// Functions have the shares of CPU time that the program measured, without an option for the
// interpreter: if programs in the kernel count stacks, and for samples with copies of stacks.
func TestPythonFunctionsAreNamed(t *testing.T) {
	for _, path := range pythons(t) {
		inPython.test(t, path)
	}
}

func TestPythonOfSamples(t *testing.T) {
	for _, path := range pythons(t) {
		inPython.test(t, path, "--user-callchain=dwarf,16384")
	}
}

func TestRubyFunctionsAreNamed(t *testing.T) {
	path := interpreter(t, "ruby")
	inRuby.test(t, path)
	inRuby.test(t, path, "--user-callchain=dwarf,16384")
}

func TestPHPFunctionsAreNamed(t *testing.T) {
	path := interpreter(t, "php")
	inPHP.test(t, path)
	inPHP.test(t, path, "--user-callchain=dwarf,16384")
}

// Without programs in the kernel, functions are those that run when the sample
// is read.
func TestInterpretersWithoutPrograms(t *testing.T) {
	for _, path := range pythons(t) {
		inPython.test(t, path, "--engine", "perf")
	}
	inRuby.test(t, interpreter(t, "ruby"), "--engine", "perf")
	inPHP.test(t, interpreter(t, "php"), "--engine", "perf")
}

// interpreter returns Debian's interpreter, or the one that PPSCRIPT_RUBY or
// PPSCRIPT_PHP names.
func interpreter(t *testing.T, name string) string {
	t.Helper()
	testkit.Requires(t, testkit.Samples)
	testkit.Requires(t, testkit.Live...)
	if other := os.Getenv("PPSCRIPT_" + strings.ToUpper(name)); other != "" {
		return other
	}
	testkit.Requires(t, testkit.Program(name))
	return "/usr/bin/" + name
}

func (l *language) test(t *testing.T, path string, options ...string) {
	testkit.Again(t, func() (wrong []string) {
		record, said := profiled(t, options, path, "testdata/"+l.program, "1.5")
		var much, little, natively float64
		if _, err := fmt.Sscan(said, &much, &little, &natively); err != nil {
			t.Fatalf("the program said %q: %v", said, err)
		}
		by, all := shares(t, record, l.burning)
		wrong = near(by, map[string]float64{"much": much, "little": little, "natively": natively})

		// Stacks are in order from the outermost function, and have each function
		// once for each of its calls.
		whole, called := 0.0, 0
		paths, _ := shares(t, record, func(stack []frame) string {
			var names []string
			for _, f := range stack {
				if name, ok := l.own(f); ok {
					names = append(names, name)
				}
			}
			return strings.Join(names, " ")
		})
		outermost := l.path[strings.Index(l.path, " main "):]
		for names, n := range paths {
			if strings.HasSuffix(names, outermost) {
				whole += n
			}
			if names == l.path {
				called++
			}
		}
		if by["much"] > 0 && called == 0 || whole < 0.9*(all-by[""]) {
			wrong = append(wrong, fmt.Sprintf("%s: got stacks %v", path, paths))
		}
		lines, _ := shares(t, record, func(stack []frame) string {
			for _, f := range stack {
				if name, ok := l.own(f); ok && strings.HasSuffix(name, "much") {
					return fmt.Sprint(f.Line)
				}
			}
			return ""
		})
		in := 0.0
		for _, line := range l.lines {
			in += lines[line]
		}
		if in < 0.95*by["much"] {
			wrong = append(wrong, fmt.Sprintf("%s: got lines %v of much", path, lines))
		}
		return wrong
	})
}

// If the whole machine is observed, each process has its own functions, also one that a shell
// starts.
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
		by, _ := shares(t, string(text), inPython.burning)
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

// A process that ran before it was observed has names, in its threads too.
func TestPythonOfProcess(t *testing.T) {
	t.Run("auto", func(t *testing.T) { testThreads(t) })
	t.Run("perf", func(t *testing.T) { testThreads(t, "--engine", "perf") })
}

func testThreads(t *testing.T, options ...string) {
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
		words := append([]string{testkit.PPScript(t), "profile", "-F", "499", "-g", "--top", "1000",
			"--format", "json", "-p", fmt.Sprint(target.PID()), "--duration", "2s"}, options...)
		out := testkit.Run(t, words...).Want(t, 0)
		by, all := shares(t, out.Stdout, func(stack []frame) string {
			for _, f := range stack {
				if f.Symbol == "spin_here" || f.Symbol == "wait_here" {
					return f.Symbol
				}
			}
			return ""
		})
		// The first samples may come before the program in the kernel recognizes the
		// process.
		if all < 20 || by["spin_here"] < 0.6*all || by["wait_here"] > 0.1*all {
			wrong = append(wrong, fmt.Sprintf("got %v of %.0f samples, want most of them in spin_here",
				by, all))
		}
		return wrong
	})
}

// A wait shows the functions that wait, also while another thread holds the interpreter's lock.
func TestWallOfInterpreters(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Taskset)...)
	testkit.Awake(t)
	for name, program := range map[string]string{"python3": "wait.py", "ruby": "wait.rb", "php": "wait.php"} {
		path := interpreter(t, name)
		testkit.Again(t, func() (wrong []string) {
			file := filepath.Join(t.TempDir(), "out.json")
			testkit.Run(t, testkit.PPScript(t), "profile", "--wall", "-g", "--top", "1000",
				"--format", "json", "-o", file, "--", path, "testdata/"+program).Want(t, 0)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			waited, named := 0.0, 0.0
			for _, r := range testkit.All[result](t, string(text), "stacks") {
				for _, s := range r.Stacks {
					if s.Key["comm"] != "waiter" || s.Key["doing"] != "waiting" {
						continue
					}
					waited += s.Value
					for _, f := range s.Stack {
						if f.Symbol == "waits" && strings.HasSuffix(f.File, "/"+program) {
							named += s.Value
							break
						}
					}
				}
			}
			// The first waits may come before the program in the kernel recognizes the
			// process.
			if named < 0.3e9 || waited-named > 0.25e9 {
				wrong = append(wrong, fmt.Sprintf("%s: got %.0f of %.0f ns in the function that waits",
					name, named, waited))
			}
			return wrong
		})
	}
}
