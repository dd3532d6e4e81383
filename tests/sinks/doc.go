// Package sinks sends values through every output. The first kind is one hostile text, as the name
// of threads, files and functions, as an argument, and quoted in errors: output for people has no
// control characters and no line that begins inside a name; files for other tools are valid, and
// have the text unchanged or escaped. The second kind is a cell of each type, at the ends of its
// range, which must be the same value in each output.
package sinks
