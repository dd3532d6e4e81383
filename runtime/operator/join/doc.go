// Package join relates events that belong together: the start and the end of
// a system call, of a VM exit, of a request. Events are arranged in stages;
// an event of one stage waits, under its key, for an event of the next stage
// with the same key, and both together make a pair.
//
// Plan builds a Join, flow feeds it in time order, and its pairs flow on as
// events with two parts. The number of waiting events is bounded: the oldest is
// evicted, and counted. After a loss, all waiting events are dropped: their
// partner may be lost.
package join
