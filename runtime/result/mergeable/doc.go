// Package mergeable has what one machine found out in one window of time, in a form that can be sent
// and put together with what others found out: rows of tables with the state of their aggregators, the
// counters of histograms, stacks by their functions, some lines. Put together they are what one machine
// would have shown that saw all of the events, in whatever order they come.
//
// A Writer takes results from a session and makes Frames. A Merger puts frames together and shows the
// result on a renderer, as the script says: it has the reports of the same script; or it makes one frame of
// them, which is put together with others. Nothing here knows how frames travel.
//
// # The form of a frame
//
// Numbers, texts and members are as in Protocol Buffers, so that members can be added: a reader skips
// those that it does not know. A stream of frames begins with the line "ppscript partial 1", and each frame
// has its length in front, as a varint. No frame is longer than MaxFrame; what is more comes in several.
//
//	Frame    1 version=2  2 host  3 script (32 bytes)  4 seq  5 begin  6 end  7 more  8 final  9 result...
//	         10 share...
//	Result   1 kind  2 name  3 title  4 samples  5 total samples  6 loss (packed, in the order of
//	         event.Loss.Counts)  7 form  8 row...  9 line...  10 lines left out  11 stacks
//	         12 host of the lines  13 costs
//	Share    1 host  2 seq  3 dropped  4 begin  5 end (both less those of the frame)  6 more  7 final  8 frame
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
//	         7 value 8 count (by turns)  9 packed value...  10 first  11 mean  12 squares
//	         13 buckets of doubles  14 scale
//	Value    1 kind  2 number  3 text  4 member...
//	Costs    1 hosts  2 sampled  3 measured  4 budget  5 own  6 traced  7 events  8 time  9 by key
//	Stacks   1 key column...  2 value  3 unit  4 frame...  5 sample...  6 cut  7 unwound  8 periods
//	Function 1 symbol  2 file  3 build-id  4 source  5 line  6 flags  7 address in the file
//	Sample   1 key...  2 functions (packed)  3 count  4 value  5 cut
package mergeable
