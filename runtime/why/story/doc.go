// Package story tells a result.Why in the words and lines that people read: a table of causes, the
// story of a span in few lines, and one sentence that says what it comes to.
//
// render and the outputs for other tools show what is made here. Nothing here knows of formats,
// and nothing is left out: parts that are too short for a line of their own are added up in one,
// and what is unknown is named in every sum.
package story
