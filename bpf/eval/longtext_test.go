package eval

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/record/sent"
	"ppscript/runtime/text/glob"
	"ppscript/tests/testkit/bpftest"
)

// Results of the program of a test.
const (
	failed = iota
	there
	fits // and the text fits the pattern
)

// A machine is a program that keeps the text that is given to it, and matches it.
type machine struct{ *bpftest.Program }

// newMachine makes a machine; suffix says that the pattern is the end of texts.
func newMachine(t *testing.T, match string, suffix bool) *machine {
	t.Helper()
	k := &LongTexts{}
	b := bpftest.Builder{In: 2 * sent.LongMost, Out: 8 + sent.LongRoom}
	return &machine{b.Build(t, func(c *assembler.Code, fail assembler.Label) {
		k.Code = c
		no := c.Label()
		place := c.Alloc(sent.LongRoom)
		c.MapValue(asm.R3, bpftest.Input, 0)
		k.keep(place, fail)
		c.MapValue(asm.R2, bpftest.Output, 0)
		c.Emit(assembler.StoreImm(asm.R2, 0, there))
		for i := int16(0); i < sent.LongRoom; i += 8 {
			c.Load(asm.R0, place+i)
			c.Emit(asm.StoreMem(asm.R2, 8+i, asm.R0, asm.DWord))
		}
		c.LoadPart(asm.R1, place+sent.LongMark, asm.Byte)
		c.IfImm(asm.JEq, asm.R1, 0, no)
		if suffix {
			k.hasSuffix(place, match, false, no, fail)
		} else {
			k.matches(place, globPattern(match), false, no, fail)
		}
		c.MapValue(asm.R2, bpftest.Output, 0)
		c.Emit(assembler.StoreImm(asm.R2, 0, fits))
		c.Place(no)
		LongTextMaps(&features.Host{}, []*LongTexts{k}, b.Define)
	})}
}

// keep runs the program for a text, and returns what is in its place.
func (m *machine) keep(text string) (ret uint32, place []byte) {
	out, ok := m.Run([]byte(text))
	if !ok {
		return failed, out[8:]
	}
	return uint32(out[0]), out[8:]
}

// long finds a text by its hash.
func (m *machine) long(hash []byte) []byte {
	var v [longMemory]byte
	if m.Map(load.LongTextsMap.Of()).Lookup(hash, &v) != nil {
		return nil
	}
	text, _, _ := bytes.Cut(v[:], []byte{0})
	return text
}

// TestTextsAreKept checks that texts of all lengths are what they were, and their places the same
// where they are.
func TestTextsAreKept(t *testing.T) {
	const match = "*b?c*d"
	m := newMachine(t, match, false)
	places := map[string]string{}
	for _, n := range []int{0, 1, 126, 127, 128, 129, 135, 136, 137, 1000, 2047, 4094, 4095} {
		for i, text := range []string{
			strings.Repeat("a", n), strings.Repeat("abxcd", n/5+1)[:n],
			strings.Repeat("b-c", n/3+1)[:n/2] + strings.Repeat("d", n-n/2),
		} {
			for range 2 {
				ret, place := m.keep(text)
				want := uint32(there)
				if len(text) >= sent.LongRoom && glob.Match(match, text) {
					want = fits
				}
				if got := string(sent.TextIn(place, m.long)); got != text || ret != want {
					t.Fatalf("%d bytes, %d: got %d and %.20q..., want %d and %.20q...", n, i, ret, got, want, text)
				}
				if before, known := places[text]; known && before != string(place) {
					t.Errorf("%d bytes: got another place, want the same", n)
				}
				places[text] = string(place)
			}
		}
	}
	same := map[string]bool{}
	for _, place := range places {
		if same[place] {
			t.Error("got two texts with one place")
		}
		same[place] = true
	}
	if ret, _ := m.keep(strings.Repeat("x", 4096)); ret != failed {
		t.Errorf("a text of 4,096 bytes: got %d, want a failure", ret)
	}
}

func TestEndsOfTexts(t *testing.T) {
	m := newMachine(t, "/cc1", true)
	for text, want := range map[string]uint32{
		strings.Repeat("x", 300) + "/cc1":  fits,
		strings.Repeat("x", 4091) + "/cc1": fits,
		strings.Repeat("x", 300) + "/cc11": there,
		strings.Repeat("/cc1", 80) + "/":   there,
	} {
		if ret, _ := m.keep(text); ret != want {
			t.Errorf("%d bytes: got %d, want %d", len(text), ret, want)
		}
	}
}

// A text with the hash of another one fails: neither is taken for the other.
func TestHashesThatMeet(t *testing.T) {
	m := newMachine(t, "*", false)
	text := strings.Repeat("abc", 100)
	_, place := m.keep(text)
	hash := place[sent.LongHash:sent.LongLength]
	texts := m.Map(load.LongTextsMap.Of())
	for i, other := range []string{text[:299] + "d", text + "d", text[:200]} {
		var v [longMemory]byte
		copy(v[:], other)
		if err := texts.Put(hash, v); err != nil {
			t.Fatal(err)
		}
		if ret, _ := m.keep(text); ret != failed {
			t.Errorf("%d: got %d, want a failure", i, ret)
		}
	}
	if err := texts.Delete(hash); err != nil {
		t.Fatal(err)
	}
	if ret, place := m.keep(text); ret != fits || string(sent.TextIn(place, m.long)) != text {
		t.Errorf("once it is gone: got %d, want the text", ret)
	}
}

// A text that was taken away is shown cut.
func TestTextsThatAreGone(t *testing.T) {
	m := newMachine(t, "*", false)
	text := strings.Repeat("abc", 100)
	_, place := m.keep(text)
	none := func([]byte) []byte { return nil }
	if got, want := string(sent.TextIn(place, none)), fmt.Sprint(text[:sent.LongFront], "..."); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
