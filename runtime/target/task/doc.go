// Package task knows the names of threads, and the code that processes have
// mapped, over time.
//
// Events carry thread ids; people want names. A Table collects them from the
// earliest source: the event's own fields (next_comm beside next_pid), the
// comm, fork and exit records of the run, then /proc, read once for each
// thread. An unknown name is "pid-N"; a name is never empty.
//
// The session feeds it every record that is not a sample and sets Stream.Comm
// to Table.Of:
//
//	names := task.New(task.Options{})
//	stream.Comm = names.Of
//	...
//	names.Record(&e) // e.Kind != event.Sample
//
// Mappings takes the same records, and answers which file an address belonged
// to at a time. It opens files through runtime/stack/dso as it hears of them, so
// that programs which ended can still be symbolised.
//
//	maps := task.NewMappings(task.MappingsOptions{})
//	maps.Record(&e)
//	region, ok := maps.Find(pid, addr, when)
//
// The package follows no cgroups.
package task
