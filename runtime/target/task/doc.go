// Package task follows the names of threads and the code mapped into processes
// over time.
//
// Events carry thread ids; people want names. A Table collects them from the
// earliest source: the event's own fields (next_comm beside next_pid), the
// comm, fork and exit records of the run, then /proc, read once for each
// thread. An unknown name is "pid-N"; a name is never empty.
//
// The session passes it every record that is not a sample, and sets Stream.Comm
// to Table.Of:
//
//	names := task.New(task.Options{})
//	stream.Comm = names.Of
//	...
//	names.Record(&e) // e.Kind != event.Sample
//
// Mappings reads the same records, and finds the file that was mapped at an
// address at a time. It opens a file through runtime/stack/dso when it is
// mapped, so that programs can still be symbolized after their end.
//
//	maps := task.NewMappings(task.MappingsOptions{})
//	maps.Record(&e)
//	region, ok := maps.Find(pid, addr, when)
//
// The package does not follow cgroups.
package task
