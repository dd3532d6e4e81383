package tiers

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// chaining are joins of derived events: of pairs, of pairs of pairs, of emitted events, with
// events of the kernel and with each other. Each has two values, a and b, from its parts or
// from their parts.
const chaining = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")

def third(s, e):
    s.n += 1
    if s.n % 3 == 0:
        emit(nr = e.start.id, n = s.n, who = e.end._comm)

def failed(s, e):
    if e.ret < 0:
        s.n += 1
        emit(nr = e.id, n = s.n)

calls = join([enter], [exit], key = "_tid").let(nr = "start.id", ret = "end.ret")
emits = calls.fold("_tid", {"n": 0}, third)
failures = exit.fold("_tid", {"n": 0}, failed)

first = join([calls.key("_tid")], [enter]).let(a = "start.nr", b = "end.id")
last = join([enter.key("id")], [calls.key("start.id")]).let(a = "start.id", b = "end.ret < 0")
again = join([calls.key("_tid")], cycle = True).let(a = "start.nr", b = "end.nr")
emitted = join([emits.key("_tid")], [enter]).let(a = "start.nr * 1000 + start.n", b = "end.id")
between = join([enter.key("_tid")], [emits.key("_tid")]).let(a = "start.id", b = "end.n")
both = join([failures.key("_tid")], [calls.key("_tid")]).let(a = "start.nr", b = "end.nr")
deep = join([first.key("_tid")], [calls.key("end._tid")]).let(a = "start.a * 1000 + start.b", b = "end.ret == 0")
texts = join([emits.key(lambda e: (e.who, e._tid))], [enter.key(lambda e: (e._comm, e._tid))]).let(a = "start.who", b = "end.id")
nest = join([enter, calls.where("start.id % 3 == 0")], [emits, exit], impl = "nested").let(a = "depth", b = "self <= delay")
keyed = join([calls.key("key")], [failures.key("_tid")], cycle = True).let(a = "key", b = "delay >= 0")
`

// Parts of random plans with these joins.
var (
	chains = []string{"first", "last", "again", "emitted", "between", "both", "deep", "texts", "keyed",
		"nest"}
	links = []string{
		`%s.by("a", "b").count()`,
		`%s.by(b = "b").agg(n = agg.count(), most = agg.max("b ? 1 : 0"), some = agg.count(where = "delay > 0"))`,
		`%s.where("delay > 0").by(who = "_comm", a = "a").count()`,
		`%s.fold("_tid", {"n": 0}, counted).by("n").count()`,
		`%s.where("_tid %% 2 == 0 || delay > 1").agg(n = agg.count())`,
	}
)

// randomChains returns a script with some of these joins.
func randomChains(r *rand.Rand) string {
	var results []string
	for range 1 + r.Intn(3) {
		chain := chains[r.Intn(len(chains))]
		results = append(results, fmt.Sprintf(links[r.Intn(len(links))], chain))
	}
	return chaining + `
def counted(s, p):
    s.n += 1
    emit(n = s.n % 4)

def main(o):
    return [
        calls.by("nr").count(),
        ` + strings.Join(results, ",\n        ") + ",\n    ]\n"
}

// Joins of pairs and of emitted events give the same results in programs as natively.
func TestRandomChainsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	agreeWhereCut(t, 8, func() string { return randomChains(r) }, "")
}

// sentLinks are results whose pairs leave the kernel: with the delay, the key and the values of
// their two events, but not with the events from which those are derived.
var sentLinks = []string{
	`%s.log()`,
	`%s.where("delay > 0 && _tid > 1").log()`,
	`%s.by(who = "start._tid").agg(n = agg.count(), last = agg.last("end._pid"))`,
}

// randomSentChains returns a script of chains, some of which leave the kernel.
func randomSentChains(r *rand.Rand) string {
	results := []string{`calls.agg(n = agg.count())`}
	for range 1 + r.Intn(2) {
		results = append(results, fmt.Sprintf(sentLinks[r.Intn(len(sentLinks))], chains[r.Intn(len(chains))]))
	}
	return chaining + "\ndef main(o):\n    return [\n        " + strings.Join(results, ",\n        ") +
		",\n    ]\n"
}

// The pairs that leave the kernel are the same as natively.
func TestRandomSentChainsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	agreeWhereCut(t, 5, func() string { return randomSentChains(r) }, "joins of what operators make")
}

// Pairs and emitted events without a partner are the same as natively, for the same reasons.
func TestRandomUnpairedChainsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	agreeWhereCut(t, 6, func() string {
		form, of := unpairedChains[r.Intn(len(unpairedChains))], chains
		if strings.HasSuffix(form, ".log()") {
			of = []string{"emitted", "between", "texts", "keyed", "nest"}
		}
		return chaining + "\ndef main(o):\n    return [calls.agg(n = agg.count()), " +
			fmt.Sprintf(form, of[r.Intn(len(of))]) + "]\n"
	}, "joins of what operators make")
}

// unpairedChains are results of these. For pairs within pairs programs send no events, so logs
// would differ.
var unpairedChains = []string{
	`%s.unpaired().log()`,
	`%s.unpaired().by("reason", who = "start._tid").count()`,
	`%s.unpaired(waiting = True).where("age >= 0 && start._tid > 1").by("reason", what = "start.event").count()`,
	`%s.unpaired("start").by("reason").agg(n = agg.count(), last = agg.last("start._pid"))`,
	`%s.unpaired("end").log()`,
}
