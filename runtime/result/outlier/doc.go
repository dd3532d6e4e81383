// Package outlier finds sources, such as machines, whose numbers differ from the others'. It sees
// only numbers: package mergeable calls it with the cells of tables.
//
// Each number is compared with the median of the other sources, in units of their median absolute
// deviation (MAD), scaled to a standard deviation: a robust z. The judged number is excluded from
// both, since among few sources it would hide itself. If more than half of the others have the same
// number, the MAD is 0, and their mean absolute deviation replaces it. Counts and sums of events
// have at least the spread of a Poisson distribution: one error on a source is no finding if others
// have none, ten thousand errors are. The probability of such a z by chance is computed from
// Student's t with 0.37 degrees of freedom for each source, since few sources give only a rough
// estimate of the MAD. If a number counts events, a source differs only if it also fails the exact
// binomial test of how many of all events came to one of n sources. Many comparisons are made at
// once: Holm's method bounds the probability that any finding is wrong by Level, even if the
// comparisons depend on each other.
//
// The bound is valid if the numbers of healthy sources have roughly a normal distribution near the
// median. A finding means that a source differs, not that something is wrong with it.
package outlier
