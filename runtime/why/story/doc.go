// Package story formats a result.Why for people: a table of causes, the story of a span (its parts
// in a few lines), and one sentence with the conclusion.
//
// Package render and the outputs for other tools show these texts and tables. The package does
// not depend on output formats. Nothing is left out: parts that are too short for their own line
// are summed up in one line, and such sums name all unknown causes.
package story
