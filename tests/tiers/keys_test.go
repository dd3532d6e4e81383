package tiers

import (
	"bytes"
	"os/exec"
	"testing"

	"ppscript/tests/testkit"
)

// keys are groups by values computed from fields: elements of arrays, tuples, a
// choice of texts, parts of texts, names from let.
const keys = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")
switch = tracepoint("sched:sched_switch")

def kind(e):
    if e.id == 110:
        return "parent"
    return "low" if e.id < 64 else "high"

def numbered(s, e):
    s.n += 1
    emit(nth = s.n, id = e.id)

def main(o):
    calls = join([enter], [exit], key = "tid")
    both = join([enter], [exit], key = ["tid", lambda e: e.id % 64])
    nth = enter.fold(["tid", "id"], {"n": 0}, numbered)
    named = enter.let(group = kind, least = lambda e: e.args[0] & 7)
    return [
        enter.where(lambda e: e.id != 202).by(lambda e: e.args[0] & 0xffff, "id").count(),
        enter.where("id == 1").by(fd = "args[0]", size = lambda e: e.args[2]).count(),
        enter.by(lambda e: (e.id, e._comm)).agg(n = agg.count(), least = agg.min("id")),
        enter.by("_comm").agg(last = agg.max("id", of = lambda e: e.id + 1000), first = agg.min("id", of = kind, where = "id != 110")),
        calls.by("start.id").agg(who = agg.max("start.id", of = "start._comm"), call = agg.min(lambda p: -p.start.id, of = "start.id")),
        enter.by(kind).count(),
        named.by("group", "least").count(),
        merge(enter, exit).by(lambda e: (e.id % 3, "low" if e.id < 64 else "high")).count(),
        calls.where(lambda p: p.start.id == 110 or p.start.id == 230).by(lambda p: (p.start.args[0] & 1, p.end.ret < 0)).count(),
        both.by("start.id").count(),
        enter.by("log2(id)", lambda e: log2(e.id), "log2(args[0] & 0xff)", "log2(-1 - id)", "log2(~0UL - id)").count(),
        nth.by("id", "nth & 3").count(),
        switch.by(lambda e: e.prev_comm.split("-")[0]).count(),
        switch.by(lambda e: e.next_comm.split("-")[-1].upper()).count(),
        switch.by(head = lambda e: e.prev_comm[:3], tail = lambda e: e.next_comm[-2:], at = lambda e: e.prev_comm.find("o")).count(),
        switch.by(lambda e: e.next_comm[e.next_comm.rfind("-") + 1:]).count(),
        switch.where(lambda e: e.prev_comm.removeprefix("load-") == "0").by("next_comm").count(),
        switch.by(lambda e: e.prev_comm if e.prev_prio > 0 else "real time").count(),
    ]
`

func TestKeysAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	agree(t, keys)
}

// Programs compute all of these keys.
func TestKeysAreInKernel(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	file := script(t, keys)
	out, err := exec.Command(testkit.PPScript(t), "explain", file, "--engine", "bpf").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("\nengine          bpf: ")) {
		t.Errorf("got %v, %s", err, out)
	}
	if bytes.Contains(out, []byte("interpreted")) {
		t.Errorf("got %s", out)
	}
}
