package host

import (
	"errors"
	"fmt"

	b "ppscript/builtins"
	"ppscript/runtime/script"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

func sum() *b.Builtin {
	amount := b.Or(b.Number, b.Is("duration"), b.Is("size"))
	return &b.Builtin{
		Name: "sum", Group: b.Hosted, Summary: "Adds up the numbers of a list.",
		Params: []b.Param{
			{Name: "values", Type: b.Elements, Required: true, Doc: "numbers, durations or sizes, all of one kind"},
			{Name: "start", Type: amount, Default: starlark.MakeInt(0), Doc: "the value to which they are added; the result if there are no values"},
		},
		Returns: "as values", Result: "the sum; a start of 0 adds to values of each kind",
		Errors: "a value is neither number, duration nor size; kinds that do not add up; a sum beyond 64 bits of a duration or size",
		Source: source, Cost: "20 ns for each value",
		Examples: []b.Example{
			{Code: "sum([1, 2, 3])", Output: "6"},
			{Code: "sum([d for d in (2 * ms, 500 * us)])", Output: "2.5ms"},
			{Code: "sum([], 0 * ms)", Output: "0ns"},
		},
		Native: &frontend.Native{Returns: frontend.AsFirst, Compile: (*frontend.NativeCall).Sum, Pure: true},
		Impl: func(c *b.Call) (starlark.Value, error) {
			total, err := sumOf(c.Value("values").(starlark.Iterable), c.Value("start"))
			if err != nil {
				return nil, c.Error("values", err, "")
			}
			return total, nil
		},
	}
}

var errSummand = errors.New("want a number, duration or size")

// sumOf adds values to start. A start of 0 can be added to values of any kind.
func sumOf(values starlark.Iterable, start starlark.Value) (starlark.Value, error) {
	total, count := start, 0
	add := starlark.Binary
	if _, ok := values.(*frontend.StateList); ok {
		add = script.CheckedBinary // with the checks of arithmetic in a fold's functions
	}
	for v := range starlark.Elements(values) {
		if count++; count > script.MaxElements {
			return nil, fmt.Errorf("more than %d values", script.MaxElements)
		}
		switch v.(type) {
		case starlark.Int, starlark.Float, value.Duration, value.Size:
		default:
			return nil, fmt.Errorf("value %d is a %s, %w", count, v.Type(), errSummand)
		}

		if n, ok := total.(starlark.Int); ok && n.Sign() == 0 {
			total = v
			continue
		}
		next, err := add(syntax.PLUS, total, v)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", count, err)
		}
		total = next
	}
	return total, nil
}
