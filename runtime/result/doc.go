// Package result has the results of a run as values, not as text: tables with typed columns,
// stacks, heat maps, lines of events, explanations of slow spans.
//
// Packages agg and session fill results, scripts sort and shorten them, and
// package render prints them. Nothing here prints, opens files or runs per
// event. Numbers are in their base units (ns, bytes); a Column says in which
// unit they are shown. A log of events is not kept as one result, since it
// would grow with the run: renderers get one Line at a time.
//
// A result is not changed after it was passed to a renderer; the next interval
// makes a new one.
package result
