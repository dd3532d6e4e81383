package longtext

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/bpf/pattern"
	"ppscript/runtime/glob"
	"ppscript/runtime/sent"
	"ppscript/tests/testkit"
)

// What the program of a test returns.
const (
	failed = iota
	there
	fits // and the text fits the pattern
)

// A machine is a program that keeps the text that is given to it, and matches it.
type machine struct {
	t    *testing.T
	maps map[string]*ebpf.Map
	prog *ebpf.Program
}

// Places of the maps of a test: the text, and what the program puts in its place.
var (
	textAt  = load.WholeMap.Of(0)
	placeAt = load.WholeMap.Of(1)
)

// newMachine makes a machine; suffix says that the pattern is the end of texts.
func newMachine(t *testing.T, match string, suffix bool) *machine {
	t.Helper()
	testkit.Requires(t, testkit.Root)
	c := assembler.New()
	fail, no, end := c.Label(), c.Label(), c.Label()
	k := &Keeper{Code: c}
	place := c.Alloc(sent.LongRoom)
	c.MapValue(asm.R3, textAt, 0)
	k.Keep(place, fail)
	c.MapValue(asm.R2, placeAt, 0)
	for i := int16(0); i < sent.LongRoom; i += 8 {
		c.Load(asm.R0, place+i)
		c.Emit(asm.StoreMem(asm.R2, i, asm.R0, asm.DWord))
	}
	c.Emit(asm.LoadMem(asm.R1, asm.R10, place+sent.LongMark, asm.Byte))
	c.IfImm(asm.JEq, asm.R1, 0, no)
	if suffix {
		k.HasSuffix(place, match, false, no, fail)
	} else {
		k.Matches(place, pattern.Glob(match), false, no, fail)
	}
	c.Emit(asm.Mov.Imm(asm.R0, fits))
	c.GoTo(end)
	c.Place(no)
	c.Emit(asm.Mov.Imm(asm.R0, there))
	c.GoTo(end)
	c.Place(fail)
	c.Emit(asm.Mov.Imm(asm.R0, failed))
	c.Place(end)
	c.Emit(asm.Return())

	spec := &ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{}, Programs: map[string]*ebpf.ProgramSpec{
		"keep": {Type: ebpf.RawTracepoint, Instructions: c.Finish(), License: "GPL"},
	}}
	array := func(size uint32) *ebpf.MapSpec {
		return &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: size, MaxEntries: 1}
	}
	spec.Maps[textAt.String()], spec.Maps[placeAt.String()] = array(2*sent.LongMost), array(sent.LongRoom)
	Maps(&features.Host{}, []*Keeper{k}, func(id load.MapID, m *ebpf.MapSpec) {
		spec.Maps[id.String()] = m
	})
	made, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(made.Close)
	return &machine{t, made.Maps, made.Programs["keep"]}
}

// keep runs the program for a text, and returns what is in its place.
func (m *machine) keep(text string) (ret uint32, place []byte) {
	m.t.Helper()
	value := make([]byte, 2*sent.LongMost)
	copy(value, text)
	place = make([]byte, sent.LongRoom)
	if err := m.maps[textAt.String()].Put(uint32(0), value); err != nil {
		m.t.Fatal(err)
	}
	ret, err := m.prog.Run(&ebpf.RunOptions{})
	if err == nil {
		err = m.maps[placeAt.String()].Lookup(uint32(0), &place)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return ret, place
}

// long finds a text by its hash.
func (m *machine) long(hash []byte) []byte {
	var v [memory]byte
	if m.maps[load.LongTextsMap.Of().String()].Lookup(hash, &v) != nil {
		return nil
	}
	text, _, _ := bytes.Cut(v[:], []byte{0})
	return text
}

// Texts of all lengths are what they were, and their places the same where they are.
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
	texts := m.maps[load.LongTextsMap.Of().String()]
	for i, other := range []string{text[:299] + "d", text + "d", text[:200]} {
		var v [memory]byte
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
