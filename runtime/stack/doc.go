// Package stack keeps call stacks: it finds those of samples, tells equal ones
// apart from new ones, and gives each a small number by which operators count
// and relate them. Names come later, once for each address: see package symbol.
//
// A Reader stands in front of the decoder of a stream's samples. A caller that reads
// the sample member "stack" of an event gets the number (ID) of its stack in the
// Table, where it stays until Reset. The numbers are only good for the Table
// that made them.
//
// Memory is bounded: stacks that find no room are counted, and shown as such.
package stack
