// Package picture manages the files that show a run in addition to its results:
// call stacks as flame graphs, folded text or for pprof, heat maps, and
// timelines. It opens the files before anything runs, so that errors are
// reported early. Other packages count and format their contents. Folded text
// has one line per stack, with the functions from the outermost to the
// innermost and a count.
package picture
