// Package plan turns a script's streams and reports into a plan that a session
// can run: it resolves events and fields, compiles per-event functions, decides
// where each predicate runs, which sample members the kernel must deliver and
// whether time order is needed.
//
// It opens nothing. Everything it decides can be printed (Plan.Explain) and
// tested without privilege; session opens the events of a Plan, runs an Instance
// of it and closes both.
//
// A script describes a graph of Streams (node.go) that ends in Reports (report.go).
// Build checks and compiles it in passes: branch.go finds the events and flattens
// the streams without state, the files of operators (operator.go says which methods
// they have) describe the rest, place.go decides where each of them runs, needs.go
// collects what the sources must deliver. The Plan that results does not change any
// more: instance.go makes its operators run.
package plan
