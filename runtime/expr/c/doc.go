// Package c parses C expressions: of users on the command line (the expression
// language of perf-prof), and of the kernel in the print fmt of its
// tracepoints.
//
// It implements the syntax and the C types of an LP64 machine, but does not
// depend on events: names are not resolved here. Package cexpr gives the trees
// their meaning.
//
// Both languages are one grammar, C's expressions plus
//
//   - a binary ~, with the precedence of <, that matches a text against a glob;
//   - comments from // or # to the end of the line;
//   - brace lists as call arguments, { 1, "A" };
//   - GNU statement expressions, ({ int x = 1; x + 1; }).
//
// Every error is a *diag.Error with the column and an excerpt. Nothing is
// skipped: unknown characters, text after the expression, open strings and
// malformed numbers are errors.
package c
