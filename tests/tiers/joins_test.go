package tiers

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// relating are joins of all kinds whose pairs do not depend on an engine's clock: by
// several columns, in a circle, of more than two stages, with events that start and end
// nothing.
const relating = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")

by_tuple = join([enter], [exit], key = lambda e: (e._tid, e.id))
by_text = join([enter], [exit], key = lambda e: (e._comm, e.id % 2, e._tid))
circle = join([enter], [exit], key = "_tid", cycle = True)
alone = join([enter], key = lambda e: (e.id, e._pid), cycle = True)
three = join([enter.where("id != 110")], [exit], [enter], key = "_tid")
four = join([enter], [exit], [enter.where("id % 2")], [exit], key = lambda e: (e._tid, 0), cycle = True)
first, second = enter.role("id == 110 ? 1 : 3"), enter.role("id % 3")
parts = join([first], [second], [exit.role("ret < 0 ? 2 : 1")], key = "_tid", cycle = True)
crossed = join([enter], [exit], key = "id")
odd = join([enter.where("id != 110")], [exit.where("id % 2 == 0")], key = "_tid")
beside = join([enter], [exit, tracepoint("sched:sched_switch").untraced()], key = "_tid")
`

// Parts of random plans with these joins.
var (
	relations      = []string{"by_tuple", "by_text", "circle", "alone", "three", "four", "parts", "beside"}
	relationsWhere = []string{
		`"start.id == 110"`, `"end.id != 110"`, `"delay > 1"`, `"start.id % 3 == end.id % 3"`,
	}
	relationsInside = []string{
		`%s.by(nr = "start.id", next = "end.id").count()`,
		`%s.agg(n = agg.count(), least = agg.min("start.id"), most = agg.max("end.id"))`,
	}
	relationsOutside = []string{
		`%s.by(nr = "start.id").agg(n = agg.count(), last = agg.last("end.id"), seen = agg.distinct("end.id"))`,
		`%s.by(who = "end._tid").agg(n = agg.count(), some = agg.distinct("start.id"))`,
		`%s.log()`,
	}
)

// randomRelations returns a script with some of these joins.
func randomRelations(r *rand.Rand, joins, outside []string) string {
	var results []string
	add := func(forms []string) {
		s := joins[r.Intn(len(joins))]
		for range r.Intn(3) {
			s += ".where(" + relationsWhere[r.Intn(len(relationsWhere))] + ")"
		}
		results = append(results, fmt.Sprintf(forms[r.Intn(len(forms))], s))
	}
	for range r.Intn(3) {
		add(relationsInside)
	}
	for range r.Intn(3) {
		add(outside)
	}
	if len(results) == 0 {
		add(outside)
	}
	return relating + "\ndef main(o):\n    return [\n        " + strings.Join(results, ",\n        ") +
		",\n    ]\n"
}

// Results of events that stay without a partner.
var unpairedResults = []string{
	`%s.unpaired().by("reason", nr = "start.id", who = "start._tid").count()`,
	`%s.unpaired(waiting = True).where("start.id %% 3 != 1").by("reason", key = "start._pid").count()`,
	`%s.unpaired("start").where("age > 0 || start.id == 110").log()`,
	`%s.unpaired("end").agg(n = agg.count(), last = agg.last("start.id"), seen = agg.distinct("start.id"))`,
	`%s.unpaired().log()`,
}

// Events without a partner are the same as natively, for the same reasons.
func TestRandomUnpairedAgree(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	alone := append([]string{"crossed", "odd"}, relations...)
	agreeWhereCut(t, 12, func() string { return randomRelations(r, alone, unpairedResults) }, "joins")
}

// Results of nested calls.
var callsResults = []string{
	`calls.calls(times = False)`,
	`calls.by(node = "node", depth = "depth").agg(n = agg.count(), most = agg.max("end.id"))`,
	`calls.where("depth > 0").by("depth").agg(n = agg.count(), last = agg.last("start.id"), seen = agg.distinct("start.id"))`,
	`calls.where("self >= 0").log()`,
	`calls.by("depth", less = "self <= delay").count()`,
}

// randomCalls returns a script whose functions begin and end with system calls of some
// numbers. So they nest in all ways: within themselves, with missing returns, or without
// entries.
func randomCalls(r *rand.Rand, results []string) string {
	results = slices.Clone(results)
	n := 2 + r.Intn(3)
	ends := r.Perm(n)
	var functions []string
	for i := range n {
		entry := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter", alias = "f%d").where("id %% %d == %d")`,
			i, n, i)
		functions = append(functions, fmt.Sprintf(`[%s, exit.where("id %% %d == %d")]`, entry, n, ends[i]))
	}
	keys := []string{"", `, key = "_tid"`, `, key = "_cpu"`, `, key = "common_pid * 4 + 1"`, `, key = "_pid"`,
		`, key = lambda e: (e._comm, 7)`}
	key := keys[r.Intn(len(keys))]
	r.Shuffle(len(results), func(i, k int) { results[i], results[k] = results[k], results[i] })
	return relating + "\ncalls = join(" + strings.Join(functions, ", ") + key + `, impl = "nested")` +
		"\n\ndef main(o):\n    return [\n        " +
		strings.Join(results[:1+r.Intn(len(results))], ",\n        ") + ",\n    ]\n"
}

// Nested calls have the same pairs, depths and trees in programs as natively.
func TestRandomCallsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	agreeWhereCut(t, 14, func() string { return randomCalls(r, callsResults) }, "joins")
}

// Calls without a return, and returns without a call, are the same as natively.
func TestRandomUnpairedCallsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(10))
	var results []string
	for _, form := range unpairedResults {
		results = append(results, fmt.Sprintf(form, "calls"))
	}
	agreeWhereCut(t, 2, func() string { return randomCalls(r, results) }, "joins")
}

// Joins of all kinds give the same pairs in programs as natively, wherever a plan is cut.
func TestRandomJoinsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	agreeWhereCut(t, 12, func() string { return randomRelations(r, relations, relationsOutside) }, "joins")
}
