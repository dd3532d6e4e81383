package perfdata

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// chainLines are the chains of samples, in the order of time: addresses with their contexts.
func chainLines(t *testing.T, f *File) (lines []string) {
	t.Helper()
	for _, e := range byTime(t, f) {
		if e.Kind != event.Sample {
			continue
		}
		var line []string
		for _, word := range e.Stream.Members.Callchain(&e) {
			if word != 0 && word < ^uint64(4095-1) {
				line = append(line, fmt.Sprintf("%x", word))
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// scriptChains are the chains that perf script -F event,ip printed.
func scriptChains(t *testing.T, name string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dataDir, name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		var line []string
		for _, l := range strings.Split(sample, "\n")[1:] {
			if address := strings.Fields(l)[0]; address != "0" {
				line = append(line, address)
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// TestDeferredChainsEqualPerfScript checks that deferred user parts of stacks are added to the
// right samples, in files that are mapped, compressed, or come through a pipe.
func TestDeferredChainsEqualPerfScript(t *testing.T) {
	for _, name := range []string{"deferred", "deferredzstd", "deferredpipe"} {
		t.Run(name, func(t *testing.T) {
			want := scriptChains(t, name)
			files := map[string]*File{"file": open(t, name, Options{Ordered: true})}
			if name == "deferredpipe" {
				r := bytes.NewReader(load(t, name))
				f, err := OpenReader(t.Context(), r, name, Options{Ordered: true})
				if err != nil {
					t.Fatal(err)
				}
				files["pipe"] = f
			}
			for from, f := range files {
				got := chainLines(t, f)
				users := slices.ContainsFunc(got, func(s string) bool {
					return strings.Count(s, " ") == 3 && !strings.Contains(s, "ffffffff")
				})
				if !slices.Equal(got, want) || len(got) < 70 || !users {
					t.Errorf("%s: got %d chains\n%s\nwant %d\n%s", from, len(got), strings.Join(got, "\n"),
						len(want), strings.Join(want, "\n"))
				}
				if slices.ContainsFunc(f.Warnings(), isLack) {
					t.Errorf("%s: got %q, want no word of parts that are missing", from, f.Warnings())
				}
			}
		})
	}
}

func isLack(s string) bool { return strings.Contains(s, "no user part") }

// If the user part is not in the recording, the sample has the kernel's part, and there is
// a warning.
func TestDeferredChainIsMissing(t *testing.T) {
	data := load(t, "deferred")
	want := 0
	for at := 0; at+24 < len(data); at += 8 {
		if le.Uint32(data[at:]) == recCallchainDeferred && le.Uint16(data[at+6:])%8 == 0 && data[at+16] == 1 {
			le.PutUint64(data[at+8:], 1<<60)
			want++
		}
	}
	name := filepath.Join(t.TempDir(), "cut.data")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name, Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, got := scriptChains(t, "deferred"), chainLines(t, f)
	short := 0
	for i, chain := range got {
		if chain != all[i] {
			short++
			if !strings.HasPrefix(all[i], chain) || strings.Contains(chain, "4014f0") {
				t.Errorf("got %q of %q, want the part of the kernel", chain, all[i])
			}
		}
	}
	if want == 0 || short < want || len(got) != len(all) {
		t.Errorf("got %d chains, %d without a user part, want %d, and at least %d", len(got), short,
			len(all), want)
	}
	if !slices.ContainsFunc(f.Warnings(), isLack) {
		t.Errorf("got %q, want that user parts are missing", f.Warnings())
	}
}
