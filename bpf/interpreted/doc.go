// Package interpreted has the program that finds which functions an interpreter runs when a sample
// is taken. It runs in the sampled thread itself, so that nothing changes meanwhile: it follows the
// interpreter's own list of frames, from the innermost one outwards. (Config.Walk reads the frames
// later, through /proc/PID/mem, and finds the frames of that later moment.)
//
// A frame is described by the address of its code object, the position in the code, and a number
// that distinguishes the object from later objects at the same address. Package interpreter turns
// these into names, and puts them among the functions of the sample's stack.
//
// The program writes a Sample to a ring of the CPU for each sample, and stacks to a map under
// their hash. It never drops a sample, and stops at the first memory that it cannot read.
package interpreted
