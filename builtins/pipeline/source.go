package pipeline

import (
	b "ppscript/builtins"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

// sourceAttributes declares the attributes of sources, the streams that
// tracepoint() and events() return. Streams that methods return do not have
// them.
func sourceAttributes() []*b.Builtin {
	attribute := func(name, returns, summary, result string, of func(src *plan.Source) string,
		examples ...b.Example) *b.Builtin {
		return &b.Builtin{
			Name:     name,
			Type:     "stream",
			Group:    b.StreamMethods,
			Summary:  summary,
			Returns:  returns,
			Result:   result,
			Errors:   "the stream is not a source: read it before where, let and the like",
			Source:   computed,
			Cost:     "none for events",
			Examples: examples,
			Value: func(recv starlark.Value) starlark.Value {
				src := recv.(*Stream).source()
				if src == nil {
					return nil
				}
				if text := of(src); text != "" {
					return starlark.String(text)
				}
				return starlark.None
			},
		}
	}

	return []*b.Builtin{
		attribute("alias", "string or None", "The name that results give to the event of a source.", "the attribute alias=; None without one",
			func(src *plan.Source) string { return src.Alias },
			b.Example{Code: `tracepoint("sched:sched_switch", alias = "switch").alias`, Output: `"switch"`}),
		attribute("label", "string", "The name of a source's event in results.", "its alias, else its name without the system",
			func(src *plan.Source) string {
				if src.Alias != "" {
					return src.Alias
				}
				return src.Name
			},
			b.Example{Code: `tracepoint("sched:sched_switch").label`, Output: `"sched_switch"`}),
		attribute("system", "string or None", "The group to which a source's event belongs.",
			"the part of its name before the colon: sched, software, kprobe, ...; None for a profiler, and for sample()",
			(*plan.Source).SystemName,
			b.Example{Code: `tracepoint("sched:sched_switch").system`, Output: `"sched"`},
			b.Example{
				Code:   `[e.system + ":" + e.label for e in events("sched:sched_switch,software:page-faults")]`,
				Output: `["sched:sched_switch", "software:page-faults"]`,
			}),
	}
}
