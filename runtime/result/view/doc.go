// Package view is how results are shown: .sort, .top, .with_, .unit, .title and .format
// of scripts, and how people read the values of cells. It changes finished tables and
// histograms and computes nothing for an event. The builtins of results fill a View,
// package plan applies it when an interval ends, package render writes what comes of it.
package view
