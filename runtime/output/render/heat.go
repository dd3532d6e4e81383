package render

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// This file draws heat maps: time to the right, values upwards, and counts as
// colours, the last two on logarithmic scales. A tooltip shows the exact count
// of a cell.

//go:embed heat.css
var heatStyle string

const (
	// HeatRows is the largest number of rows of a picture.
	HeatRows = 64

	heatLeft, heatTop     = 76, 60
	heatWide, heatTall    = 1080, 512
	heatWidth, heatHeight = heatLeft + heatWide + 44, heatTop + heatTall + 64
)

// heatColours are the colours from few to many on a light background, and
// heatDark on a dark one. High counts stand out, low ones are visible, and the
// colours are ordered by lightness for readers who cannot distinguish hues.
var (
	heatColours = [...]string{
		"#f6d77a", "#f6c063", "#f5a552", "#f18a47", "#e86f44", "#db5547", "#c93d4f", "#b02a59",
		"#931f62", "#731b68", "#521a68",
	}
	heatDark = [...]string{
		"#7a52ab", "#8c52a6", "#a04fa0", "#b54e96", "#cb5086", "#de5772", "#ed6560", "#f57c54",
		"#f89650", "#f8b65a", "#fbe08a",
	}
)

// HeatMap writes the picture as an SVG that loads nothing else.
func HeatMap(w io.Writer, h *result.Heatmap) error {
	p := heatWriter{h: h}
	p.printf(
		`<svg xmlns="http://www.w3.org/2000/svg" class="pp-heat" width="100%%" viewBox="0 0 %d %d" font-family="system-ui,-apple-system,'Segoe UI',Roboto,sans-serif" font-size="12">`+
			"\n", heatWidth, heatHeight)
	p.style()
	p.printf(`<rect class="bg" width="100%%" height="100%%"/>` + "\n")
	p.printf(`<text class="title" x="12" y="25">%s</text>`+"\n", xmlText(h.Label()))
	p.printf(`<text x="12" y="44">%s</text>`+"\n", xmlText(p.summary()))
	if len(h.Rows) > 0 {
		p.values()
		p.times()
		p.cells()
		p.legend()
	}
	p.printf("</svg>\n")
	if _, err := w.Write(p.buf); err != nil {
		return &diag.Error{Op: "write", Subject: "heat map", Cause: err}
	}
	return nil
}

// style writes the styles, with classes for the colours of cells on a dark
// background. Viewers that do not support these use the fill of the cells.
func (p *heatWriter) style() {
	p.printf("<style><![CDATA[\n%s@media (prefers-color-scheme: dark) {\n", heatStyle)
	for i, c := range heatDark {
		p.printf("  .pp-heat .h%d { fill: %s; }\n", i, c)
	}
	p.printf("}\n]]></style>\n")
}

type heatWriter struct {
	h   *result.Heatmap
	buf []byte
}

func (p *heatWriter) printf(format string, args ...any) { p.buf = fmt.Appendf(p.buf, format, args...) }

func (p *heatWriter) summary() string {
	h := p.h
	text := "no values"
	if n := h.Total(); n > 0 {
		text = fmt.Sprintf("%s values of %s; a column is %s", grouped(int64(n)), h.Value,
			unit.Duration(int64(h.Step)))
	}
	if missing := Remarks(&h.Meta); missing != "" {
		text += " \u2014 " + missing
	}
	return text
}

// amount formats a value with its unit.
func (p *heatWriter) amount(v int64) string {
	switch p.h.Unit.Base {
	case "ns":
		return unit.Duration(v)
	case "B":
		return unit.Size(v)
	}
	return grouped(v)
}

// bounds formats the range of values of a row.
func (p *heatWriter) bounds(r *result.HeatRow) string {
	switch {
	case r.Lo == result.OpenLo:
		return "below " + p.amount(r.Hi)
	case r.Hi == result.OpenHi:
		return p.amount(r.Lo) + " and more"
	case r.Hi == r.Lo+1:
		return p.amount(r.Lo)
	}
	return p.amount(r.Lo) + " to " + p.amount(r.Hi)
}

func (p *heatWriter) rowTall() float64 { return math.Min(heatTall/float64(len(p.h.Rows)), 40) }
func (p *heatWriter) colWide() float64 { return heatWide / float64(p.columns()) }

// columns returns the number of columns for the layout. It is at least 9, so
// that a few columns are not too wide.
func (p *heatWriter) columns() int { return max(p.h.Columns, 9) }

