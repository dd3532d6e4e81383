package tiers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/bpf/features"
	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// many is the number of functions that a pattern matches: more than could have a
// program each.
const many = 80

// buildMany compiles a program that calls its function f_N N times, half of them in
// another thread, with the arguments N and 2N. It begins when it reads a line.
func buildMany(t *testing.T) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC)
	var b strings.Builder
	b.WriteString("#include <pthread.h>\n#include <stdio.h>\n")
	for i := range many {
		fmt.Fprintf(&b, "__attribute__((noinline)) long f_%d(int a) "+
			"{ __asm__ volatile(\"\" ::: \"memory\"); return 2 * a; }\n", i)
	}
	b.WriteString("static void *calls(void *odd) {\n")
	for i := range many {
		fmt.Fprintf(&b, "\tif (!!odd == %d)\n", i%2)
		fmt.Fprintf(&b, "\t\tfor (volatile int i = 0; i < %d; i++) f_%d(%d);\n", i, i, i)
	}
	b.WriteString("\treturn 0;\n}\nint main(void) {\n\tpthread_t t;\n\tgetchar();\n" +
		"\tpthread_create(&t, 0, calls, &t);\n\tcalls(0);\n\treturn pthread_join(t, 0);\n}\n")
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "many.c"), filepath.Join(dir, "many")
	if err := os.WriteFile(source, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", bin, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return bin
}

const manyProbes = `
call = uprobe(%[1]q, "%[2]s", args = "int a", limit = 200)
back = uretprobe(%[1]q, "%[2]s", ret = "long", limit = 200)

def main(o):
    return [call.by("func", "a").count(), back.by("func", "result").count()]
`

// wantMany compares counts with the program's calls of functions with this prefix.
func wantMany(t *testing.T, out, begin string) {
	t.Helper()
	for i, table := range testkit.Tables(t, out) {
		got := map[string]int64{}
		for _, r := range table.Rows {
			value := r.Int(t, []string{"a", "result"}[i])
			got[r.Text(t, "func")+"="+strconv.FormatInt(value, 10)] = r.Int(t, "count")
		}
		for n := range many {
			key := fmt.Sprintf("f_%d=%d", n, n*(1+i))
			if !strings.HasPrefix(key, begin) {
				continue
			}
			if got[key] != int64(n) {
				t.Errorf("%s: got %d, want %d", key, got[key], n)
			}
			delete(got, key)
		}
		if len(got) > 0 {
			t.Errorf("got %v, want none of them", got)
		}
	}
}

// A pattern that matches many functions of a file counts each of them by its name, in
// the kernel and natively; in the kernel with one link.
func TestManyUserProbesAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Uprobes)...)
	bin := buildMany(t)
	engines := map[string]string{"perf": "f_7"} // opening an event takes perf a tenth of a second
	if host, err := features.Find(kernel.Roots{}, false); err == nil && host.UprobeMulti {
		engines["bpf"] = "f_"
		all := script(t, fmt.Sprintf(manyProbes, bin, "f_*"))
		explained := testkit.Run(t, testkit.PPScript(t), "explain", all).Want(t, 0).Stdout
		if !strings.Contains(explained, fmt.Sprintf("and %d more functions, by one link", many-1)) {
			t.Errorf("got %s, want that one link attaches each program", explained)
		}
	}
	for engine, begin := range engines {
		t.Run(engine, func(t *testing.T) {
			path := script(t, fmt.Sprintf(manyProbes, bin, begin+"*"))
			out := testkit.Run(t, testkit.PPScript(t), path, "--engine", engine, "--format", "json", "--",
				"sh", "-c", "echo | "+bin).Want(t, 0)
			wantMany(t, out.Stdout, begin)
		})
	}
}

