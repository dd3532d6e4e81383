package symbol

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
	"ppscript/tests/testkit"
)

// own tells the functions of our programs from those of the C runtime, which
// have no lines.
func own(name string) bool {
	for _, part := range []string{"main", "shop", "St", "std", "leaf", "recurse", "compare", "sorter"} {
		if strings.Contains(name, part) && !strings.HasSuffix(name, "@plt") &&
			!strings.HasPrefix(name, "_start") {
			return true
		}
	}
	return false
}

// places are addresses all over the functions of a program.
func places(table *Table) (addrs []uint64) {
	for i := range table.Len() {
		fn := table.At(i)
		for off := uint64(0); own(fn.Name) && off < fn.Size && len(addrs) < 20000; off += 7 {
			addrs = append(addrs, fn.Addr+off)
		}
	}
	return addrs
}

func lines(addrs []uint64, prefix string) string {
	var in strings.Builder
	for _, a := range addrs {
		in.WriteString(prefix + strconv.FormatUint(a, 16) + "\n")
	}
	return in.String()
}

// source asks addr2line for all frames at addresses.
func source(t testing.TB, path string, addrs []uint64) (all [][]string) {
	t.Helper()
	testkit.Requires(t, testkit.Binutils)
	out := strings.Split(strings.TrimSpace(
		run(t, lines(addrs, ""), "addr2line", "-a", "-f", "-i", "-e", path)), "\n")
	for i := 0; i < len(out); {
		if strings.HasPrefix(out[i], "0x") {
			all = append(all, nil)
			i++
			continue
		}
		place, _, _ := strings.Cut(out[i+1], " (discriminator")
		place = strings.TrimSuffix(strings.TrimSuffix(filepath.Clean(place), ":?"), ":0")
		all[len(all)-1] = append(all[len(all)-1], uncloned(out[i])+" "+place)
		i += 2
	}
	return all
}

// uncloned takes off the suffixes of symbols of clones and cold parts,
// which DWARF does not have.
func uncloned(name string) string {
	for _, clone := range []string{".cold", ".isra.", ".part.", ".constprop.", ".llvm."} {
		if i := strings.Index(name, clone); i > 0 {
			name = name[:i]
		}
	}
	return name
}

// framesAt resolves addresses of a file, as "function file:line" each.
func framesAt(t testing.TB, store *dso.Store, f *dso.File, addrs []uint64) (all [][]string, lined int) {
	t.Helper()
	s := New(Options{
		Maps:    task.NewMappings(task.MappingsOptions{Files: store}),
		Lines:   true,
		Inlines: true,
		Mangled: true,
	})
	im, err := f.Image()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		off, _ := im.Offset(addr)
		var frames []string
		for _, fr := range s.fileFrames(place{f, off, false, false}) {
			at := "??"
			if fr.File != "" {
				at = filepath.Clean(fr.File)
				lined++
			}
			if fr.Line != 0 {
				at += ":" + strconv.Itoa(fr.Line)
			}
			frames = append(frames, uncloned(fr.Symbol)+" "+at)
		}
		all = append(all, frames)
	}
	return all, lined
}

// TestLinesAgreeWithAddr2line checks that lines and inlined functions agree with addr2line, at
// addresses all over the program.
func TestLinesAgreeWithAddr2line(t *testing.T) {
	for _, what := range []string{"c", "cpp", "cpp-compressed", "rust-v0"} {
		t.Run(what, func(t *testing.T) {
			if what != "c" {
				testkit.Requires(t, testkit.Long)
			}
			path := program(t, what)
			table, store, f := tableOf(t, path)
			addrs := places(table)
			want := source(t, path, addrs)
			got, lined := framesAt(t, store, f, addrs)
			if len(want) != len(got) || len(got) < 50 {
				t.Fatalf("got %d answers, want %d and at least 50", len(got), len(want))
			}
			differ := 0
			for i := range got {
				if strings.Join(got[i], "\n") != strings.Join(symbolNamed(got[i], want[i]), "\n") {
					if differ++; differ <= 5 {
						t.Logf("%#x:\ngot  %s\nwant %s", addrs[i], strings.Join(got[i], "\n     "),
							strings.Join(want[i], "\n     "))
					}
				}
			}
			if lined < len(addrs)*9/10 || differ > len(addrs)/100 {
				t.Errorf("got %d of %d addresses that differ, %d frames with lines; want at most 1%%", differ,
					len(addrs), lined)
			}
		})
	}
}

// symbolNamed undoes a habit of addr2line: an innermost function whose entry has
// no linkage name gets the name of the symbol that it was inlined into.
func symbolNamed(got, want []string) []string {
	ours, _, _ := strings.Cut(got[0], " /")
	theirs, place, _ := strings.Cut(want[0], " /")
	outer, _, _ := strings.Cut(want[len(want)-1], " /")
	if len(want) > 1 && !mangled(ours) && strings.HasPrefix(theirs, outer) {
		want = append([]string{ours + " /" + place}, want[1:]...)
	}
	return want
}

// TestGoLinesAgreeWithGo checks that Go programs are read by Go's own tool, which tells the line of
// the innermost and the name of the outermost function; with and without DWARF.
func TestGoLinesAgreeWithGo(t *testing.T) {
	testkit.Requires(t, testkit.Long)
	for _, what := range []string{"go", "go-stripped"} {
		t.Run(what, func(t *testing.T) {
			table, store, f := tableOf(t, program(t, what))
			addrs := places(table)
			want := strings.Split(strings.TrimSpace(
				run(t, lines(addrs, "0x"), "go", "tool", "addr2line", program(t, "go"))), "\n")
			got, _ := framesAt(t, store, f, addrs)
			if len(want) != 2*len(got) || len(got) < 50 {
				t.Fatalf("got %d answers, want %d and at least 50", len(got), len(want)/2)
			}
			differ := 0
			for i := range got {
				last, first := got[i][len(got[i])-1], got[i][0]
				name, line := last[:strings.LastIndex(last, " ")], first[strings.LastIndex(first, " ")+1:]
				if strings.HasSuffix(want[2*i+1], ":-1") ||
					strings.HasPrefix(want[2*i+1], "<autogenerated>") {
					continue
				}
				if strings.TrimSuffix(name, ".abi0") != want[2*i] || line != want[2*i+1] {
					if differ++; differ <= 5 {
						t.Logf("%#x: got %s, want %s", addrs[i], got[i], want[2*i:2*i+2])
					}
				}
			}
			if differ > len(addrs)/50 {
				t.Errorf("got %d of %d addresses that differ, want at most 2%%", differ, len(addrs))
			}
		})
	}
}
