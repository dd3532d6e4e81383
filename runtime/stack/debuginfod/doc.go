// Package debuginfod fetches programs and their debug files by build-id from servers with the
// debuginfod protocol (elfutils). It does so in the background: the caller gets the path of a file
// in the cache, or nothing for now. runtime/stack/dso uses it for files that are not on this
// machine.
//
// A build-id tells others which programs run here, so only servers that the user named are
// asked. Answers are not trusted: their size and time are bounded, and a file with a different
// build-id is discarded. The cache on disk is bounded too; the least recently used files are
// removed first. If no server has a file, that is remembered for ten minutes.
//
//	GET URL/buildid/ID/debuginfo     symbols and lines
//	GET URL/buildid/ID/executable    the program, where it is not on this machine
package debuginfod
