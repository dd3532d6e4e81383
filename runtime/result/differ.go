package result

import "strconv"

// Differ describes the first difference between two tables with the same
// columns; "" if they are equal.
func Differ(got, want *Table) string {
	if len(got.Rows) != len(want.Rows) {
		return "got " + strconv.Itoa(len(got.Rows)) + " rows, want " + strconv.Itoa(len(want.Rows))
	}
	for i, row := range got.Rows {
		for j, v := range row {
			if w := want.Rows[i][j]; v.Kind != w.Kind || v.Compare(w) != 0 {
				return "row " + strconv.Itoa(i+1) + ", column " + got.Columns[j].Name + ": got " +
					v.String() + ", want " + w.String()
			}
		}
	}
	return ""
}
