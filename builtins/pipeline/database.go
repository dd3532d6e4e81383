package pipeline

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

func sqlQuery() *b.Builtin {
	return &b.Builtin{
		Name:    "sql",
		Group:   b.Combinators,
		Summary: "Keeps events as rows of SQL tables, and runs a query over them at the end of each interval.",
		Params: []b.Param{
			{Name: "stream", Type: b.Is("stream"), Rest: "*", Doc: "each kind of event is a table, named by its alias or event"},
			{Name: "query", Type: b.String, Named: true, Doc: "statements of SQLite, separated by ;"},
			{Name: "file", Type: b.String, Named: true, Doc: "where to keep the database; else it is in memory"},
			{Name: "verify", Type: b.Bool, Default: starlark.False, Named: true, Doc: "also insert the rows in the simplest way, and compare the answers"},
		},
		Returns: "log",
		Result: "a table for each statement that answers something. Columns are _pid, _tid, _time (ns), _cpu, _period, " +
			"the event's fields and the names that .let(...) gave; with a stack _stack, which is stacks.id. Integers are SQLite's, " +
			"of 64 bits with a sign: numbers from 2^63 on, such as addresses of the kernel, are negative there. Where a column of the answer is an address or " +
			"an error number of an event's column, it is shown as such, as in other tables. " +
			"event_metadata describes the tables; ksymbol(addr) (and ksymbol_offset), syscall(nr), comm(tid), log2(n), symbolic(field, value), ipv4_str, ipv6_str, " +
			"ipsa_str, mac_str, uuid_str and guid_str name values",
		Errors: "wrong SQL, with the tables and columns that exist; two tables of one name; a file that cannot be written, or that the command line does not name, " +
			"without --allow write=DIR; ATTACH, VACUUM and PRAGMA",
		Source: computed + "; SQLite",
		Cost: "0.2 to 0.6 us per event, by the number of columns that the query reads; 1 GiB at most in memory, further rows are counted as dropped; " +
			"an answer has 256 MiB at most, and a query that does not end is stopped when the run ends",
		Examples: []b.Example{{
			Code: `x = sql(tracepoint("sched:sched_switch"), query = "SELECT prev_comm, count(*) n FROM sched_switch GROUP BY 1")
[(r.prev_comm, r.n) for r in run(x).rows]`,
			Input:  "trace.data",
			Output: `[("sh", 4), ("sleep", 1), ("true", 1)]`,
		}, {
			Code:   `sql(tracepoint("sched:sched_switch"), query = "SELECT prev_comm, count(*) FROM sched_switch GROUP BY 1")`,
			Output: "<log>",
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			d := &plan.Database{Query: c.String("query"), File: c.String("file"), Verify: c.Bool("verify")}
			for _, v := range c.Rest {
				d.In = append(d.In, v.(*Stream).S)
			}
			if len(d.In) == 0 {
				return nil, errors.New(`sql: there are no events; write sql(event("sched:*"), query = "...")`)
			}
			if d.Query == "" && d.File == "" {
				return nil, c.Error("query",
					errors.New("missing, and there is no file: nothing would come of the events"),
					`write query = "SELECT ..." or file = "events.db"; on the command line --query or --output2`)
			}
			return &results.Log{Report: d}, nil
		},
	}
}
