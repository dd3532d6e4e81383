// Package metric converts the results of runs to metrics for monitoring systems. Counts
// and sums of intervals add up to counters, which never decrease; distributions add up to
// histograms; other values, which are of one interval, become gauges. Separate packages
// export them: Prometheus scrapes package prometheus, package otlp sends.
//
// A Store has the metrics of all scripts of the process. Each script has a Recorder, an
// output.Sink that gets the results of its session. Exporters can take a Snapshot at any
// time.
//
// A series is one key of a metric, identified by the values of its labels. The number of
// series is bounded for each result: keys beyond the bound share one row, in which all
// labels are Other, so that sums over all series stay correct. No series is dropped before
// the script ends, since its counter would then decrease.
package metric
