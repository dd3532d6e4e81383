// Package lang tests the language in the language: each .star file here is a
// list of chunks, separated by lines of ---, that run one after the other
// with nothing in common.
//
// A chunk fails where its assertions fail. A line that ends in
//
//	### text
//
// must be where the chunk fails, with text in the message or in the hint;
// "hint: text" asks for the hint. A chunk stops at its first error, so it has
// at most one such line, or as many as the resolver reports at once.
//
// Beside the builtins, chunks see assert (eq, ne, true, fails) and values,
// which parses a command line for a declaration of options, and play, which
// plays events given as text through a pipeline, in both engines.
package lang
