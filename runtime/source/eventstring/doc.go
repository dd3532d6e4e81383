// Package eventstring parses event strings, the notation of events in perf-prof:
//
//	LIST  := EVENT { "," EVENT }
//	EVENT := sys ":" name [ "/" FILTER "/" { ATTR "/" } ]
//	       | PROFILER [ "/" OPTIONS "/" { ATTR "/" } ]
//	ATTR  := word | word "=" VALUE
//
// Separators do not count inside '...', "..." and (...). One pair of quotes
// around a FILTER or VALUE is removed. Unlike in perf-prof, every mistake is an
// error with its position: a missing '/', text after the last '/', an unknown
// attribute, an unclosed quote.
//
// It is called by the command line and by the builtins that make sources. It
// opens no events.
package eventstring
