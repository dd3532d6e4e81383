// Package compare reports what changed between two runs. It reads their saved results: records of
// --format json, frames of --partials, or the results of a script over two recordings. Command diff
// and option --baseline use it.
//
// # What is compared
//
// A run consists of parts, such as its intervals, and is called "before" or "after". A Comparison
// has cells. A cell is a number with a value in each part: a column of a row, such as the calls of
// openat. Counts and sums are compared as a rate, per second of the run, so that runs of different
// lengths can be compared. Functions in stacks are compared by their share of the samples; means,
// quantiles and extremes are compared unconverted. The changes are ordered by contribution: the
// share of the whole column that this cell's change is.
//
// # The test against noise
//
// Each interval of a run has one number for a cell; if both runs have at least five hosts or files,
// each host or file has one. The two sets of numbers are compared. A cell differs if all of these
// tests find that chance is an improbable cause:
//
//   - Student's t in Welch's form, of the numbers and of their logarithms. Its variance allows for
//     intervals that resemble their neighbours. It is repeated with the means of pairs, quadruples
//     and so on of intervals, as long as eight of them remain;
//   - the bootstrap: sequences of neighbouring intervals are drawn at random from both runs, and
//     their means seldom differ by as much as the two runs do. It is also valid for numbers that
//     have no normal distribution;
//   - for numbers that count events, the exact binomial test, which matters if there are few events.
//
// If a cell is 0 in all intervals of one run, it is judged by Student's t with a common variance
// instead, and the bootstrap only gives the bounds of its change. With PerRun, a sum is judged by
// its two factors, the mean and the number of events.
//
// Holm's method corrects for the number of cells: the probability that any finding is wrong is at
// most chance.Level. A second test, of the ranks of the intervals (Mann and Whitney), finds
// differences that a few unusual intervals would hide, such as the intervals in which a program
// starts. Each of the two tests has half of the level. Fewer than chance.Least intervals cannot be
// judged, and get no p. If only one run has so few, its mean must be far outside the numbers of the
// other run: Student's t judges whether it could be one more of them.
//
// Some noise differs only between runs, not within a run, such as the layout of memory. A
// comparison of one run with one run cannot measure it. So a change below Least of the value is not
// reported as a difference, and several runs per side (files separated by commas) are better than
// one.
package compare
