package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/source/datasrc"

	"go.starlark.net/starlark"
)

// dataSource declares data_source(...), which names the bits of a memory
// access.
func dataSource() *b.Builtin {
	return &b.Builtin{
		Name:    "data_source",
		Group:   b.Hosted,
		Summary: "Where the data of a memory access came from, in words.",
		Params: []b.Param{
			{Name: "data_src", Type: b.Int, Required: true, Doc: "field data_src of an event of memory_access(...)"},
		},
		Returns: "string",
		Result:  "level, snoop, TLB, lock and block, as perf mem names them; N/A is a part that the CPU does not report",
		Errors:  "none",
		Source:  "union perf_mem_data_src of the kernel",
		Cost:    "a microsecond; none for events",
		Examples: []b.Example{
			{Code: "data_source(0x10668100842)", Output: `"L3 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK N/A"`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			n, _ := c.Value("data_src").(starlark.Int).Uint64() // wider numbers become 0: N/A
			return starlark.String(datasrc.Bits(n).String()), nil
		},
	}
}