// y returns the lower edge of a row.
func (p *heatWriter) y(row int) float64 { return heatTop + heatTall - float64(row)*p.rowTall() }

// values draws the scale of the values: a line at each power of ten, or of four
// for sizes; if there are fewer than two such lines, at every few rows.
func (p *heatWriter) values() {
	h := p.h
	base := int64(10)
	if h.Unit.Base == "B" {
		base = 4
	}
	type mark struct {
		y    float64
		text string
	}
	var marks []mark
	for i := range h.Rows {
		r := &h.Rows[i]
		for v := int64(1); v > 0 && v <= math.MaxInt64/base; v *= base {
			if r.Lo != result.OpenLo && r.Lo <= v && v < r.Hi {
				within := math.Log(float64(v)/float64(max(r.Lo, 1))) /
					math.Log(float64(r.Hi)/float64(max(r.Lo, 1)))
				marks = append(marks, mark{p.y(i) - within*p.rowTall(), p.amount(v)})
			}
		}
	}
	if len(marks) < 2 {
		marks = marks[:0]
		for i := 0; i < len(h.Rows); i += max(len(h.Rows)/6, 1) {
			if h.Rows[i].Lo != result.OpenLo {
				marks = append(marks, mark{p.y(i), p.amount(h.Rows[i].Lo)})
			}
		}
	}
	last := math.Inf(1)
	for _, m := range marks {
		if last-m.y < 14 {
			continue
		}
		last = m.y
		p.printf(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`,
			heatLeft, heatLeft+heatWide, m.y, m.y)
		p.printf(`<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", heatLeft-8, m.y+4, xmlText(m.text))
	}
}

// times draws the scale of the time since the first column.
func (p *heatWriter) times() {
	whole := p.h.Step * event.Time(p.columns())
	step := event.Time(1e6)
	for i := 0; whole/step > 10; i++ {
		step *= [...]event.Time{2, 5, 2}[i%3]
		if i%3 == 1 {
			step /= 2 // 1, 2, 5, 10
		}
	}
	for at := event.Time(0); at <= whole; at += step {
		x := heatLeft + heatWide*float64(at)/float64(whole)
		p.printf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`,
			x, x, heatTop+heatTall, heatTop+heatTall+5)
		p.printf(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, heatTop+heatTall+20, heatTime(at))
	}
}

func heatTime(at event.Time) string {
	if at == 0 {
		return "0"
	}
	return unit.Duration(int64(at))
}

func (p *heatWriter) most() uint64 {
	var most uint64
	for i := range p.h.Rows {
		for _, n := range p.h.Rows[i].Counts {
			most = max(most, n)
		}
	}
	return most
}

// heatLevel returns the index of the colour for a count.
func heatLevel(n, most uint64) int {
	if most <= 1 {
		return len(heatColours) / 2
	}
	share := math.Log(float64(n)) / math.Log(float64(most))
	return min(int(share*float64(len(heatColours))), len(heatColours)-1)
}

func (p *heatWriter) cells() {
	most := p.most()
	wide, tall := p.colWide(), p.rowTall()
	p.printf("<g class=\"cells\">\n")
	for i := range p.h.Rows {
		r := &p.h.Rows[i]
		bounds := xmlText(p.bounds(r))
		for c, n := range r.Counts {
			if n == 0 {
				continue
			}
			from := event.Time(c) * p.h.Step
			level := heatLevel(n, most)
			p.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" class="h%d" fill="%s">`,
				heatLeft+float64(c)*wide, p.y(i)-tall, wide, tall, level, heatColours[level])
			p.printf("<title>%s: %s, %s to %s</title></rect>\n",
				grouped(int64(n)), bounds, heatTime(from), heatTime(from+p.h.Step))
		}
	}
	p.printf("</g>\n")
}

// legend explains the colours.
func (p *heatWriter) legend() {
	const wide, tall = 22, 10
	most := p.most()
	x, y := heatLeft+heatWide-len(heatColours)*wide-60, heatTop+heatTall+38
	p.printf(`<text x="%d" y="%d" text-anchor="end">1</text>`+"\n", x-6, y+tall)
	for i, c := range heatColours {
		p.printf(`<rect x="%d" y="%d" width="%d" height="%d" class="h%d" fill="%s"/>`, x+i*wide,
			y, wide, tall, i, c)
	}
	p.printf("\n"+`<text x="%d" y="%d">%s</text>`+"\n", x+len(heatColours)*wide+6, y+tall,
		strconv.FormatUint(most, 10))
}
