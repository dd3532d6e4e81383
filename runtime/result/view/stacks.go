package view

import "ppscript/runtime/stack/listing"

// Stacks says how counts by stack are shown: .top, .title, .totals, .flat and
// .annotate.
type Stacks struct {
	Title string
	Top   int // number of stacks to show; 0 is all
	// Totals shows the sum of all stacks in text.
	Totals bool
	// Code shows the code of one function in place of stacks; nil shows stacks.
	Code *listing.Choice
	// Flat shows a table by these keys in place of stacks, see result.Stacks.Flat; nil shows
	// stacks.
	Flat []string
}

// Shape returns the shape of the result: "table" or "stacks".
func (s *Stacks) Shape() string {
	if s.Code != nil || s.Flat != nil {
		return "table"
	}
	return "stacks"
}

// Base returns the base name of the result, for a file or to be shown.
func (s *Stacks) Base(file bool) string {
	switch {
	case s.Code != nil:
		return "code"
	case s.Flat != nil:
		return "flat"
	case file:
		return "file"
	}
	return "stacks"
}
