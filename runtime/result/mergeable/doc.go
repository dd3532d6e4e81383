// Package mergeable has the results of one machine in one window of time, in a form that can be
// sent and merged with results of other machines: rows of tables with the state of their
// aggregators, counters of histograms, stacks with the names of their functions, and some lines of
// events. The merged result is the same as if one machine had seen all of the events; the order of
// merging does not matter.
//
// A window is an interval of a run (or the whole run) with its begin and end on the wall clock. A
// Frame is the message with one machine's results in one window. A Writer converts the results of a
// session to Frames. A Merger merges frames. It either shows the merged result on a renderer, as
// the script asked (it has the reports of the same script), or makes one frame of it, which is
// merged with others in turn. Nothing here sends or receives frames.
//
// # The form of a frame
//
// Frames are encoded as in Protocol Buffers, so that members can be added: a reader skips unknown
// members. A stream of frames begins with the line "ppscript partial 1". Each frame is preceded by
// its length, as a varint. No frame is longer than MaxFrame; more data is sent in several frames.
// In the list below, "..." marks members that can occur several times.
//
//	Frame    1 version=2  2 host  3 script (32 bytes)  4 seq  5 begin  6 end  7 more  8 final  9 result...
//	         10 share...
//	Result   1 kind  2 name  3 title  4 samples  5 total samples  6 loss (packed, in the order of
//	         event.Loss.Counts)  7 form  8 row...  9 line...  10 omitted lines  11 stacks
//	         12 host of the lines  13 costs
//	Share    1 host  2 seq  3 dropped  4 begin  5 end (both minus the frame's)  6 more  7 final  8 frame
//	Form     1 column...  2 keys  3 aggregator...  4 arguments
//	Column   1 name 2 head 3 flags 4 width 5 prec+1 6 merging 7 unit (symbol, base, scale, prec)
//	Agg      1 name  2 argument  3 q  4 n  5 lo  6 hi  7 step  8 type (kind, unsigned, unit)
//	Row      1 key...  2 measures (packed: n, kind and two words of the sum,
//	         kind and word of min and of max, of each)  3 content...  4 other  5 name...
//	         6 doubts (packed bits of numbers, four for each measure: square and bias of N, then of the sum)
//	         7 called...
//	Called   1 aggregator  2 value  3 name
//	Content  1 values (packed: kind, word)  2 buckets (packed: number*2+negative, n)
//	         3 n  4 least  5 greatest  6 counters
//	         7 value 8 count (alternating)  9 packed value...  10 first  11 mean  12 squares
//	         13 buckets of doubles  14 scale
//	Value    1 kind  2 number  3 text  4 member...
//	Costs    1 hosts  2 sampled  3 measured  4 budget  5 own  6 traced  7 events  8 time  9 by key
//	Stacks   1 key column...  2 value  3 unit  4 frame...  5 sample...  6 cut  7 unwound  8 periods
//	Function 1 symbol  2 file  3 build-id  4 source  5 line  6 flags  7 address in the file
//	Sample   1 key...  2 functions (packed)  3 count  4 value  5 cut
package mergeable
