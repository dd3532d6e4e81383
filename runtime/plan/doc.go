// Package plan turns what a script asked for into what will run: it resolves
// events and fields, compiles per-event functions, decides where each
// predicate runs, what the kernel has to deliver and whether time order is
// needed, and builds the operators.
//
// It opens nothing. Everything it decides can be printed (Plan.Explain) and
// tested without privilege; session opens, runs and closes a Plan.
//
// A script describes a graph of Streams (node.go) that ends in Reports
// (report.go). Build checks and compiles it in passes: resolve.go finds the
// events, branch.go flattens stateless operators, group.go, join.go and log.go
// build the stateful ones, needs.go collects what the sources must deliver.
package plan
