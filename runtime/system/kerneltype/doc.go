// Package kerneltype reads the C types of the running kernel from the kernel
// itself (BTF, /sys/kernel/btf): the offsets of members, the targets of
// pointers, the values of enumerators, the arguments of functions.
//
//	types := kerneltype.Running()
//	task, err := types.Named("struct task_struct")
//	comm, err := task.Member("comm")    // comm.Offset, comm.Type
//
// Package expr uses it for expressions that read the kernel's memory. This
// package reads types only, never memory, and needs no privilege.
package kerneltype
