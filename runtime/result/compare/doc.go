// Package compare says what changed between two runs, by their saved results: records of --format json,
// parts of --partials, or what a profiler says of two recordings. Command diff and option --baseline show
// it.
//
// # What is compared
//
// A Comparison has cells: a column of a row, such as the calls of openat. What adds up is compared as a
// rate, per second of the run, so that runs of different lengths can be compared; the functions of stacks
// by their share of the samples; means, quantiles and extremes as they are. The changes are ordered by
// contribution: how much of the whole column the change of this cell is.
//
// # The test against noise
//
// Each interval of a run, or each host or file if both sides have five, has a number for a cell, and the
// two sets of numbers are compared. A cell differs if all of these say that chance would not have done it:
//
//   - Student's t in Welch's form, of the numbers and of their logarithms, with the variance that intervals
//     have which resemble their neighbours; also over pairs, quadruples and so on of intervals, as long as
//     eight remain;
//   - the bootstrap: runs of neighbouring intervals are drawn anew from both sides, and seldom differ by as
//     much from their own mean. It is the judge where numbers are not spread like a normal distribution;
//   - of numbers that count events, the exact binomial test, for few events.
//
// What one run has nothing of in any interval is compared by t with one variance instead, and resampling
// tells its bounds only. With PerRun a sum is judged by what it consists of, the mean and the number of
// events.
//
// Holm's method corrects for the number of cells: the probability of any wrong finding is at most
// chance.Level. A second test of the ranks of the intervals (Mann and Whitney) finds what a few odd
// intervals would hide, such as those in which a program starts; each test has half of the level. Fewer than
// chance.Least intervals cannot be judged, and no p is made up for them. If one side alone has so few, its
// mean must lie outside all that the other side has, by Student's t for one more number of the same kind.
//
// The noise between two runs that is not within each of them, such as where memory happens to lie, is
// unknown to a comparison of one run with one run. So a change below Least of the value is no difference,
// and several runs a side (files with commas) are better than one.
package compare
