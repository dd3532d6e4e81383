// Package symbol turns addresses into names.
//
// So far it knows the kernel's own: Kernel holds /proc/kallsyms, or the copy
// of it that came with a recording. Renderers of print formats (%pS), the
// expression builtin ksym and scripts that look for the address of a function
// ask it. User addresses are not its business yet, and it never opens a file
// before it is asked for an address.
package symbol
