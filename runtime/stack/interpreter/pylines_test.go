package interpreter

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/stack"
	"ppscript/runtime/stack/unwind"

	"ppscript/tests/testkit"
)

// tells has an interpreter tell what it knows of the lines of some of its own code.
const tells = `
import sys, json, ast, dis, argparse, textwrap, difflib, logging, tarfile
def codes(c):
    yield c
    for k in c.co_consts:
        if hasattr(k, "co_code"):
            yield from codes(k)
out = []
for m in (ast, dis, argparse, textwrap, difflib, logging, tarfile):
    with open(m.__file__, encoding="utf-8") as f:
        whole = compile(f.read(), m.__file__, "exec")
    for c in codes(whole):
        if sys.version_info >= (3, 10):
            table, lines = c.co_linetable, [(a, b, l or 0) for a, b, l in c.co_lines()]
        else:
            starts = list(dis.findlinestarts(c)) + [(len(c.co_code), 0)]
            table, lines = c.co_lnotab, [(a, b, l) for (a, l), (b, _) in zip(starts, starts[1:])]
        out.append([c.co_firstlineno, table.hex(), lines])
json.dump([sys.version_info[1], out], sys.stdout)
`

// pythons are the interpreters to try: Debian's, and those that PPSCRIPT_PYTHONS lists.
func pythons(t *testing.T) []string {
	t.Helper()
	testkit.Requires(t, testkit.Program("python3"))
	list := []string{"/usr/bin/python3"}
	if more := os.Getenv("PPSCRIPT_PYTHONS"); more != "" {
		list = append(list, strings.Split(more, ":")...)
	}
	return list
}

// The lines of each instruction are the lines that the interpreter itself tells.
func TestLinesEqualTheInterpreters(t *testing.T) {
	for _, path := range pythons(t) {
		said, err := exec.Command(path, "-c", tells).Output()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var minor int
		var codes [][3]json.RawMessage
		if err := json.Unmarshal(said, &[]any{&minor, &codes}); err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, c := range codes {
			var first int
			var text string
			var lines [][3]int
			for i, to := range []any{&first, &text, &lines} {
				if err := json.Unmarshal(c[i], to); err != nil {
					t.Fatal(err)
				}
			}
			table, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lines {
				for at := l[0]; at < l[1]; at += 2 {
					checked++
					if got := lineOf(minor, table, first, at); got != l[2] {
						t.Fatalf("3.%d: byte %d of code at line %d: got %d, want %d",
							minor, at, first, got, l[2])
					}
				}
			}
		}
		if checked < 10000 {
			t.Errorf("3.%d: only %d instructions", minor, checked)
		}
	}
}

// TestMerge checks that frames take the places of the interpreter's function, as many as ran in one
// call of it.
func TestMerge(t *testing.T) {
	p := &process{eval: []unwind.Piece{{From: 100, To: 155}, {From: 155, To: 200}}}
	user, kernel := stack.Mark(stack.User, true), stack.Mark(stack.Kernel, true)
	again, python := stack.Mark(stack.User, false), stack.Mark(stack.Interpreted, true)
	check := func(what string, chain []uint64, calls [][]uint64, want ...uint64) {
		t.Helper()
		if got := merge(nil, chain, calls, p); !slices.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", what, got, want)
		}
	}
	calls := [][]uint64{{1, 2}, {3}}
	check("C called by Python called by C",
		[]uint64{user, 7, 150, 8, 160, 9}, calls, user, 7, python, 2, 3, again, 8, python, 4, again, 9)
	check("Python is innermost, in the kernel",
		[]uint64{kernel, 1 << 63, 1<<63 + 1, user, 150, 9}, calls[:1],
		kernel, 1<<63, 1<<63+1, user, python, 2, 3, again, 9)
	check("a stack that was not walked to its end",
		[]uint64{user, 7, 8}, calls, user, 7, 8, python, 2, 3, 4)
	check("a call of which nothing runs yet", []uint64{user, 7, 150, 160, 9}, [][]uint64{nil, {3}},
		user, 7, python, 4, again, 9)
}

func FuzzLines(f *testing.F) {
	f.Add(11, []byte{0xf8, 1, 0x80, 2}, 3)
	f.Fuzz(func(t *testing.T, minor int, table []byte, at int) {
		lineOf(minor, table, 1, at)
	})
}
