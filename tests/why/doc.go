// Package why tests the causes that ppscript why reports: programs with known causes measure
// themselves, and the breakdowns of their spans are compared with these measurements.
package why
