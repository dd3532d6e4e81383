package text_test

import (
	"math/rand"
	"reflect"
	"testing"

	"ppscript/bpf/text"
	"ppscript/runtime/text/glob"
)

// Patterns match the same texts as package glob.
func TestGlobs(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	pieces := []string{"*", "?", "a", "b", "ab", "[ab]", "[^a]", "[a-c]", "[]]", "[", "0", "/"}
	letters := "ab]c[0/"
	for range 3000 {
		source, of := "", ""
		for range r.Intn(5) {
			source += pieces[r.Intn(len(pieces))]
		}
		for range r.Intn(6) {
			of += string(letters[r.Intn(len(letters))])
		}
		if got, want := matched(text.Glob(source), of), glob.Match(source, of); got != want {
			t.Fatalf("%q of %q: got %v, want %v", source, of, got, want)
		}
	}
}

// matched moves through a pattern as the program does that is generated of it.
func matched(p *text.Pattern, of string) bool {
	n := len(p.Chars)
	state, end := int64(1), int64(1)<<(n+1)
	for _, b := range []byte(of + "\x00\x00") {
		stay, chars := end, int64(0)
		if b == 0 {
			chars = 1 << n
		} else {
			stay |= int64(p.Stars)
		}
		for _, r := range p.Runs() {
			if int(b) >= r.From && int(b) < r.From+r.Count {
				chars |= int64(r.Mask)
			}
		}
		state = (state&chars)<<1 | state&stay
	}
	return state&end != 0
}

// Bytes that the same characters match are one run, and NUL is in none.
func TestRuns(t *testing.T) {
	f := func(glob string, stars int32, want ...text.Run) {
		t.Helper()
		p := text.Glob(glob)
		if got := p.Runs(); !reflect.DeepEqual(got, want) || p.Stars != stars {
			t.Errorf("%q: got %v, stars %b, want %v, %b", glob, got, p.Stars, want, stars)
		}
	}
	f("", 0)
	f("*", 1)
	f("?", 0, text.Run{From: 1, Count: 255, Mask: 1})
	f("[a-c]b", 0, text.Run{From: 'a', Count: 1, Mask: 1}, text.Run{From: 'b', Count: 1, Mask: 3},
		text.Run{From: 'c', Count: 1, Mask: 1})
	f("*ab*", 0b101, text.Run{From: 'a', Count: 1, Mask: 1}, text.Run{From: 'b', Count: 1, Mask: 2})
	p := &text.Pattern{}
	p.Literal("*")
	if got := p.Runs(); len(got) != 1 || got[0] != (text.Run{From: '*', Count: 1, Mask: 1}) {
		t.Errorf("a star that is a text: got %v", got)
	}
}
