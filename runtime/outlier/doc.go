// Package outlier finds sources, such as machines, that differ from the others in what they measured. It
// knows numbers, not where they are from: package partial asks it about the cells of tables.
//
// Each number is compared with the median of all sources, in units of their median absolute deviation
// (MAD), made comparable with a standard deviation: a robust z, which the outliers themselves do not move
// much. If more than half of the sources have the very same number, the MAD is 0, and the mean absolute
// deviation takes its place. The probability of such a z by chance is that of Student's t with 0.37 degrees
// of freedom for each source: so well do few sources tell the MAD. Of numbers that count events, a source
// differs only if chance alone would not have spread the events like this either: the exact binomial test
// of how many of all events came to one of n sources. Many comparisons are made at once, and Holm's method
// bounds the probability of any wrong finding among them by Level, however they depend on each other.
//
// That holds as far as healthy sources are spread like a normal distribution in the middle. It says that
// a source differs, not that something is wrong with it.
package outlier
