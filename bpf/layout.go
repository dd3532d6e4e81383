package bpf

import (
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file settles where the rows of tables keep their keys.

// columnsOf computes the layout of a key from all feeds of its table or fold.
func columnsOf(feeds []keyExprs) (cols []load.Column, size int) {
	for i := range feeds[0].keys {
		col := load.Column{Off: size}
		for k, f := range feeds {
			n := f.keys[i]
			bytes := len(arrayOf(f, n)) > 0
			switch now, _ := n.(*expr.Field); {
			case now != nil && hook.IsTime(now):
				refuse("key %s is the time: each event would have a row of its own", n)
			case hook.IsStack(n):
				col.Stack, col.Size = true, load.StackKey
				stackOf(f.source.Event, n)
				f.source.stacked = true
			case bytes:
				col.Text, col.Bytes = true, now.F.Size
				col.Size = eval.Pad(col.Bytes)
			case n.Type().Kind == expr.Str:
				col.Text, col.Size = true, max(col.Size, f.env.Room(n))
			case n.Type().Numeric():
				col.Size = 8
			default:
				refuse("key %s is a %s", n, n.Type())
			}
			if k > 0 && (col.Text != (n.Type().Kind == expr.Str) || col.Stack != hook.IsStack(n)) {
				refuse("key %s has two kinds", n)
			}
			if k > 0 && (bytes != (col.Bytes > 0) || bytes && col.Bytes != n.(*expr.Field).F.Size) {
				refuse("key %s has two kinds", n)
			}
		}
		size += col.Size
		cols = append(cols, col)
	}
	if size == 0 {
		size = 8 // one row: key 0
	}
	return cols, size
}

// longestKey bounds keys before 5.11, as the stack does there.
const longestKey = 512

// checkKey refuses a key that is longer than maps of this kernel have.
func checkKey(host *Host, size int) {
	if size > longestKey && !host.LongKeys {
		refuse("a key of %d bytes: up to Linux 5.10 it has at most %d", size, longestKey)
	}
}

// arrayOf are the elements of the array of an event that is a key of what the event itself feeds, such as an
// IP address; none of other keys.
func arrayOf(f keyExprs, n expr.Node) []*event.Field {
	x, ok := n.(*expr.Field)
	if !ok || f.env != (eval.Env{}) {
		return nil
	}
	return eval.ElementsOf(f.source.Event.Schema, x)
}

// textRooms is the size of the texts of each argument of a table; 0 for numbers.
func textRooms(feeds []keyExprs, args int) []int {
	rooms, numbers := make([]int, args), make([]bool, args)
	for i := range rooms {
		for _, f := range feeds {
			a := &f.args[i]
			switch {
			case a.off || a.fn == nil:
			case a.fn.Type().Kind == expr.Str && !hook.IsStack(a.fn):
				rooms[i] = max(rooms[i], f.env.Room(a.fn))
			case a.fn.Type().Numeric() && !hook.IsStack(a.fn):
				numbers[i] = true
			default:
				refuse("an aggregate of a %s", a.fn.Type())
			}
		}
		if rooms[i] > 0 && numbers[i] {
			refuse("an aggregate of numbers and texts")
		}
	}
	return rooms
}

// keyExprs holds the expressions of a key, for one source or for events that are derived from it.
type keyExprs struct {
	source *source
	env    eval.Env
	keys   []expr.Node
	args   []arg
}
