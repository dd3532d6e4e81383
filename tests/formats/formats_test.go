package formats

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The renderers' output for results with every kind of content fits the page.
func TestRenderersFitThePage(t *testing.T) {
	f := Read(t)
	dir := filepath.Join(root(t), "runtime", "output", "render", "testdata")
	kinds := map[string]bool{}
	for _, name := range []string{"all", "detail", "stacks", "why"} {
		for _, ext := range []string{"json", "csv"} {
			text, err := os.ReadFile(filepath.Join(dir, name+"."+ext))
			if err != nil {
				t.Fatal(err)
			}
			check := f.CSV
			if ext == "json" {
				check = f.JSON
				for line := range strings.Lines(string(text)) {
					if _, kind, err := decode(line); err == nil {
						kinds[kind] = true
					}
				}
			}
			// This note has a kind that only this test uses.
			output := strings.ReplaceAll(string(text),
				`{"v":1,"type":"attached","data":{"events":2,"what":"sched:*\n"}}`+"\n", "")
			for _, w := range check(output) {
				t.Errorf("%s.%s: %s", name, ext, w)
			}
		}
	}
	for _, kind := range []string{"table", "histogram", "stacks", "event", "detail", "why"} {
		if !kinds[kind] {
			t.Errorf("no golden has a record of type %s", kind)
		}
	}
}

// The checks find the mistakes for which they were written.
func TestChecksFind(t *testing.T) {
	f := Read(t)
	table := func(columns, rows string) string {
		return `{"v":1,"type":"table","data":{"name":"t","seq":0,"final":true,"begin":0,"end":0,"samples":0,"total_samples":0,"loss":{},"columns":[` +
			columns + `],"rows":[` + rows + `]}}` + "\n"
	}
	json := func(output, want string) {
		t.Helper()
		expect(t, f.JSON(output), want)
	}
	n := `{"name":"n","kind":"value","unit":"ns","text_unit":"us"}`
	json(table(n, `{"n":1500,"n_text":"1.500"}`), "")
	json(table(n, `{"n":1500,"n_text":"1500"}`), "is shown as 1500 us")
	json(table(n+","+n, `{"n":1}`), "two columns are called n")
	json(table(`{"name":"n","kind":"value","unit":"us"}`, `{"n":1}`), "want a base unit")
	json(table(`{"name":"n","kind":"value"}`, `{"n":"99.50"}`), `got the text "99.50"`)
	json(table(`{"name":"n","kind":"value"}`, `{"m":1}`), "has no n")
	json(table(`{"name":"cpu","kind":"key"}`, `{"cpu":"[003]"},{"cpu":3}`), `got the text "[003]"`)
	json(`{"v":1,"type":"odd","data":{}}`, "not documented")
	json(`{"v":1,"type":"message","data":{"text":"x","more":1}}`, "more, which is not documented")
	json(`{"v":1,"type":"message","data":{}}`, "has no text")
	json(`{"v":1,"type":"end","data":{"samples":"1","missing":0}}`, "want integer")

	csv := func(output, want string) {
		t.Helper()
		expect(t, f.CSV(output), want)
	}
	at := "2026-01-02T10:00:00.000000000Z"
	csv("time,result,cpu,time_2(us)\n"+at+",t,0,1.5\n", "")
	csv("time,result,comm,time(us)\n"+at+",t,x,1.5\n", "two columns are called time")
	csv("time,result,n\n2026-01-02 10:00:00.000000,t,1\n", "RFC 3339")
	csv("time,result,a,n\n"+at+",t,x,(460)\n", `got "(460)"`)
	csv("time,result,cpu\n"+at+",t,0\n"+at+",t,ALL\n", "")
	later := "2026-01-02T10:00:01.000000000Z"
	csv("time,result,cpu\n"+at+",t,0\n"+at+",t,ALL\n"+later+",t,0\n"+later+",t,ALL\n", "")
	csv("time,result,cpu\n"+at+",t,0\n"+at+",t,ALL\n"+at+",t,1\n", "want a number")
	csv("time,result,comm,n(us)\n"+at+",t,x,1.5us\n", "want a number")
	csv("time,result,comm,cpu\n"+at+",t,x,[000]\n", `got "[000]"`)

	columns := `{"name":"n","kind":"value","unit":"ns","text_unit":"us"}`
	expect(t, f.Agree(table(columns, `{"n":1500}`), "time,result,n(us)\n"+at+",t,1.5\n"), "")
	expect(t, f.Agree(table(columns, `{"n":1500}`), "time,result,n(us)\n"+at+",t,1500\n"),
		"CSV has 1500 us, JSON 1500 ns")
}

func expect(t *testing.T, wrong []string, want string) {
	t.Helper()
	got := strings.Join(wrong, "\n")
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Each kind of record that the program writes has its table on the page.
func TestKindsAreDocumented(t *testing.T) {
	f := Read(t)
	kind := regexp.MustCompile(`\.(?:Note|begin)\("([a-z_]+)"`)
	found := 0
	for _, dir := range []string{"cmd/ppscript", "runtime/output/render", "runtime/session"} {
		files, err := filepath.Glob(filepath.Join(root(t), dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range kind.FindAllStringSubmatch(string(text), -1) {
				found++
				if f.objects["record "+m[1]] == nil {
					t.Errorf("%s writes records of type %s, which docs/formats.md lacks", file, m[1])
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("got %d kinds, want ten at least: does the search still fit the sources?", found)
	}
}

// root is the directory of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}
