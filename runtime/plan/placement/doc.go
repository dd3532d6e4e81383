// Package placement decides where each part of a plan runs: as a program of the
// kernel, or in ppscript, natively or interpreted. It annotates the nodes and edges of
// the plan's graph (package graph), which package plan makes; bpf generates programs of the
// same edges. It opens nothing.
//
//	facts.go    what must be known of a plan beside its graph
//	passes.go   the passes in their order, and what each reads and writes
//	place.go    how much passes, and the cut
//	kernel.go   the part that programs do all of: events, edges, operators
//	records.go  records that programs send of events, and what is in them
//	pairs.go    pairs, and what folds emit, that programs send, and what is in them
//	sentevents.go events that they send beside these
//	keys.go     keys that ppscript computes from what the kernel grouped by
//	context.go  which engine evaluates sample members that only programs see
//	text.go     which engine reads texts of processes
//	textsfit.go which texts programs have room for
//	cost.go     how much passes an edge
//	cut.go      where the least passes
//	explain.go  how explain shows it
//
// # The cost model
//
// Events and operators are the nodes of a graph, in which events, pairs and what
// folds emit pass along edges. It is cut in two: what is on one side runs in the
// kernel. The cost of a cut is what passes it, in bytes for each event of the
// sources: how many records, which conditions tell, times how large they are, which
// the fields tell that somebody behind the cut reads. So a filter, a group or a
// condition on a delay draws the cut behind itself, and a join that makes one large
// record of two small ones draws it in front.
//
// An edge costs as follows; "never" is a cost that no cut has.
//
//	the kernel to an event      its records as perf sends them, with all of
//	                            the record: the event is then not taken by a program;
//	                            never if only programs see what is read of it
//	an event to its readers     the records that a program sends, once for all that
//	                            read it; never if programs cannot send it, or it
//	                            does not pay (records.go, sentevents.go)
//	a join to readers of        the pairs that programs send, once for all that read
//	its pairs                   them; never if programs cannot send them
//	                            (pairs.go)
//	a fold to readers of        the events that programs send, once for all that read
//	what it emits               them; never if it keeps the event at which a state
//	                            began (Fold.Begin)
//	an operator to what it      never: an operator in the kernel reads what is there
//	reads
//	a node to ppscript          never, if no program can do its work: the
//	                            operator's KernelRefusal, and bpf's Can
//	an operator to another one  never, unless programs can send what is
//	                            made: then some may be in the kernel without the
//	                            others
//
// A group costs nothing: its rows are read at the end of an interval.
package placement
