package perf

// A Workload is a command to start and observe.
type Workload struct {
	Args []string
	tid  int
}
