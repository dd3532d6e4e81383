// Package task knows the names of threads over time.
//
// Events carry thread ids; people want names. A Table collects them from where
// they are known first: the event's own fields (next_comm beside next_pid),
// the comm, fork and exit records of the run, then /proc, read once for each
// thread. What nobody knows is "pid-N"; a name is never empty.
//
// The session feeds it every record that is not a sample and sets Stream.Comm
// to Table.Of:
//
//	names := task.New(task.Options{})
//	stream.Comm = names.Of
//	...
//	names.Record(&e) // e.Kind != event.Sample
//
// It follows no mappings and no cgroups, and opens nothing but /proc/TID/comm.
package task
