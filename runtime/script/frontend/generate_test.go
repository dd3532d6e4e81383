package frontend

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// This file makes random functions for TestRandomFunctions and TestRandomFolds.

// A gen writes one function.
type gen struct {
	r     *rand.Rand
	vars  map[string]string // kind of each variable
	state map[string]string // kind of each member, in a step function
	depth int
}

func (g *gen) pick(list ...string) string { return list[g.r.IntN(len(list))] }

// variables lists the variables of a kind.
func (g *gen) variables(kind string) (names []string) {
	for _, n := range []string{"a", "b", "c", "d"} {
		if g.vars[n] == kind {
			names = append(names, n)
		}
	}
	for _, n := range []string{"n", "m", "since", "took", "on", "name"} {
		if g.state[n] == kind {
			names = append(names, "s."+n)
		}
	}
	return names
}

// expr is an expression of a kind: int, dur, time, text or bool.
func (g *gen) expr(kind string) string {
	if g.depth++; g.depth > 4 {
		g.depth--
		return g.leaf(kind)
	}
	defer func() { g.depth-- }()
	if g.r.IntN(4) == 0 {
		return g.leaf(kind)
	}
	if g.r.IntN(8) == 0 {
		return "(" + g.expr(kind) + " if " + g.expr("bool") + " else " + g.expr(kind) + ")"
	}
	x := func(k string) string { return g.expr(k) }
	switch kind {
	case "int":
		switch g.r.IntN(13) {
		case 11:
			if g.state != nil {
				return "s.c[" + g.index() + "]"
			}
		case 12:
			if g.state != nil {
				return g.pick("sum", "min", "max", "len") + "(s.c)"
			}
		case 8:
			return "half(" + x("int") + ", " + x("int") + ")"
		case 9:
			return "level(e, " + x("bool") + ")"
		case 10:
			if g.state != nil {
				return "bump(s, " + x("int") + ")"
			}
		case 0:
			return "(log2(" + x("int") + ") + len(" + x("text") + "))"
		case 1:
			return "min(" + x("int") + ", " + x("int") + ")"
		case 2:
			return "(-" + g.leaf("int") + ")"
		case 3:
			return "(" + x("dur") + ").ns"
		case 5:
			return x("text") + g.pick(".find(", ".rfind(") + x("text") + ")"
		case 4:
			return "DICT.get(" + x("int") + ", " + fmt.Sprint(g.r.IntN(9)) + ")"
		}
		return "(" + x("int") + g.pick(" + ", " - ", " * ", " // ", " % ", " & ", " | ", " ^ ", " >> 3 + ") +
			x("int") + ")"
	case "dur":
		switch g.r.IntN(4) {
		case 0:
			return "(" + x("time") + " - " + x("time") + ")"
		case 1:
			return "(" + x("dur") + " * " + x("int") + ")"
		}
		return "(" + x("dur") + g.pick(" + ", " - ", " % ") + x("dur") + ")"
	case "time":
		return "(" + x("time") + g.pick(" + ", " - ") + x("dur") + ")"
	case "text":
		switch g.r.IntN(8) {
		case 2:
			return x("text") +
				g.pick(".lower()", ".upper()", ".strip()", ".rstrip('hx')", ".removeprefix('ba')")
		case 3:
			return x("text") + "[" + x("int") + ":" + x("int") + "]"
		case 4:
			return "(" + x("text") + " + e.comm)[" + x("int") + "]"
		case 5:
			return "(" + x("text") + " + e.comm).split(" + g.pick(`"a"`, `"12"`) + ")[" +
				g.pick("0", "1", "-1") + "]"
		case 6:
			return "(" + x("text") + g.pick(" or ", " and ") + x("text") + ")"
		case 7:
			return `("%d %s" % (` + x("int") + ", " + x("text") + "))"
		case 0:
			return "str(" + x("int") + ")"
		case 1:
			return x("text") + "[" + g.pick("1:", ":2", "-3:", "1:-1") + "]"
		}
		return "(" + x("text") + " + " + x("text") + ")"
	}
	switch g.r.IntN(6) {
	case 0:
		return "(" + x("bool") + g.pick(" and ", " or ") + x("bool") + ")"
	case 1:
		return "(not " + x("bool") + ")"
	case 2:
		return "(" + x("text") + g.pick(" == ", " != ", " < ", " in ") + x("text") + ")"
	case 3:
		return "(" + x("dur") + g.pick(" < ", " >= ", " == ") + x("dur") + ")"
	case 4:
		return "(" + x("int") + g.pick(" in ", " not in ") + "(1, 120, -5))"
	}
	return "(" + x("int") + g.pick(" < ", " <= ", " == ", " != ", " > ") + x("int") + ")"
}

