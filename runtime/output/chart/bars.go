package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
)

// A Bar is one line of a bar chart.
type Bar struct {
	Label, Text string // the label, and the formatted number
	Value       float64
}

// Bars draws a bar for each value, all to one scale. Negative values have no bar.
func Bars(title string, list []Bar, o Options) string {
	var b strings.Builder
	if title != "" {
		b.WriteString(title + "\n")
	}
	labels, texts, most := 0, 0, 0.0
	for _, x := range list {
		labels, texts = max(labels, wide(x.Label)), max(texts, wide(x.Text))
		if !math.IsInf(x.Value, 0) && !math.IsNaN(x.Value) {
			most = max(most, x.Value)
		}
	}
	labels = min(labels, o.width()/2)
	cells := max(o.width()-labels-texts-3, 10)
	for _, x := range list {
		line := pad(cut(x.Label, labels), labels, false) + " " + pad(x.Text, texts, true) + " "
		b.WriteString(strings.TrimRight(line+bar(min(x.Value, most), most, cells), " ") + "\n")
	}
	return b.String()
}

// Table makes bars of a column's cells, labelled with the row's keys, or the row's number
// if it has no keys.
func Table(t *result.Table, column int) []Bar {
	var list []Bar
	for i, row := range t.Rows {
		x := Bar{Text: "-"}
		if column < len(row) && row[column].Numeric() {
			x.Value = row[column].Float()
			x.Text = render.CellText(&t.Columns[column], row[column])
		}
		x.Label = Label(t, row)
		if x.Label == "" {
			x.Label = strconv.Itoa(i + 1)
		}
		list = append(list, x)
	}
	return list
}

// Label joins the keys of a row.
func Label(t *result.Table, row []event.Value) string {
	var keys []string
	for i := range t.Columns {
		if t.Columns[i].Kind == result.KeyColumn && i < len(row) {
			keys = append(keys, render.CellText(&t.Columns[i], row[i]))
		}
	}
	return strings.Join(keys, " ")
}

// Histogram draws each distribution: a bar for each bucket, from the first to the last with a count.
func Histogram(h *result.Table, o Options) string {
	at := h.Histogram()
	value := &h.Columns[at]
	var parts []string
	for _, row := range h.Rows {
		d := value.Distribution(row[at])
		var keys []string
		for k := range at {
			keys = append(keys, h.Columns[k].Name+"="+render.CellText(&h.Columns[k], row[k]))
		}
		title := fmt.Sprintf("%s of %d", value.Name, d.Total())
		if len(keys) > 0 {
			title = strings.Join(keys, " ") + ": " + title
		}
		var list []Bar
		for _, k := range spread(d.Buckets) {
			list = append(list, Bar{
				Label: render.BoundText(k.Lo, value.Unit) + " to " + render.BoundText(k.Hi, value.Unit),
				Text:  strconv.FormatUint(k.Count, 10), Value: float64(k.Count),
			})
		}
		parts = append(parts, Bars(title, list, o))
	}
	return strings.Join(parts, "\n")
}

// spread returns the buckets from the first to the last with a count, and fills gaps with empty
// buckets. These double if the bucket before is a power of two; else they are as wide as that
// bucket.
func spread(buckets []result.Bucket) []result.Bucket {
	var out []result.Bucket
	for _, k := range buckets {
		if k.Count == 0 {
			continue
		}
		if n := len(out); n > 0 {
			out = append(out, gap(out[n-1], k.Lo)...)
		}
		out = append(out, k)
	}
	return out
}

// maxGap bounds the empty buckets between two buckets.
const maxGap = 64

// gap returns the empty buckets from the end of last to lo.
func gap(last result.Bucket, lo int64) []result.Bucket {
	var out []result.Bucket
	for last.Hi < lo && len(out) < maxGap {
		width := last.Hi - last.Lo
		if last.Lo > 0 && last.Hi == 2*last.Lo {
			width *= 2
		}
		if last.Lo == result.OpenLo || width <= 0 {
			width = lo - last.Hi
		}
		last = result.Bucket{Lo: last.Hi, Hi: min(last.Hi+width, lo)}
		out = append(out, last)
	}
	if n := len(out); n > 0 {
		out[n-1].Hi = lo
	}
	return out
}
