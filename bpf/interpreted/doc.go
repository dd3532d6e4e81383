// Package interpreted has the program that finds which functions an interpreter runs when a sample is taken.
// It runs where the sample is taken, in the thread itself, so that nothing changes while it looks: it follows
// the interpreter's own list of frames, from the thread's state outwards. (Config.Walk, which reads them
// later, through /proc/PID/mem, finds those of a later moment.)
//
// A frame is told as the address of its code object, where in its code it is, and a number that
// tells that object from others that may lie there later. Package interpreter makes names of them,
// and puts them among the functions of the sample's stack.
//
// The program leaves for each sample a Sample in a ring of the CPU, and stacks under their hash.
// It decides nothing about samples, and stops at the first thing that it cannot read.
package interpreted
