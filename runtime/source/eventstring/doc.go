// Package eventstring reads event strings, the way perf-prof's users write events:
//
//	LIST  := EVENT { "," EVENT }
//	EVENT := sys ":" name [ "/" FILTER "/" { ATTR "/" } ]
//	       | PROFILER [ "/" OPTIONS "/" { ATTR "/" } ]
//	ATTR  := word | word "=" VALUE
//
// Separators do not count inside '...', "..." and (...). One pair of quotes
// around a FILTER or VALUE is removed. Unlike there, every deviation is an
// error with its place: a missing '/', text after the last one, an unknown
// attribute, quotes that do not close.
//
// The command line and the builtins of sources call it. It opens nothing.
package eventstring
