package render

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// This file writes flame graphs as one SVG file that loads nothing else. The
// file contains the tree of stacks as data, and a script that draws it. So even
// very narrow frames can be searched and zoomed to, and drawing is fast,
// because invisible frames are not drawn. For programs that show SVG without
// running scripts, the file also contains the widest frames as plain SVG.

//go:embed flame/flame.js
var flameScript string

//go:embed flame/flame.css
var flameStyle string

// FlameOptions are options of a flame graph. The zero value works.
type FlameOptions struct {
	Title   string // "Flame graph" if empty
	About   string // description of the recording; may be empty
	Icicle  bool   // the outermost frame is on top
	Reverse bool   // stacks are merged from the innermost frame
}

const (
	flameWidth = 1200 // width of the picture without script
	flameRow   = 18
	flameHead  = 64
	flameFoot  = 24
	// flameLeast is the smallest share of the total of a frame in the picture
	// without script.
	flameLeast = 0.001
)

// flameGraph writes the stacks as an interactive SVG.
func flameGraph(w io.Writer, s *result.Stacks, o FlameOptions) error {
	t := newFlameTree()
	t.add(s, 0)
	return writeFlame(w, t, s, nil, o)
}

// DiffFlameGraph writes how the stacks changed from before to after. The widths
// are from after; red frames grew and blue ones shrank. Frames are compared by
// their shares, since recordings rarely have the same length.
func DiffFlameGraph(w io.Writer, before, after *result.Stacks, o FlameOptions) error {
	if n, v := before.Total(); n == 0 && v == 0 {
		return diag.Errorf(diag.Run, "compare stacks", flameTitle(o, before),
			"there are no samples from before").
			WithHint("compare with a recording that has stacks")
	}
	before, after = alike(before, after)
	t := newFlameTree()
	t.add(after, 0)
	t.add(before, 1)
	return writeFlame(w, t, after, before, o)
}

// FlameHTML writes a flame graph of s as an HTML page; if before is not nil, of
// the changes.
func FlameHTML(w io.Writer, before, s *result.Stacks, o FlameOptions) error {
	title := html.EscapeString(string(plain.Append(nil, flameTitle(o, before))))
	if _, err := fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"+
		"<meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>"+
		"<meta name=\"color-scheme\" content=\"light dark\"><style>body{margin:0;background:#fbfbfa}"+
		"@media (prefers-color-scheme:dark){body{background:#14171c}}</style></head><body>\n",
		title); err != nil {
		return flameError(err)
	}
	var err error
	if before == nil {
		err = flameGraph(w, s, o)
	} else {
		err = DiffFlameGraph(w, before, s, o)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "</body></html>\n")
	return flameError(err)
}

func flameError(err error) error {
	if err == nil {
		return nil
	}
	return &diag.Error{Op: "write", Subject: "flame graph", Cause: err}
}

func flameTitle(o FlameOptions, before *result.Stacks) string {
	switch {
	case o.Title != "":
		return o.Title
	case before != nil:
		return "Differential flame graph"
	}
	return "Flame graph"
}

// flameWriter writes the parts of the file.
type flameWriter struct {
	t    *flameTree
	diff bool
	buf  []byte
	unit string // unit of the counts
	base string // base unit: ns, B or ""
}

// amount formats a number with its unit.
func (f *flameWriter) amount(n int64) string {
	switch f.base {
	case "ns":
		return unit.Duration(n) + " " + f.unit
	case "B":
		return unit.Size(n) + " " + f.unit
	}
	return grouped(n) + " " + f.unit
}

