// Package c reads C expressions: the ones that users write on the command line
// (perf-prof's expression language) and the ones that the kernel writes into
// the print fmt of its tracepoints.
//
// It knows syntax and the C types of an LP64 machine, and nothing about events:
// names are not resolved here. Package expr gives trees a meaning.
//
// Both languages are one grammar, C's expressions plus
//
//   - a binary ~ at the level of < that matches a text against a glob;
//   - comments from // or # to the end of the line;
//   - brace lists as call arguments, { 1, "A" };
//   - GNU statement expressions, ({ int x = 1; x + 1; }).
//
// Every error is a *diag.Error with the column and an excerpt. Nothing is
// skipped: unknown characters, text after the expression, open strings and
// malformed numbers are errors.
package c
