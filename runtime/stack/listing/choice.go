package listing

import (
	"ppscript/runtime/result"
	"ppscript/runtime/stack/symbol"
)

// Choice says which function to list, and how.
type Choice struct {
	Function string // a pattern; "" is the one with most samples
	Lines    bool   // by source line, else by instruction
	// Sources are directories with source files: see Sources.
	Sources []string
	// Context is the number of rows shown around rows with samples; -1 means
	// all.
	Context int
}

// Table lists the chosen function from counted stacks. read reads the code of a frame's function,
// and say tells the user about missing parts. An interval without samples of the function has no
// table; if it is the only interval, that is an error.
func (w *Choice) Table(all *result.Stacks, read func(*result.Frame) (symbol.Code, error),
	say func(text string) (news bool)) (*result.Table, error) {
	of, others, err := choose(functions(all), w.Function)
	if err != nil {
		if all.Final && all.Seq <= 1 {
			return nil, err
		}
		say(err.Error())
		return nil, nil
	}
	if others > 0 {
		say("more functions have that name: listed is the one with most samples, " + of.label())
	}
	code, err := read(of.frame)
	if err != nil {
		say("the code of " + of.label() + " is not known: " + err.Error())
		code.Bytes = nil
	}
	l := &Listing{of: of, code: code, all: all, context: w.Context, sources: Sources{Dirs: w.Sources}}
	if w.Lines {
		return l.byLine(all.Meta), nil
	}
	return l.instructions(all.Meta), nil
}
