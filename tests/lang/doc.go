// Package lang tests the language with scripts: each .star file here is a list
// of chunks, separated by lines of ---, that run one after the other and share
// nothing.
//
// A chunk fails if an assertion fails. A line that ends in
//
//	### text
//
// is the line at which the chunk must fail, with text in the message or in the
// hint; "hint: text" requires it in the hint. A chunk stops at its first error,
// so it has at most one such line, or as many as the resolver reports together.
//
// Beside the builtins, chunks see assert (eq, ne, true, fails) and values,
// which parses a command line for a declaration of options, and play, which
// plays events given as text through a pipeline, in both engines.
package lang
