package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

const hostile = "a;b c\\d\n\x1b[31m]]></script><img src=x>&\"'\u202e\xff"

func frame(addr uint64, symbol string, offset uint64, dso string) *result.Frame {
	return &result.Frame{Addr: addr, Symbol: symbol, Offset: offset, DSO: dso, Kernel: addr >= 1<<63}
}

// someStacks has three stacks of two processes: an inlined function, unknown
// code, a cut stack, a hostile name.
func someStacks() *result.Stacks {
	read := frame(0xffffffff81230014, "vfs_read", 0x14, "[kernel.kallsyms]")
	ext4 := frame(0xffffffffc0001010, "ext4_read", 0x10, "[ext4]")
	main := frame(0x401136, "main", 0x1d, "/usr/bin/app")
	inner := &result.Frame{
		Addr:   0x401136,
		Symbol: "inlined<int>(char const*)",
		DSO:    "/usr/bin/app",
		Inline: true,
		File:   "/src/a b.c",
		Line:   42,
	}
	s := &result.Stacks{
		Meta:  meta("stacks", "bytes read"),
		Keys:  []result.Column{key("comm", 16)},
		Value: "bytes",
		Unit:  unit.Bytes,
		Cut:   3,
	}
	s.Loss = event.Loss{Lost: 7}
	s.Samples = []result.StackSample{
		{Key: []event.Value{event.StrOf("app")}, PID: 12, Count: 4, Value: 4096, CallStack: result.StackOf(ext4, read, inner, main)},
		{Key: []event.Value{event.StrOf("app")}, PID: 13, Count: 3, Value: 1024, CallStack: result.CallStack{Frames: []*result.Frame{main, frame(0x7f0000001000, "", 0, "/usr/lib/libx.so"), frame(0x10, "", 0, "")}, Cut: true}},
		{Key: []event.Value{event.StrOf("my app;")}, PID: 14, Count: 1, Value: 0, CallStack: result.StackOf(frame(0x55, hostile, 1, "/bin/a b"))},
	}
	return s
}

