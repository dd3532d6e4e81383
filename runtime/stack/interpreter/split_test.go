package interpreter

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/unwind"
	"ppscript/tests/testkit"
)

// What a compiler split off a function is found without its symbol, and nothing else is.
func TestSplit(t *testing.T) {
	testkit.Requires(t, testkit.AMD64, testkit.GCC)
	named := filepath.Join(t.TempDir(), "split")
	testkit.Run(t, "gcc", "-O2", "-o", named, "testdata/split.c").Want(t, 0)
	f, err := elf.Open(named)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]unwind.Piece{}
	for _, s := range list {
		of[s.Name] = pieceOf(s)
	}
	testkit.Run(t, "strip", named).Want(t, 0)
	data, err := os.ReadFile(named)
	if err != nil {
		t.Fatal(err)
	}
	im, err := dso.ReadImage(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"evaluates", "other", "main", "rare"} {
		want := []unwind.Piece{of[name]}
		if rest, ok := of[name+".cold"]; ok {
			want = append(want, rest)
		} else if name == "evaluates" {
			t.Fatal("the compiler split nothing off")
		}
		if got := split(im, of[name]); !slices.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
}
