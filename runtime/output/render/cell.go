package render

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// appendCell appends a cell as text shows it, without padding and escaping. of
// is the value of the column that c is a share of; o says how points in time
// are written.
func appendCell(dst []byte, c *result.Column, v, of event.Value, o *lineOptions) []byte {
	if name, ok := nameIn(c, v); ok {
		return append(dst, name...)
	}
	switch {
	case c.Text != nil:
		return append(dst, c.Text(v)...)
	case v.Kind == event.None:
		if c.Kind == result.KeyColumn {
			return dst
		}
		return append(dst, '-')
	case v.Kind == event.BoolValue:
		return strconv.AppendBool(dst, v.Bool())
	case v.Kind == event.ListValue:
		return appendList(dst, c, v, o)
	case !v.Numeric():
		return append(dst, v.String()...)
	case c.Hex:
		return strconv.AppendUint(append(dst, "0x"...), v.Uint(), 16)
	case v.Kind == event.TimeValue && c.Unit.Scale == 0:
		return appendMomentCell(dst, c, event.Time(v.Int()), o)
	case c.ShareOf != "":
		return appendShare(dst, v, of)
	}
	return appendNumber(dst, v, c.Unit, c.Prec)
}

// nameIn returns the column's name for the number of a cell.
func nameIn(c *result.Column, v event.Value) (name string, ok bool) {
	if c.Names == nil || c.Text != nil && !c.Shape {
		return "", false
	}
	return c.Names(v)
}

// appendList appends the members of a list, each in the unit of the column.
func appendList(dst []byte, c *result.Column, v event.Value, o *lineOptions) []byte {
	dst = append(dst, '(')
	for i, m := range v.List() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendCell(dst, c, m, event.Value{}, o)
	}
	return append(dst, ')')
}

// appendMomentCell appends a point in time: as a date, a time of day, or seconds of the
// source's clock.
func appendMomentCell(dst []byte, c *result.Column, t event.Time, o *lineOptions) []byte {
	switch {
	case o.Time == "rel" || c.Clock == result.SinceStart:
		return appendSeconds(dst, int64(t-o.Start))
	case o.Clock != nil && (o.Time == "wall" || o.Time == "") && c.Clock == result.TimeOfDay:
		return o.Clock(t).In(cmp.Or(o.Location, time.Local)).AppendFormat(dst, time.TimeOnly)
	case o.Clock != nil && (o.Time == "wall" || o.Time == ""):
		return o.stamp.appendWall(dst, o.Clock(t), o.Location)
	}
	return appendSeconds(dst, int64(t))
}

// appendNumber appends v in u with prec decimals.
func appendNumber(dst []byte, v event.Value, u unit.Unit, prec int) []byte {
	if u.Scale == 0 {
		if v.Kind == event.DurationValue {
			return append(dst, unit.Duration(v.Int())...)
		}
		u = unit.Unit{Scale: 1}
		if prec < 0 && v.Kind == event.FloatValue {
			return appendShort(dst, v.Float())
		}
	}
	if prec < 0 {
		prec = u.Prec
	}
	if v.Kind != event.FloatValue && u.Scale == math.Pow10(prec) {
		return appendFixed(dst, v, prec)
	}
	return strconv.AppendFloat(dst, v.Float()/u.Scale, 'f', prec, 64)
}

// appendFixed appends an integer with its last prec digits as decimals. So sums
// of nanoseconds stay exact even if a double cannot represent them.
func appendFixed(dst []byte, v event.Value, prec int) []byte {
	n := v.Uint()
	if v.Kind != event.UintValue && v.Int() < 0 {
		dst = append(dst, '-')
		n = -n
	}
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], n, 10)
	if len(d) <= prec {
		dst = append(dst, '0')
	} else {
		dst = append(dst, d[:len(d)-prec]...)
		d = d[len(d)-prec:]
	}
	if prec == 0 {
		return dst
	}
	dst = append(dst, '.')
	for i := len(d); i < prec; i++ {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// appendShort appends f with at most three decimals.
func appendShort(dst []byte, f float64) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', 3, 64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst
	}
	for len(dst) > start && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}

// appendShare appends "     2 (  2%)".
func appendShare(dst []byte, v, of event.Value) []byte {
	var digits [24]byte
	n := appendNumber(digits[:0], v, unit.Number, 0)
	dst = append(appendPad(dst, 6-len(n)), n...)
	pct := int64(0)
	if total := of.Float(); total > 0 {
		pct = int64(v.Float() * 100 / total)
	}
	p := strconv.AppendInt(digits[:0], pct, 10)
	dst = append(dst, " ("...)
	dst = append(appendPad(dst, 3-len(p)), p...)
	return append(dst, "%)"...)
}

// shareOf returns for each column the index of the column that it is a share
// of, -1 if none.
func shareOf(columns []result.Column) []int {
	of := make([]int, len(columns))
	for i := range columns {
		of[i] = -1
		for j := range columns {
			if columns[i].ShareOf != "" && columns[j].Name == columns[i].ShareOf {
				of[i] = j
			}
		}
	}
	return of
}

// cellOf returns cell i of a row, or an empty cell if the row is shorter.
func cellOf(row []event.Value, i int) event.Value {
	if i < 0 || i >= len(row) {
		return event.Value{}
	}
	return row[i]
}
