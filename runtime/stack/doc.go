// Package stack numbers call stacks: it reads the stack of a sample and gives
// each distinct stack a small number, by which operators count and relate
// stacks. Names are found later, once for each address: see package symbol.
//
// A Reader wraps the decoder of a stream's samples. A caller that reads the sample
// member "stack" of an event gets the number (ID) of its stack in the Table, which
// keeps the stack until Reset. A number is only valid for the Table that made it.
//
// Memory is bounded: stacks that find no room are counted, and shown as such.
package stack
