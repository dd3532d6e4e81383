package unwind

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/stack/dso"

	"ppscript/tests/testkit"
)

// A row is the line of readelf for an address: the CFA as "reg+off", the place
// of the return address as "c-8", or "u", "exp".
type row struct {
	addr    uint64
	cfa, ra string
}

var amd64Names = []string{
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
	"r14", "r15", "rip",
}

var rowLine = regexp.MustCompile(`^[0-9a-f]{16} `)

// readelfRows are the rows of the section that readelf interprets.
func readelfRows(t *testing.T, path string) (rows []row) {
	t.Helper()
	raColumn := -1
	want := false
	// its status is 1 for a warning
	out, _ := exec.Command("readelf", "--debug-dump=frames-interp", "-W", path).Output()
	for line := range strings.Lines(string(out)) {
		// "r1 (rdx)" is one word.
		words := slices.DeleteFunc(strings.Fields(line), func(w string) bool { return w[0] == '(' })
		switch {
		case strings.Contains(line, " CIE "):
			want = false
		case strings.Contains(line, " FDE "):
			want, raColumn = true, -1
		case len(words) > 2 && words[0] == "LOC":
			for i, w := range words {
				if w == "ra" || w == "x30" {
					raColumn = i
				}
			}
		case want && rowLine.MatchString(line) && len(words) >= 2:
			addr, err := strconv.ParseUint(words[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			r := row{addr: addr, cfa: words[1]}
			if raColumn > 0 && raColumn < len(words) {
				r.ra = words[raColumn]
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// describe is our row in readelf's words.
func describe(t *ruleTable, r *ruleSet, names func(int) string) (cfa, ra string) {
	cfa = fmt.Sprintf("%s%+d", names(int(r.cfaReg)), r.cfaOff)
	if r.flags&cfaExpr != 0 {
		cfa = "exp"
	}
	ra = "u"
	for i := r.first; i < r.first+uint32(r.n); i++ {
		if rule := t.pool[i]; rule.reg == r.ra {
			switch rule.kind {
			case atOffset:
				ra = fmt.Sprintf("c%+d", rule.off)
			case inRegister:
				ra = fmt.Sprintf("r%d", rule.off)
			case atExpr:
				ra = "exp"
			case valExpr:
				ra = "vexp"
			}
		}
	}
	return cfa, ra
}

// TestRowsAgreeWithReadelf checks that every row that readelf makes of a file is in our table.
// Those of Go programs are made of .gopclntab, and those of .debug_frame are the same.
func TestRowsAgreeWithReadelf(t *testing.T) {
	testkit.Requires(t, testkit.Binutils, testkit.Go, testkit.Long)
	goProgram := func(arch string) string {
		out := filepath.Join(t.TempDir(), "prog")
		cmd := exec.Command("go", "build", "-ldflags=-compressdwarf=false", "-o", out,
			"../symbol/testdata/shop.go")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, text)
		}
		return out
	}
	amd := func(i int) string { return amd64Names[i] }
	arm := func(i int) string {
		if i == 31 {
			return "sp"
		}
		return "x" + strconv.Itoa(i)
	}
	libc := ""
	for _, path := range []string{
		"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/usr/lib/libc.so.6",
	} {
		if _, err := os.Stat(path); err == nil {
			libc = path
		}
	}
	for _, c := range []struct {
		name, path string
		names      func(int) string
		debug      bool // read .debug_frame
	}{
		{"libc", libc, amd, false},
		{"go amd64", goProgram("amd64"), amd, false},
		{"go arm64", goProgram("arm64"), arm, false},
		{"go amd64 debug", goProgram("amd64"), amd, true},
		{"go arm64 debug", goProgram("arm64"), arm, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.path == "" {
				testkit.Requires(t, testkit.Optional("a C library", errors.New("not where it is looked for")))
			}
			store := dso.NewStore(dso.Options{})
			defer store.Close()
			f, err := store.Open(nil, c.path)
			if err != nil {
				t.Fatal(err)
			}
			im, err := f.Image()
			if err != nil {
				t.Fatal(err)
			}
			if im.Machine == 183 && c.name == "libc" {
				c.names = arm
			}
			m := loadModule(store, f)
			if rules, _, err := goRules(im); err != nil || (rules != nil) != strings.HasPrefix(c.name, "go") {
				t.Errorf("got Go's rules %v (%v)", rules != nil, err)
			}
			if c.debug {
				m.tables = nil
				m.take(debugFrame(im))
			}
			rows := readelfRows(t, c.path)
			differ := 0
			for i, want := range rows {
				// A row that the next one replaces at once is not kept.
				if i+1 < len(rows) && rows[i+1].addr == want.addr || want.addr == 0 {
					continue
				}
				table, r := m.rules(want.addr)
				cfa, ra := "none", ""
				if r != nil {
					cfa, ra = describe(table, r, c.names)
				}
				if want.ra == "" || want.ra == "s" && ra == "u" { // neither has a rule
					ra = want.ra
				}
				if cfa != want.cfa && !(cfa == "exp" && strings.HasPrefix(want.cfa, "exp")) || ra != want.ra {
					if differ++; differ <= 5 {
						t.Logf("%#x: got %s %s, want %s %s", want.addr, cfa, ra, want.cfa, want.ra)
					}
				}
			}
			if len(rows) < 1000 || differ > 0 {
				t.Errorf("got %d of %d rows that differ, want none", differ, len(rows))
			}
		})
	}
}
