package perf

func (a *attachment) cgroups(names []string, cpus []int) error { panic("BUG: not there yet") }