func writeFlame(w io.Writer, t *flameTree, s, before *result.Stacks, o FlameOptions) error {
	f := &flameWriter{t: t, diff: before != nil, unit: "samples"}
	if s.Value != "" {
		f.unit, f.base = s.Value, s.Unit.Base
	}
	height := flameHead + (t.depth+1)*flameRow + flameFoot
	f.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="pp-flame" width="100%%" viewBox="0 0 %d %d"`,
		flameWidth, height)
	f.printf(` font-family="system-ui,-apple-system,'Segoe UI',Roboto,sans-serif" font-size="12">` + "\n")
	f.printf("<style><![CDATA[\n%s]]></style>\n", flameStyle)
	f.printf(`<rect class="bg" width="100%%" height="100%%"/>` + "\n")
	f.printf(`<text class="title" x="12" y="25">%s</text>`+"\n", xmlText(flameTitle(o, before)))
	f.printf(`<text class="sub" x="12" y="46">%s</text>`+"\n", xmlText(f.summary(s, before, o.About)))
	f.printf("<g class=\"static\">\n")
	f.static(t.root, 0, 0, float64(max(t.root.total[0], 1)), height)
	f.printf("</g>\n<g class=\"frames\"/>\n")
	f.printf("<script type=\"application/json\"><![CDATA[\n")
	f.data(o)
	f.printf("\n]]></script>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", flameScript)
	_, err := w.Write(f.buf)
	return flameError(err)
}

func (f *flameWriter) printf(format string, args ...any) {
	f.buf = fmt.Appendf(f.buf, format, args...)
}

// summary returns the line under the title: the total, the losses, and the
// description of the recording, which comes last since it may be long and be
// cut off.
func (f *flameWriter) summary(s, before *result.Stacks, about string) string {
	n, _ := s.Total()
	text := grouped(int64(n)) + " samples"
	if s.Value != "" {
		text += ", " + f.amount(f.t.root.total[0])
	}
	if before != nil {
		b, _ := before.Total()
		text += " after, " + grouped(int64(b)) + " before"
	}
	if s.Cut > 0 {
		text += ", " + grouped(int64(s.Cut)) + " with a cut stack"
	}
	if missing := Remarks(&s.Meta); missing != "" {
		text += " \u2014 " + missing
	}
	if about != "" {
		text += " \u2014 " + about
	}
	return text
}

// grouped formats 1234567 as 1,234,567.
func grouped(n int64) string {
	d := strconv.FormatInt(n, 10)
	for i := len(d) - 3; i > 0 && d[i-1] != '-'; i -= 3 {
		d = d[:i] + "," + d[i:]
	}
	return d
}

// static draws the widest frames, for programs that run no scripts.
func (f *flameWriter) static(n *flameNode, depth int, x, whole float64, height int) {
	wide := float64(n.total[0]) / whole
	if wide < flameLeast {
		return
	}
	l := &f.t.labels[n.label]
	left, w := x*flameWidth, wide*flameWidth
	y := height - flameFoot - (depth+1)*flameRow
	f.printf(`<g><title>%s (%s, %.2f%%)</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`,
		xmlText(l.name), xmlText(f.amount(n.total[0])), 100*wide, left, y, max(w-0.5, 0.2), flameRow-1,
		f.fill(n, l))
	if chars := int(w / 7); chars > 2 {
		f.printf(`<text x="%.1f" y="%d">%s</text>`, left+3, y+13, xmlText(shorten(l.name, chars)))
	}
	f.printf("</g>\n")
	for _, c := range f.t.sorted(n) {
		f.static(c, depth+1, x, whole, height)
		x += float64(c.total[0]) / whole
	}
}

// shorten cuts a name to at most chars characters.
func shorten(name string, chars int) string {
	r := []rune(name)
	if len(r) <= chars {
		return name
	}
	return string(r[:max(chars-1, 0)]) + "\u2026"
}

// fill returns the colour of a frame. The script has the same rules.
func (f *flameWriter) fill(n *flameNode, l *flameLabel) string {
	if f.diff {
		before, after := share(n, f.t.root, 1), share(n, f.t.root, 0)
		d := 0.0
		if m := max(before, after); m > 0 {
			d = (after - before) / m
		}
		hue := 8
		if d < 0 {
			hue, d = 215, -d
		}
		return fmt.Sprintf("hsl(%d,%d%%,%d%%)", hue, int(85*d), 88-int(26*d))
	}
	p := flamePalette[l.kind]
	v := hueOf(l.name)
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", p[0]+v*p[1]/100, p[2], p[3]+v*7%9)
}

func share(n, root *flameNode, side int) float64 {
	return float64(n.total[side]) / float64(max(root.total[side], 1))
}

// flamePalette has hue, width of the hues, saturation and lightness by kind.
var flamePalette = [...][4]int{
	flameAll:     {215, 0, 12, 80},
	flameKey:     {215, 12, 22, 76},
	flameKernel:  {24, 18, 82, 68},
	flameModule:  {2, 14, 72, 72},
	flameProgram: {186, 26, 48, 66},
	flameLibrary: {88, 44, 42, 68},
	flameInline:  {262, 24, 46, 76},
	flameUnknown: {40, 10, 8, 74},
}

// xmlText escapes untrusted text: its control characters and XML's special
// characters.
func xmlText(s string) string { return html.EscapeString(string(plain.Append(nil, s))) }

// data writes the tree as JSON: the labels, and for each node, in drawing
// order, its depth, its label and its own samples.
func (f *flameWriter) data(o FlameOptions) {
	f.buf = append(f.buf, `{"unit":`...)
	f.json(f.unit)
	f.buf = append(f.buf, `,"base":`...)
	f.json(f.base)
	f.printf(`,"diff":%v,"icicle":%v,"reverse":%v,"palette":[`, f.diff, o.Icicle, o.Reverse)
	for i, p := range flamePalette {
		if i > 0 {
			f.buf = append(f.buf, ',')
		}
		f.printf("[%d,%d,%d,%d]", p[0], p[1], p[2], p[3])
	}
	f.buf = append(f.buf, `],"labels":[`...)
	for i := range f.t.labels {
		l := &f.t.labels[i]
		if i > 0 {
			f.buf = append(f.buf, ",\n"...)
		}
		f.buf = append(f.buf, '[')
		f.json(l.name)
		f.buf = append(f.buf, ',')
		f.json(l.dso)
		f.printf(",%d,%d]", l.kind, hueOf(l.name))
	}
	f.buf = append(f.buf, "],\n\"nodes\":["...)
	f.nodes(f.t.root, 0)
	f.buf[len(f.buf)-1] = ']'
	f.buf = append(f.buf, '}')
}

func (f *flameWriter) nodes(n *flameNode, depth int) {
	f.printf("%d,%d,%d,", depth, n.label, n.self[0])
	if f.diff {
		f.printf("%d,", n.self[1])
	}
	for _, c := range f.t.sorted(n) {
		f.nodes(c, depth+1)
	}
}

// json appends a JSON string. Characters that could end the surrounding script
// or CDATA section are escaped.
func (f *flameWriter) json(s string) {
	from := len(f.buf)
	f.buf = appendJSONString(f.buf, s)
	if !strings.ContainsAny(string(f.buf[from:]), "<>&]") {
		return
	}
	text := string(f.buf[from:])
	f.buf = f.buf[:from]
	for _, r := range text {
		switch r {
		case '<', '>', '&', ']':
			f.buf = fmt.Appendf(f.buf, `\u%04x`, r)
		default:
			f.buf = append(f.buf, string(r)...)
		}
	}
}
