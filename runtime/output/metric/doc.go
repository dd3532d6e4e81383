// Package metric turns the results of runs into metrics, as monitoring systems understand
// them: values of intervals add up to counters that never go back, distributions to
// histograms, and what stands for one interval is a gauge. Forms of it are packages of
// their own: prometheus is scraped, otlp sends.
//
// A Store has the metrics of all scripts of the process. Each script has a Recorder, which
// is an output.Sink: it takes results where the session makes them. Readers take a
// Snapshot whenever they like.
//
// Series are bounded for each result: keys that come when the bound is reached share one
// row, in which all labels are Other, so that sums over all series stay right. No series is
// given up before the script ends, since its counter would go back.
package metric
