// Package cells tests that a value of each type is the same value in every output.
package cells
