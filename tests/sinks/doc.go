// Package sinks sends values through every output. One hostile text: names of threads, files and functions,
// arguments, and what errors quote; texts for people have no control characters, and no line that a name
// began, and files for other tools are whole, and have the text as it is or escaped. And a cell of each type,
// at the ends of its range, which is the same value in each output.
package sinks
