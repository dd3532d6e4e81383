// Package sinks sends one hostile text through every output: names of threads, files and functions,
// arguments, and what errors quote. Texts for people have no control characters, and no line that a
// name began; files for other tools are whole, and have the text as it is or escaped.
package sinks
