// Package view implements how scripts show results (.sort, .top, .with_, .unit, .title
// and .format), and the texts that people see instead of numbers, such as names of the
// kernel. It changes finished tables and histograms and computes nothing per event. The
// builtins of results fill a View, package plan applies it when an interval ends, and
// package render writes the result. A Show is a function that returns the text for a
// value.
package view
