package eval

import (
	"encoding/binary"
	"math/rand"
	"testing"

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
		if got, want := matched(globPattern(source), of), glob.Match(source, of); got != want {
			t.Fatalf("%q of %q: got %v, want %v", source, of, got, want)
		}
	}
}

// matched moves through a pattern as the program does that is generated of it. NULs behind the first one
// change nothing.
func matched(p *pattern, of string) bool {
	state, table := uint32(1), p.table()
	for _, b := range []byte(of + "\x00\x00\x00") {
		moves := binary.NativeEndian.Uint32(table[8*int(b)+tableMoves:])
		stays := binary.NativeEndian.Uint32(table[8*int(b)+tableStays:])
		state = state&moves<<1 | state&stays
	}
	return state&uint32(p.over()) != 0
}

// A literal has no special characters.
func TestLiteral(t *testing.T) {
	p := &pattern{}
	p.literal("*[a]")
	for _, of := range []string{"*[a]", "x[a]", "a", "*[a", "*[a]b"} {
		if got := matched(p, of); got != (of == "*[a]") {
			t.Errorf("%q: got %t", of, got)
		}
	}
}