// ofManyProbes runs a script with probes of many functions in each engine, and checks its tables;
// begin is the prefix of the functions' names.
func ofManyProbes(t *testing.T, text string, check func(t *testing.T, begin string, tables []testkit.Table)) {
	t.Helper()
	testkit.Requires(t, append(testkit.Live, testkit.Uprobes)...)
	bin := buildMany(t)
	engines := map[string]string{"perf": "f_7"} // opening an event takes perf a tenth of a second
	if host, err := features.Find(kernel.Roots{}, false); err == nil && host.UprobeMulti {
		engines["bpf"] = "f_"
	}
	for engine, begin := range engines {
		t.Run(engine, func(t *testing.T) {
			path := script(t, fmt.Sprintf(text, bin, begin+"*"))
			out := testkit.Run(t, testkit.PPScript(t), path, "--engine", engine, "--format", "json", "--",
				"sh", "-c", "echo | "+bin).Want(t, 0)
			check(t, begin, testkit.Tables(t, out.Stdout))
		})
	}
}

const manyFolds = `
call = uprobe(%[1]q, "%[2]s", args = "int a", limit = 200)

def tenth(s, e):
    s.n += 1
    if s.n %% 10 == 0:
        emit(a = e.a, n = s.n)

def main(o):
    by_func = call.fold(lambda e: (e.func, e.a), {"n": 0}, tenth)
    by_thread = call.fold("_tid", {"n": 0}, tenth)
    return [by_func.by("a").agg(n = agg.count(), most = agg.max("n")), by_thread.agg(n = agg.count())]
`

// Folds by function and by thread see the calls of all functions that a pattern matches;
// in the kernel with one program.
func TestFoldsOfManyProbesAgree(t *testing.T) {
	ofManyProbes(t, manyFolds, func(t *testing.T, begin string, tables []testkit.Table) {
		got := map[int64]int64{}
		for _, r := range tables[0].Rows {
			got[r.Int(t, "a")] = r.Int(t, "n")
			if most := r.Int(t, "most"); most != 10*r.Int(t, "n") {
				t.Errorf("f_%d: got %d at the last, want %d", r.Int(t, "a"), most, 10*r.Int(t, "n"))
			}
		}
		calls := [2]int64{} // of each thread
		for n := range int64(many) {
			if !strings.HasPrefix(fmt.Sprintf("f_%d", n), begin) {
				continue
			}
			calls[n%2] += n
			if want := n / 10; got[n] != want {
				t.Errorf("f_%d: got %d emitted events, want %d", n, got[n], want)
			}
		}
		if n, want := tables[1].Rows[0].Int(t, "n"), calls[0]/10+calls[1]/10; n != want {
			t.Errorf("got %d emitted events of threads, want %d", n, want)
		}
	})
}

const manyJoins = `
call = uprobe(%[1]q, "%[2]s", args = "int a", limit = 200)
back = uretprobe(%[1]q, "%[2]s", ret = "long", limit = 200)

def main(o):
    calls = join([call], [back], key = "_tid")
    each = calls.by(func = "start.func", to = "end.func").agg(
        n = agg.count(), a = agg.max("start.a"), result = agg.max("end.result"))
    return [each, calls.where("end.result >= 140").by(func = "end.func").count()]
`

// Calls of all functions that a pattern matches are paired with their returns, for which there
// is a pattern too; in the kernel with two programs.
func TestJoinsOfManyProbesAgree(t *testing.T) {
	ofManyProbes(t, manyJoins, func(t *testing.T, begin string, tables []testkit.Table) {
		got := map[string]string{}
		for _, r := range tables[0].Rows {
			got[r.Text(t, "func")] = fmt.Sprint(
				r.Text(t, "to"), r.Int(t, "n"), r.Int(t, "a"), r.Int(t, "result"))
		}
		slow := map[string]int64{}
		for _, r := range tables[1].Rows {
			slow[r.Text(t, "func")] = r.Int(t, "count")
		}
		for n := range int64(many) {
			name := fmt.Sprintf("f_%d", n)
			if n == 0 || !strings.HasPrefix(name, begin) {
				continue
			}
			if want := fmt.Sprint(name, n, n, 2*n); got[name] != want {
				t.Errorf("%s: got %q, want %q", name, got[name], want)
			}
			if want := n * event.Bit(n >= 70); slow[name] != want {
				t.Errorf("%s: got %d with a large result, want %d", name, slow[name], want)
			}
		}
	})
}