func TestStacksGolden(t *testing.T) {
	for _, format := range []string{"text", "json", "csv", "markdown"} {
		var b bytes.Buffer
		r, err := New(&b, Options{Format: format, Clock: clock, Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		s := someStacks()
		if err := r.Show(s); err != nil {
			t.Fatal(err)
		}
		s.Top(1)
		s.Totals = true
		if err := r.Show(s); err != nil {
			t.Fatal(err)
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		if format == "json" {
			for line := range bytes.Lines(b.Bytes()) {
				if !json.Valid(line) {
					t.Errorf("got invalid JSON: %s", line)
				}
			}
		}
		checkGolden(t, "stacks."+format, b.Bytes())
	}
}

func TestEventLineWithStack(t *testing.T) {
	e := &event.Event{
		Time:   5e9,
		TID:    7,
		PID:    7,
		CPU:    1,
		Stream: &event.Stream{Schema: &event.Schema{System: "a", Name: "b"}},
	}
	s := someStacks()
	var b bytes.Buffer
	r, err := New(&b, Options{Time: "mono"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Show(&result.Line{
		Event:     e,
		Stacks:    true,
		CallStack: result.CallStack{Frames: s.Samples[1].Frames, Cut: true},
		Block:     []byte("RIP: 1\nRAX: \x1b2"),
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "             pid-7      7 [001] 5.000000: a:b: \n" +
		"    RIP: 1\n    RAX: \\x1b2\n" +
		"    0000000000401136 main+0x1d (/usr/bin/app)\n" +
		"    00007f0000001000 Unknown+0x0 (/usr/lib/libx.so)\n" +
		"    0000000000000010 Unknown\n" +
		"    (cut: outer frames are missing)\n"
	if got := b.String(); strings.TrimLeft(got, " ") != strings.TrimLeft(want, " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFolded(t *testing.T) {
	s := someStacks()
	s.Samples = append(s.Samples, s.Samples[0]) // equal lines are added up
	start := time.Date(2026, 11, 20, 15, 46, 33, 0, time.UTC)
	want := `app;[unknown];[libx.so];main 1024
app;main;inlined<int>(char const*);vfs_read;ext4_read 8192
my app:;a:b c\x5cd\x0a\x1b[31m]]></script><img src=x>&"'\xe2\x80\xae\xff 0
`
	if got := string(AppendFolded(nil, s, time.Time{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(string(AppendFolded(nil, s, start))) {
		if !strings.HasPrefix(line, "2026-11-20;15:46:33;") || strings.Contains(line[:20], " ") {
			t.Errorf("got stamped line %q, want the period's start", line)
		}
	}
	s.Value = "" // counts then
	if got := string(AppendFolded(nil, s, time.Time{})); !strings.Contains(got, "ext4_read 8\n") {
		t.Errorf("without values: got\n%s\nwant counts", got)
	}
}

func TestFoldedIsReadBack(t *testing.T) {
	text := AppendFolded(nil, someStacks(), time.Time{})
	s, err := ParseFolded(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := AppendFolded(nil, s, time.Time{}); string(got) != string(text) {
		t.Errorf("got\n%s\nwant what was read\n%s", got, text)
	}
	if n, _ := s.Total(); n != 5120 {
		t.Errorf("got total %d, want 5120", n)
	}
	s, err = ParseFolded(strings.NewReader("# of another tool\n\na b;operator new(unsigned long) 3\n"))
	if err != nil || len(s.Samples) != 1 || s.Samples[0].Frames[0].Symbol != "operator new(unsigned long)" {
		t.Errorf("blanks in names: got %+v, %v", s, err)
	}
	for _, bad := range []string{"nocount", "a;b x", "a;b -1", "a 99999999999999999999"} {
		if _, err := ParseFolded(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// texts reads an XML document to its end and returns its visible texts.
func texts(t *testing.T, doc []byte) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(doc))
	var b strings.Builder
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.CharData:
			b.Write(tok)
		case xml.StartElement:
			if tok.Name.Local == "img" {
				t.Error("a name became an element")
			}
			for _, a := range tok.Attr {
				if strings.Contains(a.Value, "http") && a.Name.Local != "xmlns" {
					t.Errorf("got a reference to %s, want a file that needs nothing else", a.Value)
				}
			}
		}
	}
}

// flameData is the tree that the file carries.
func flameData(t *testing.T, svg []byte) (d struct {
	Unit   string
	Diff   bool
	Labels [][]any
	Nodes  []int64
}) {
	t.Helper()
	_, rest, ok := bytes.Cut(svg, []byte(`<script type="application/json"><![CDATA[`))
	text, _, ok2 := bytes.Cut(rest, []byte("]]></script>"))
	if !ok || !ok2 {
		t.Fatal("got no data in the file")
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFlameGraphIsWholeAndHarmless(t *testing.T) {
	var b bytes.Buffer
	s := someStacks()
	s.Samples[2].Value = 1
	if err := flameGraph(&b, s, FlameOptions{Title: "<hot> & " + hostile}); err != nil {
		t.Fatal(err)
	}
	seen := texts(t, b.Bytes())
	for _, want := range []string{
		`<hot> & a;b c\d\n\x1b[31m`, "8 samples, 5.001KiB bytes, 3 with a cut stack", "lost 7 events", "ext4_read",
	} {
		if !strings.Contains(seen, want) {
			t.Errorf("the picture does not show %q", want)
		}
	}
	d := flameData(t, b.Bytes())
	var sum, nodes int64
	for i := 0; i < len(d.Nodes); i += 3 {
		sum += d.Nodes[i+2]
		nodes++
	}
	// all, app, Unknown, [libx.so], main; main, inlined, vfs_read, ext4_read; my app;, the hostile one.
	if sum != 5121 || nodes != 11 || d.Unit != "bytes" {
		t.Errorf("got %d %s in %d nodes, want 5121 bytes in 11", sum, d.Unit, nodes)
	}
	var page bytes.Buffer
	if err := FlameHTML(&page, nil, s, FlameOptions{Title: "</title><script>"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "</title><script>") || strings.Count(page.String(), "<script") != 2 {
		t.Error("the page's title was not escaped")
	}
}

func TestFlameGraphIsTheSameEveryTime(t *testing.T) {
	var first bytes.Buffer
	if err := flameGraph(&first, someStacks(), FlameOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		var again bytes.Buffer
		if err := flameGraph(&again, someStacks(), FlameOptions{}); err != nil ||
			!bytes.Equal(first.Bytes(), again.Bytes()) {
			t.Fatalf("got another picture of the same stacks (%v)", err)
		}
	}
}

func TestDiffFlameGraph(t *testing.T) {
	before, _ := ParseFolded(strings.NewReader("app;main;old 30\napp;main;same 10\n"))
	after, _ := ParseFolded(strings.NewReader("app;main;new 10\napp;main;same 10\n"))
	var b bytes.Buffer
	if err := DiffFlameGraph(&b, before, after, FlameOptions{About: "make, on host, 99 Hz"}); err != nil {
		t.Fatal(err)
	}
	const totals = "20 samples after, 40 before \u2014 make, on host, 99 Hz"
	if seen := texts(t, b.Bytes()); !strings.Contains(seen, totals) {
		t.Errorf("got %q, want both totals", seen[:200])
	}
	d := flameData(t, b.Bytes())
	got := map[string][2]int64{}
	for i := 0; i < len(d.Nodes); i += 4 {
		got[d.Labels[d.Nodes[i+1]][0].(string)] = [2]int64{d.Nodes[i+2], d.Nodes[i+3]}
	}
	for name, want := range map[string][2]int64{"old": {0, 30}, "new": {10, 0}, "same": {10, 10}} {
		if got[name] != want {
			t.Errorf("%s: got after, before %v, want %v", name, got[name], want)
		}
	}
	if err := DiffFlameGraph(&b, &result.Stacks{}, after, FlameOptions{}); err == nil {
		t.Error("comparing with nothing: got no error")
	}
}

func TestPprof(t *testing.T) {
	s := someStacks()
	var b bytes.Buffer
	if err := pprof(&b, s); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var count, value int64
	for _, x := range p.Sample {
		count += x.Value[0]
		value += x.Value[1]
	}
	if n, v := s.Total(); count != int64(n) || value != v {
		t.Errorf("got totals %d and %d, want %d and %d", count, value, n, v)
	}
	if len(p.SampleType) != 2 || p.SampleType[1].Type != "bytes" || p.SampleType[1].Unit != "bytes" ||
		p.DefaultSampleType != "bytes" {
		t.Errorf("got sample types %v, want samples/count and bytes/bytes", p.SampleType)
	}
	x := p.Sample[0]
	if x.Label["comm"][0] != "app" || x.NumLabel["pid"][0] != 12 || len(x.Location) != 3 {
		t.Errorf("got labels %v %v and %d locations, want app, 12, and 3: the inlined function is in its caller's",
			x.Label, x.NumLabel, len(x.Location))
	}
	if l := x.Location[2]; len(l.Line) != 2 || l.Line[0].Function.Name != "inlined<int>(char const*)" ||
		l.Line[0].Line != 42 || l.Line[1].Function.Name != "main" {
		t.Errorf("got lines %v, want the inlined function in main", l.Line)
	}
	if len(p.Comments) != 1 || p.Comments[0] != "lost 7 events" {
		t.Errorf("got comments %q, want the loss", p.Comments)
	}
}

func TestPprofTellsProcessesApart(t *testing.T) {
	// One address, two functions: of two programs at the same place.
	s := &result.Stacks{Samples: []result.StackSample{
		{PID: 1, Count: 1, CallStack: result.StackOf(frame(0x401000, "f", 0, "/bin/a"))},
		{PID: 2, Count: 2, CallStack: result.StackOf(frame(0x401000, "g", 0, "/bin/b"))},
		{PID: 3, Count: 4},
	}}
	var b bytes.Buffer
	if err := pprof(&b, s); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range p.Sample {
		names = append(names, x.Location[0].Line[0].Function.Name)
	}
	if got := fmt.Sprint(names); got != "[f g [no stack]]" || len(p.Mapping) != 3 {
		t.Errorf("got functions %s in %d mappings, want f, g, [no stack] in 3", got, len(p.Mapping))
	}
}

func TestStackFormatOf(t *testing.T) {
	for path, want := range map[string]struct {
		format StackFormat
		known  bool
	}{
		"a.folded": {FoldedFormat, true},
		"a.svg":    {SVGFormat, true},
		"d/a.html": {HTMLFormat, true},
		"a.pb.gz":  {PprofFormat, true},
		"a":        {FoldedFormat, false},
		"a.gz":     {FoldedFormat, false},
		".svg":     {FoldedFormat, false},
	} {
		if format, known := StackFormatOf(path); format != want.format || known != want.known {
			t.Errorf("%s: got %d %v, want %d %v", path, format, known, want.format, want.known)
		}
	}
}

// FuzzParseFolded: stacks that were read can be written and read again, unchanged.
func FuzzParseFolded(f *testing.F) {
	f.Add("a;b 1\n")
	f.Add("a\\x3bb;c d 12\n\\x 3")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseFolded(strings.NewReader(text))
		if err != nil {
			return
		}
		once := AppendFolded(nil, s, time.Time{})
		again, err := ParseFolded(bytes.NewReader(once))
		if err != nil {
			t.Fatalf("%q: %v", once, err)
		}
		a, _ := s.Total()
		b, _ := again.Total()
		if a != b {
			t.Fatalf("got total %d, want %d", b, a)
		}
		var svg bytes.Buffer
		if err := flameGraph(&svg, s, FlameOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}
