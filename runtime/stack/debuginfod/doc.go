// Package debuginfod fetches programs and their debug files by build-id from servers of the
// debuginfod protocol (elfutils), beside the run: the caller gets the path of a file that is in the
// cache, or nothing for now. runtime/stack/dso asks for files that are nowhere on this machine.
//
// A build-id tells others which programs run here, so nobody asks a server unless the user named
// it. What a server sends is not believed: its size and time are bounded, and a file whose own
// build-id is another one is thrown away. The cache on disk is bounded as well; files that were
// not used for longest go first. That a server lacks a file is remembered for ten minutes.
//
//	GET URL/buildid/ID/debuginfo     symbols and lines
//	GET URL/buildid/ID/executable    the program, where it is not on this machine
package debuginfod
