// Package naming turns the stacks of events into named functions. It is the one
// place that knows what names need: which code each process had mapped at which
// time, the files that the code is from, the kernel's symbols, and the names that
// come with events of other machines.
//
// A session makes one Namer for a run. It gives every record that is no sample to
// Record, puts a Reader in front of each stream's decoder, and asks for Frames
// when a stack is shown:
//
//	names := naming.New(naming.Options{Kernel: symbols, User: true})
//	stream.Members = names.Reader(stream.Members, spec, dwarf)
//	names.Record(e)
//	frames, s := names.Frames(nil, id)
//
// # When files are read
//
// A mapped file is opened at once, since its process may be gone a millisecond
// later, and read when the first of its addresses is named. That goes on beside
// the reading of events: while it does, perf's spools empty the kernel's rings.
// Options.Expired is asked all the time and ends the reading.
//
// # What is kept, and until when
//
// Three rules, from the stack to the file:
//
//   - A stack is kept while somebody may show it. When stacks are Crowded, the
//     owner of the counts gives those of the past to a Symbolized, which needs
//     names only, and calls Forget with the stacks that are still held: joins and
//     folds may hold some. The number of a forgotten stack is used again.
//   - Who mapped which file is kept with the stacks: a process that has ended is
//     forgotten with the last of its stacks. So are the places of stacks that came
//     with names, and the frames of single addresses. (Of those that ended last,
//     task.MappingsOptions.MaxEnded stay, for events that come late.)
//   - What was made of files (functions, source lines, tables for unwinding, the
//     maps of compilers) lies in one object.Memory of 192 MiB, out of which the
//     least recently used goes. What is idle goes before that, as soon as its kind
//     takes more than a little. It is made again if it is asked for again.
//
// The first and the second rule are bounded by the table of stacks, which is
// Crowded at a thirty-second of its 64 MiB, or at twice of what is still held.
//
// A recording is named in the same way, but its files are looked for by path and
// build-id when they are needed, and its kernel may be another than the one that
// runs: see Options.Recording.
package naming
