package pipeline

// This file lists names from other tools and libraries. If a script calls such a name, the error shows the
// code that does the same here.

// habits has the code for such names, for streams.
var habits = map[string]string{
	"filter": `.where("pid > 1")`, "grep": `.where("comm ~ \"x*\"")`, "having": `.where(...)`,
	"group_by": `.by("comm")`, "groupby": `.by("comm")`, "group": `.by("comm")`,
	"map": `.let(name = value)`, "select": `.let(name = value)`, "with_columns": `.let(name = value)`,
	"assign": `.let(name = value)`,
	"print":  ".log()", "show": ".log()", "trace": ".log()", "printf": ".log()", "lines": ".log()",
	"foreach": ".each(fn)", "for_each": ".each(fn)", "apply": ".each(fn)",
	"flame_graph": ".stacks(), with --flame-graph FILE", "flamegraph": ".stacks(), with --flame-graph FILE",
	"stackcount": ".stacks()", "offcpu": "off_cpu()",
	"unmatched": ".unpaired()", "leaks": ".paired()",
}

// numbers has the code for names of aggregators and histograms, for streams and groups.
var numbers = map[string]string{
	"sum": `.agg(agg.sum("FIELD"))`, "total": `.agg(agg.sum("FIELD"))`,
	"avg": `.agg(agg.avg("FIELD"))`, "mean": `.agg(agg.avg("FIELD"))`, "average": `.agg(agg.avg("FIELD"))`,
	"min": `.agg(agg.min("FIELD"))`, "max": `.agg(agg.max("FIELD"))`, "stddev": `.agg(agg.stddev("FIELD"))`,
	"stats":    `.agg(agg.count(), agg.avg("FIELD"))`,
	"quantile": `.agg(agg.quantile("FIELD", 0.99))`, "quantiles": `.agg(agg.quantile("FIELD", 0.99))`,
	"percentile": `.agg(agg.quantile("FIELD", 0.99))`, "median": `.agg(agg.quantile("FIELD", 0.5))`,
	"p50": `.agg(agg.quantile("FIELD", 0.5))`, "p90": `.agg(agg.quantile("FIELD", 0.9))`,
	"p95": `.agg(agg.quantile("FIELD", 0.95))`, "p99": `.agg(agg.quantile("FIELD", 0.99))`,
	"histogram": `.hist("FIELD")`, "lhist": `.hist("FIELD")`, "quantize": `.hist("FIELD")`,
	"size": ".count()", "len": ".count()", "tally": ".count()", "value_counts": ".count()",
}

// ofGroups has the code for methods that groups lack, since their work is done before events are grouped.
var ofGroups = map[string]string{
	"latency": `.agg(p99 = agg.quantile("delay", 0.99)), or STREAM.latency("KEY") in place of .by("KEY")`,
	"where":   `.where(...) in front of .by(...)`, "filter": `.where(...) in front of .by(...)`,
	"let": `.let(...) in front of .by(...)`, "stacks": `.stacks(by = "KEY") in place of .by("KEY")`,
	"log": `.log() in place of .by(...)`, "heatmap": `STREAM.heatmap(PREFIX, by = "KEY") in place of .by("KEY")`,
}