func (g *gen) leaf(kind string) string {
	if known := g.variables(kind); known != nil && g.r.IntN(2) == 0 {
		return g.pick(known...)
	}
	switch kind {
	case "int":
		return g.pick("e.pid", "e.prio", "e.flags", "e.cpu", "0", "1", "7", "120", "1000003", "LIMIT")
	case "dur":
		return g.pick("e.wait", "(5 * us)", "(2000 * ms)", "(0 * us)")
	case "time":
		return "e.time"
	case "text":
		return g.pick("e.comm", `"ba"`, `"x"`, `""`, "e.name")
	}
	return g.pick("e.pid > 0", "e.cpu == 1", "True", "e.comm == \"bash\"", "e.flags > 2")
}

var kinds = []string{"int", "dur", "time", "text", "bool"}

func (g *gen) block(depth int, indent string, returns string) string {
	var b strings.Builder
	for range 1 + g.r.IntN(3) {
		b.WriteString(g.stmt(depth, indent, returns))
	}
	return b.String()
}

func (g *gen) stmt(depth int, indent, returns string) string {
	k := g.pick(kinds...)
	switch n := g.r.IntN(10); {
	case n < 2 && depth < 3:
		cond := g.expr("bool")
		saved := g.copyVars()
		yes := g.block(depth+1, indent+"    ", returns)
		g.vars = saved
		if g.r.IntN(2) == 0 {
			return indent + "if " + cond + ":\n" + yes
		}
		saved = g.copyVars()
		no := g.block(depth+1, indent+"    ", returns)
		g.vars = saved
		return indent + "if " + cond + ":\n" + yes + indent + "else:\n" + no
	case n == 2 && depth < 2:
		saved := g.copyVars()
		body := g.block(depth+1, indent+"    ", returns)
		g.vars = saved
		return indent + "for i in range(3):\n" + indent + "    if " + g.expr("bool") + ":\n" + indent +
			"        " +
			g.pick("break", "continue") + "\n" + body
	case n == 3 && depth > 0:
		if returns == "" {
			return indent + "return\n"
		}
		return indent + "return " + g.expr(returns) + "\n"
	case n == 4 && g.variables("int") != nil:
		return indent + g.pick(g.variables("int")...) + g.pick(" += ", " -= ", " *= ") + g.expr("int") + "\n"
	case n >= 7 && g.state != nil:
		return g.stateStmt(indent)
	}
	v := g.pick("a", "b", "c", "d")
	// A variable has one kind, or Starlark itself would be surprised.
	if old, ok := g.vars[v]; ok {
		k = old
	}
	text := indent + v + " = " + g.expr(k) + "\n"
	g.vars[v] = k
	return text
}

func (g *gen) stateStmt(indent string) string {
	if g.r.IntN(3) == 0 {
		return indent + "emit(i = " + g.expr("int") + ", d = " + g.expr("dur") + ", t = " + g.expr("text") +
			", b = " +
			g.pick("e.pid > 0", "e.cpu == 1", "True") + ")\n"
	}
	m := g.pick("n", "m", "since", "took", "on", "name", "c", "c")
	if m == "c" {
		return g.listStmt(indent)
	}
	if m == "on" {
		return indent + "s.on = " + g.pick("True", "False", "e.pid > 3", "not s.on") + "\n"
	}
	if m == "since" && g.r.IntN(3) == 0 {
		return indent + "s.since = 0\n"
	}
	return indent + "s." + m + " = " + g.expr(g.state[m]) + "\n"
}

func (g *gen) copyVars() map[string]string {
	m := map[string]string{}
	for k, v := range g.vars {
		m[k] = v
	}
	return m
}
