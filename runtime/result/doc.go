// Package result holds the findings of a run, as values: tables with typed columns, and other shapes.
//
// Package agg and the sessions fill them, scripts sort and trim them, package
// render prints them. Nothing here prints, opens or runs per event, and the
// numbers stay in their base units (ns, bytes); a Column says in which unit
// they are shown. A stream of event lines is not a result: a log would grow
// with the run, so renderers take events one at a time.
//
// A result that was handed to a renderer is no longer changed; the next
// interval makes a new one.
package result
