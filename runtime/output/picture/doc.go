// Package picture writes the files that show a run beside its results: call
// stacks as flame graphs, folded text or for pprof, and heat maps. It opens
// them before anything runs, so that what cannot be written is known then; what
// goes into them is counted elsewhere.
package picture
