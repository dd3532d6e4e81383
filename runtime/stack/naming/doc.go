// Package naming converts the stacks of events to named functions. It brings
// together all data that names need: the code that each process had mapped at
// each time, the files of that code, the kernel's symbols, and the names that
// come with events of other machines.
//
// A session makes one Namer for a run. It passes every record that is not a
// sample to Record, puts a Reader around each stream's decoder, and calls Frames
// when a stack is shown:
//
//	names := naming.New(naming.Options{Kernel: symbols, User: true})
//	stream.Members = names.Reader(stream.Members, spec, dwarf)
//	names.Record(e)
//	frames, s := names.Frames(nil, id)
//
// # When files are read
//
// A mapped file is opened at once, since its process may end a millisecond later.
// It is read when the first of its addresses is named; meanwhile perf's spools
// empty the kernel's rings. The reader calls Options.Expired repeatedly, and stops
// when it returns true.
//
// # What is kept, and until when
//
// There are three rules, from stacks to files:
//
//   - A stack is kept while somebody may show it. When stacks are Crowded, the
//     owner of the counts gives the older ones to a Symbolized, which needs names
//     only, and calls Forget with the stacks that are still held: joins and folds may
//     hold some. The number of a forgotten stack is used again.
//   - The mappings of a process are kept with its stacks: an ended process is
//     forgotten with the last of its stacks. So are the places of stacks that came
//     with names, and the frames of single addresses. (The processes that ended last
//     stay, task.MappingsOptions.MaxEnded of them, for events that come late.)
//   - Tables made of files (functions, source lines, tables for unwinding, the maps
//     of compilers) share one dso.Memory of 192 MiB, which drops the least recently
//     used. It drops idle tables before that, as soon as their kind takes more than a
//     little. A dropped table is made again when it is needed again.
//
// The memory for the first and second rule is bounded by the table of stacks,
// which is Crowded when a thirty-second of its 64 MiB is full and it has twice
// the stacks that were held at the last Forget.
//
// A recording is named in the same way, but its files are searched by path and
// build-id when they are needed, and its kernel may not be the running one: see
// Options.Recording.
package naming
