// Package kerneltype knows the C types of the running kernel, as the kernel
// itself shows them (BTF, /sys/kernel/btf): where the members of a structure
// lie, what pointers point to, the values of enumerators, the arguments of
// functions.
//
//	types := kerneltype.Running()
//	task, err := types.Named("struct task_struct")
//	comm, err := task.Member("comm")    // comm.Offset, comm.Type
//
// Package expr makes reads of the kernel's memory of it, for both front ends.
// It reads types only, never memory, and needs no privilege.
package kerneltype
