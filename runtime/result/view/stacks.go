package view

import "ppscript/runtime/stack/listing"

// Stacks is how counts by stack are shown: .top, .title, .totals, .flat and .annotate.
type Stacks struct {
	Title string
	Top   int // stacks to show; 0 is all
	// Totals says in text what all of them add up to.
	Totals bool
	// Code shows the code of one function in their place; nil shows stacks.
	Code *listing.Choice
	// Flat shows a table by these keys in place of stacks; see result.Stacks.Flat. Nil shows stacks.
	Flat []string
}

// Shape is the form of what is shown.
func (s *Stacks) Shape() string {
	if s.Code != nil || s.Flat != nil {
		return "table"
	}
	return "stacks"
}

// Base is what the result is called, for files or to be shown.
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
