package render

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// CellText returns a cell as text shows it, without control characters.
func CellText(c *result.Column, v event.Value) string {
	return plain.Text(string(appendCell(nil, c, v, event.Value{}, &lineOptions{})), "")
}

// BoundText returns the bound of a bucket with its unit: "4us", "64K".
func BoundText(v int64, u unit.Unit) string { return boundText(v, u) }