const manySent = `
call = uprobe(%[1]q, "%[2]s", args = "int a", limit = 200)
back = uretprobe(%[1]q, "%[2]s", ret = "long", limit = 200)
calls = join([call], [back], key = "_tid").where("end.result >= 140")

def main(o):
    return %[3]s
`

// Events and pairs of all functions that a pattern matches leave the kernel with the name
// of their function, through one program, and as whole lines too.
func TestManyProbesAreSent(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Uprobes)...)
	if host, err := features.Find(kernel.Roots{}, false); err != nil || !host.UprobeMulti {
		t.Skip("this kernel has no links to many functions of programs")
	}
	bin := buildMany(t)
	lines := func(engine, begin, results string) (list []string) {
		t.Helper()
		path := script(t, fmt.Sprintf(manySent, bin, begin+"*", results))
		out := testkit.Run(t, testkit.PPScript(t), path, "--engine", engine, "--",
			"sh", "-c", "echo | "+bin).Want(t, 0)
		for line := range strings.Lines(out.Stdout + out.Stderr) {
			if !strings.HasPrefix(line, "ppscript: ") {
				list = append(list, volatile.ReplaceAllString(line, ""))
			}
		}
		slices.Sort(list)
		return list
	}
	for results, line := range map[string]string{
		`call.where("a >= 70").each(lambda e: print("call", e.func, e.a))`:         "call f_%[1]d %[1]d\n",
		`back.where("result >= 140").each(lambda e: print(e.func, e.result // 2))`: "f_%[1]d %[1]d\n",
		`calls.each(lambda p: print(p.start.func, p.start.a, p.end.func, p.end.result // 2))`: "" +
			"f_%[1]d %[1]d f_%[1]d %[1]d\n",
	} {
		var want []string
		for n := 70; n < many; n++ {
			want = append(want, slices.Repeat([]string{fmt.Sprintf(line, n)}, n)...)
		}
		if got := lines("bpf", "f_", results); !slices.Equal(got, want) {
			t.Errorf("%s: got %d lines\n%s\nwant %d", results, len(got), strings.Join(got, ""), len(want))
		}
	}
	for _, results := range []string{`calls.log()`, `back.where("result >= 150").log()`} {
		sent, native := lines("bpf", "f_7", results), lines("perf", "f_7", results)
		if !slices.Equal(sent, native) || len(sent) < 300 {
			t.Errorf("%s: got\n%s\nwant\n%s", results, strings.Join(sent, ""), strings.Join(native, ""))
		}
	}
	path := script(t, fmt.Sprintf(manySent, bin, "f_*", `calls.where("delay > 10000000").log()`))
	explained := testkit.Run(t, testkit.PPScript(t), "explain", path).Want(t, 0).Stdout
	for _, want := range []string{"only what matches leaves it",
		fmt.Sprintf("and %d more functions, by one link", many-1)} {
		if !strings.Contains(explained, want) {
			t.Errorf("got %s, want %q", explained, want)
		}
	}
}

// Aggregators that keep the name of a function have the name of the function that was hit, in
// every program.
func TestManyProbesKeepTheirNames(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Uprobes)...)
	bin := buildMany(t)
	kept := func(engine string) (list []string) {
		t.Helper()
		path := script(t, fmt.Sprintf(manySent, bin, "f_7*",
			`call.by("a").agg(last = agg.last("func"), first = agg.first("func"), name = agg.last("event"))`))
		out := testkit.Run(t, testkit.PPScript(t), path, "--engine", engine, "--format", "json", "--",
			"sh", "-c", "echo | "+bin).Want(t, 0)
		for _, r := range testkit.Tables(t, out.Stdout)[0].Rows {
			list = append(list, fmt.Sprintf("%d %s %s %s",
				r.Int(t, "a"), r.Text(t, "last"), r.Text(t, "first"), r.Text(t, "name")))
		}
		slices.Sort(list)
		return list
	}
	got, want := kept("bpf"), kept("perf")
	if !slices.Equal(got, want) || len(want) < 11 {
		t.Errorf("got %q, want %q", got, want)
	}
}
