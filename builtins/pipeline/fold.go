package pipeline

import (
	"slices"

	b "ppscript/builtins"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func fold() *b.Builtin {
	return &b.Builtin{
		Name: "fold", Type: "stream", Group: b.StreamMethods,
		Summary: "Runs a state machine for each key, and makes a stream of what it emits.",
		Params: []b.Param{
			{Name: "key", Type: keys, Required: true, Doc: "the key of a state machine, or a list of several values; e.key[0] is the first of the list"},
			{Name: "state", Type: b.Dict, Required: true,
				Doc: "the members of the state and their initial values: numbers, durations, texts; a 0 may become a time; [0] * 8 is a list of 8 numbers, which keeps its length"},
			{Name: "step", Type: b.Func, Required: true,
				Doc: "step(s, e) reads and assigns s.member and s.list[i], and calls emit(name = value, ...)"},
			{Name: "flush", Type: b.Func, Named: true,
				Doc: "flush(s, e) runs at the end of each interval for every key that is not in its initial state; e.key is the key, e.time the end"},
			{Name: "begin", Type: b.String, Named: true,
				Doc: "a member that says when the state began: the event that sets it, and the one that emits, are shown by .log(heading = ...)"},
			{Name: "limit", Type: b.Int, Named: true, Doc: "how many keys may have a state; else a million"},
			{Name: "name", Type: b.String, Named: true, Doc: "name of the emitted events; by default the name of the step function"},
		},
		Returns: "stream",
		Result: "the emitted events, with the values as fields, and the time, pid, tid and cpu of the current event. At the limit, " +
			"the least recently used states are evicted. After a loss of events, states that it may have changed are discarded and counted as broken. " +
			"In the kernel, states are evicted once a second: a new key that finds no room until then has no state, and is counted as evicted; " +
			"without limit= there is room for 131,072 states (8,192 before 6.1)",
		Errors: "a member that state does not have; a member or an emitted name with values of several kinds; " +
			"different names in two calls of emit; all found before anything is opened; an index that is not in the list is an error of that event",
		Source: "computed in ppscript, or inside the kernel (5.12) if step is compiled, flush only changes numbers and texts of the state, " +
			"and no fold or join uses the events of flush; explain says which. In the kernel there is room for 32,768 stacks (8,192 before 6.1), " +
			"so folds that keep stacks of the whole machine run in ppscript, unless --engine bpf is given. begin needs 5.17 on amd64",
		Cost: "20 ns per event, 80 with a million keys; about 100 ns per line of a function that stays interpreted; 60 to 100 bytes for each key",
		Examples: []b.Example{{Code: `
def step(s, e):
    if s.since and e.prev_pid != e.next_pid:
        emit(ran = e.time - s.since, comm = e.prev_comm)
    s.since = e.time

tracepoint("sched:sched_switch").fold("cpu", {"since": 0}, step).by("comm").agg(ran = agg.sum("ran"))`[1:],
			Output: "<table of comm, ran>"}},
		Impl: foldOf,
	}
}

func foldOf(c *b.Call) (starlark.Value, error) {
	key, err := arg(c, "key")
	if err != nil {
		return nil, err
	}
	if n := c.Int("limit"); c.Has("limit") && n < 1 {
		return nil, c.Errorf("limit", "got %d, want at least 1", n)
	}
	m, err := frontend.NewMachine(c.Host(), c.Value("state").(*starlark.Dict),
		c.Func("step"), c.Func("flush"))
	if err != nil {
		return nil, err
	}
	f := &plan.Fold{In: in(c), Key: *key, Machine: m, Limit: int(c.Int("limit")),
		Name: c.String("name"), Begin: c.String("begin"), Pos: c.Pos()}
	for _, a := range m.Asks() {
		if of := a.(*Stream).S.(*plan.Fold); !slices.Contains(f.Asks, of) {
			f.Asks = append(f.Asks, of)
		}
	}
	return &Stream{S: f, Spans: c.Has("begin")}, nil
}

// Machine returns the state machine of the fold that makes the stream; nil if the
// stream is not made by a fold.
func (s *Stream) Machine() *frontend.Machine {
	if f, ok := s.S.(*plan.Fold); ok {
		return f.Machine.(*frontend.Machine)
	}
	return nil
}

func at() *b.Builtin {
	return &b.Builtin{
		Name:    "at",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Reads the state that a fold has for a key at this moment; only in the functions of another fold.",
		Params: []b.Param{
			{Name: "key", Type: b.Any, Required: true, Doc: "a key of the fold that is read: a number or a text"},
		},
		Returns: "state",
		Result: "the state, for reading: running.at(e.pid).since. If both folds use the same stream, the fold that is read has already processed the current event. " +
			"A key without a state has the initial one, also after a loss of events or an eviction. A fold that is read need not emit events",
		Errors: "called outside a fold's functions; the stream is not that of a fold; a member that its state does not have, or a list; " +
			"a fold that is made after the one that reads it; a key of another kind",
		Source: "computed where both folds run: in the kernel if both can run there; in ppscript if a flush function reads a state, or if a text is read",
		Cost:   "10 to 20 ns for each member that is read, natively; in a program a look-up in a hash, 20 to 50 ns",
		Examples: []b.Example{{Code: `
def ran(s, e):
    s.since = e.time

def woke(s, e):
    began = running.at(e.tid).since
    emit(awake = e.time - began if began else 0 * ns, waker = e._comm)

running = tracepoint("sched:sched_switch").fold("next_pid", {"since": 0}, ran)
tracepoint("sched:sched_waking").fold("pid", {"n": 0}, woke).by("waker").agg(awake = agg.max("awake"))`[1:],
			Output: "<table of waker, awake>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return frontend.At(c.Thread, c.Receiver.(*Stream), c.Value("key"))
		},
	}
}

func emit() *b.Builtin {
	return &b.Builtin{
		Name:    "emit",
		Group:   b.Combinators,
		Summary: "Makes an event of the stream that a fold returns; only in its functions.",
		Params: []b.Param{
			{Name: "name", Type: b.Any, Rest: "**", Doc: "name = value: a number, text, duration or time"},
		},
		Returns: "None",
		Result:  "every call in a fold gives the same names, each with values of one kind",
		Errors:  "called outside a fold's functions; a name without a value",
		Source:  computed,
		Cost:    "20 ns and 40 bytes per value until the batch is handed on",
		Examples: []b.Example{{Code: `
def step(s, e):
    s.n += 1
    emit(nth = s.n)

tracepoint("sched:sched_switch").fold("prev_pid", {"n": 0}, step).where("nth == 2").count()`[1:],
			Output: "<table of count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) { return starlark.None, frontend.Emit(c.Thread, c.KW) },
	}
}
