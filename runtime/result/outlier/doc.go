// Package outlier finds sources, such as machines, that differ from the others in what they measured. It
// knows numbers, not where they are from: package mergeable asks it about the cells of tables.
//
// Each number is compared with the median of the other sources, in units of their median absolute
// deviation (MAD), made comparable with a standard deviation: a robust z. The number that is judged takes
// no part in either: of few sources it would hide itself. If more than half of the others have the very
// same number, the MAD is 0, and their mean absolute deviation takes its place. Counts, and sums of
// events, vary by chance at least as Poisson has it, and their spread is never below that: one error where
// others have none is no finding, ten thousand are. The probability of such a z by chance is that of
// Student's t with 0.37 degrees of freedom for each source: so well do few sources tell the MAD. Of
// numbers that count events, a source differs only if chance alone would not have spread the events like
// this either: the exact binomial test of how many of all events came to one of n sources. Many
// comparisons are made at once, and Holm's method bounds the probability of any wrong finding among them
// by Level, however they depend on each other.
//
// That holds as far as healthy sources are spread like a normal distribution in the middle. It says that
// a source differs, not that something is wrong with it.
package outlier
