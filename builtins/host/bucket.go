package host

import (
	"errors"
	"math"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/native"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

func bucket() *b.Builtin {
	amount := b.Or(b.Int, b.Is("duration"), b.Is("size"))
	return &b.Builtin{
		Name:    "bucket",
		Group:   b.Hosted,
		Summary: "The lower bound of the bucket that a number falls into.",
		Params: []b.Param{
			{Name: "x", Type: amount, Required: true, Doc: "a number, duration or size"},
			{Name: "width", Type: b.Or(b.Int, b.Duration, b.Size), Like: "x", Doc: "width of the buckets; none: powers of two"},
		},
		Returns: "as x",
		Result:  "a multiple of width, or a power of two, and 0 below 1",
		Errors:  "width is of another kind, or below 1",
		Source:  source,
		Cost:    nativeCost,
		Examples: []b.Example{
			{Code: "bucket(700 * us)", Output: "524.288us"}, {Code: "bucket(1234, 100)", Output: "1200"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			x := c.Value("x")
			n, wrap := number(x)
			width := int64(0)
			if c.Has("width") {
				w := c.Value("width")
				if width, _ = number(w); width < 1 {
					return nil, c.Errorf("width", "got %s, want more than 0", w)
				}
			}
			low, err := bucketOf(n, width)
			return wrap(low), err
		},
		Native: &frontend.Native{Returns: frontend.AsFirst, Compile: compileBucket},
	}
}

func compileBucket(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
	if c.Len() < 1 || c.Len() > 2 || !c.Signed(0) || c.Unit(0) == event.Moment {
		return v, false
	}
	unit, width := c.Unit(0), int64(0)
	if c.Len() == 2 {
		if width, ok = c.ConstInt(1); !ok || width < 1 || c.Unit(1) != unit {
			return v, false
		}
	}

	n, err := expr.NewNative(expr.Native{Name: "bucket", T: expr.TInt,
		Args: []expr.Node{c.Node(0)}, Data: width, HostOnly: "it has Go code only",
		Int1: func(f *expr.Frame, x int64) int64 {
			low, err := bucketOf(x, width)
			if err != nil {
				f.Fail(expr.ErrOverflow)
			}
			return low
		}})
	if err != nil {
		return c.Of(n, err)
	}
	return c.Measured(n, unit)
}

var errBucket = errors.New("the bucket begins below what 64 bits can hold")

// bucketOf returns the lower bound of the bucket that contains x. Width 0 means
// powers of two, with 0 for x below 1.
func bucketOf(x, width int64) (int64, error) {
	switch {
	case width == 0 && x < 1:
		return 0, nil
	case width == 0:
		return 1 << native.PowerOf(x), nil
	}

	low := x / width * width
	if x%width < 0 {
		if low < math.MinInt64+width {
			return 0, errBucket
		}
		low -= width // Go rounds towards 0
	}
	return low, nil
}

// number returns a number, duration or size as an integer in its base unit, and
// a function that converts such an integer back to the same kind.
func number(v starlark.Value) (int64, func(int64) starlark.Value) {
	switch v := v.(type) {
	case value.Duration:
		return int64(v), func(n int64) starlark.Value { return value.Duration(n) }
	case value.Size:
		return int64(v), func(n int64) starlark.Value { return value.Size(n) }
	case starlark.Int:
		n, _ := v.Int64()
		return n, func(n int64) starlark.Value { return starlark.MakeInt64(n) }
	}
	return 0, func(n int64) starlark.Value { return starlark.MakeInt64(n) }
}
