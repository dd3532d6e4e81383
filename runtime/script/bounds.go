package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// This file bounds the result of one operation of a script. Starlark counts
// steps, but a step may make a list of 10^9 elements, and Go ends the process
// when there is no memory for it. So the size of a result is checked first for
// operators and functions whose result may be much larger than their operands
// (guard.go inserts the checks). Growth in many steps is left to the watchdog
// (memory.go).
//
// The bounds are far beyond the needs of a script that looks at results.
const (
	MaxText     = 64 << 20 // bytes of one text
	MaxElements = 2 << 20  // elements of a list, tuple, dict or set made by one operation
	maxDepth    = 1000     // nesting of lists
	maxBits     = 1 << 16  // bits of an int
	maxDigits   = 20_000   // digits of a text that becomes an int
)

// errNested is the error for a value that is nested too deeply to be walked.
var errNested = fmt.Errorf("lists are nested more than %d deep, or one is in itself", maxDepth)

func tooLong(n, most int, what string) error {
	return fmt.Errorf("too large: %d %s, at most %d are possible", n, what, most)
}

// bounded checks x op y before it is computed.
func bounded(op syntax.Token, x, y starlark.Value) error {
	switch op {
	case syntax.STAR:
		if a, ok := x.(starlark.Int); ok {
			if b, ok := y.(starlark.Int); ok {
				return boundedInts(a, b)
			}
			x, y = y, x
		}
		n, ok := y.(starlark.Int)
		if !ok {
			return nil
		}
		return boundedRepeat(x, n)
	case syntax.PERCENT:
		format, ok := x.(starlark.String)
		if !ok {
			return nil
		}
		if _, isDict := y.(*starlark.Dict); isDict {
			return boundedFormat(string(format), '%', []starlark.Value{y})
		}
		return boundedTexts(len(format), y)
	case syntax.LTLT:
		a, isInt := x.(starlark.Int)
		n, err := starlark.AsInt32(y)
		if isInt && err == nil && n > 0 && n < 512 && a.BigInt().BitLen()+n > maxBits {
			return tooLong(a.BigInt().BitLen()+n, maxBits, "bits")
		}
	case syntax.PLUS:
		switch x.(type) {
		case starlark.String, starlark.Bytes:
			if n := starlark.Len(x) + starlark.Len(y); n > MaxText {
				return tooLong(n, MaxText, "bytes")
			}
		case *starlark.List, starlark.Tuple:
			if n := starlark.Len(x) + starlark.Len(y); n > MaxElements {
				return tooLong(n, MaxElements, "elements")
			}
		}
	}
	return nil
}

func boundedInts(a, b starlark.Int) error {
	if _, ok := a.Int64(); ok {
		if _, ok := b.Int64(); ok {
			return nil
		}
	}
	if n := a.BigInt().BitLen() + b.BigInt().BitLen(); n > maxBits {
		return tooLong(n, maxBits, "bits")
	}
	return nil
}

func boundedRepeat(x starlark.Value, n starlark.Int) error {
	most, what := MaxElements, "elements"
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		most, what = MaxText, "bytes"
	case *starlark.List, starlark.Tuple:
	default:
		return nil
	}
	size := starlark.Len(x)
	if size == 0 || n.Sign() <= 0 {
		return nil
	}
	if times, ok := n.Int64(); !ok || times > int64(most/size) {
		return fmt.Errorf("too large: %d times %s %s, at most %d are possible", size, n, what, most)
	}
	return nil
}

// boundedLen checks the number of elements of a value that a function would
// iterate over.
func boundedLen(v starlark.Value) error {
	n := starlark.Len(v)
	switch v.(type) {
	case starlark.String, starlark.Bytes:
		if n > MaxText {
			return tooLong(n, MaxText, "bytes")
		}
		return nil
	}
	if n > MaxElements {
		return tooLong(n, MaxElements, "elements")
	}
	return nil
}

// boundedTexts checks that values can be written into one text, which has a
// number of bytes already: that it does not get too long, and that the values
// are not nested too deeply.
func boundedTexts(already int, values ...starlark.Value) error {
	m := measure{remaining: MaxText - already, visits: maxVisits}
	for _, v := range values {
		if err := m.value(v, 0); err != nil {
			return err
		}
	}
	return nil
}

// members returns the values of a struct.
func members(s *starlarkstruct.Struct) []starlark.Value {
	var list []starlark.Value
	for _, name := range s.AttrNames() {
		if v, err := s.Attr(name); err == nil {
			list = append(list, v)
		}
	}
	return list
}

// Walkable returns an error if a value cannot be walked, for example to print
// it: it is nested too deeply, or its text would be too long.
func Walkable(v starlark.Value) error { return boundedTexts(0, v) }

// TextOf returns the text of a value; an error if the value cannot be walked.
func TextOf(v starlark.Value) (string, error) {
	if err := boundedTexts(0, v); err != nil {
		return "", err
	}
	return v.String(), nil
}

// boundedFormat checks the result of a template, in which a value may be used
// several times.
func boundedFormat(format string, mark byte, values []starlark.Value) error {
	fields, largest := 0, 0
	for i := range len(format) {
		if format[i] == mark {
			fields++
		}
	}
	for _, v := range values {
		m := measure{remaining: MaxText - len(format), visits: maxVisits}
		if err := m.value(v, 0); err != nil {
			return err
		}
		largest = max(largest, MaxText-len(format)-m.remaining)
	}
	if fields > 0 && largest > (MaxText-len(format))/fields {
		return tooLong(len(format)+fields*largest, MaxText, "bytes")
	}
	return nil
}

// A measure counts the least number of bytes in the texts of values, until
// remaining is used up.
type measure struct{ remaining, visits int }

// maxVisits bounds the visited values: with a list that has the same list
// twice, which has another one twice, and so on, there are exponentially many.
const maxVisits = 2 * MaxElements

var errLongText = errors.New("too large: the text would have more than " + fmt.Sprint(MaxText) +
	" bytes, or too many parts")

func (m *measure) value(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.String:
		m.remaining -= len(v)
	case starlark.Bytes:
		m.remaining -= len(v)
	case starlark.Int:
		m.remaining--
		if _, ok := v.Int64(); !ok {
			m.remaining -= v.BigInt().BitLen() / 4
		}
	case *starlark.Dict:
		if depth++; depth > maxDepth {
			return errNested
		}
		for _, kv := range v.Items() {
			for _, x := range kv {
				if err := m.value(x, depth); err != nil {
					return err
				}
			}
		}
	case *starlark.List, starlark.Tuple, *starlark.Set:
		if depth++; depth > maxDepth {
			return errNested
		}
		m.remaining--
		for x := range starlark.Elements(v.(starlark.Iterable)) {
			if err := m.value(x, depth); err != nil {
				return err
			}
		}
	case *starlarkstruct.Struct:
		if depth++; depth > maxDepth {
			return errNested
		}
		for _, x := range members(v) {
			m.remaining--
			if err := m.value(x, depth); err != nil {
				return err
			}
		}
	default:
		m.remaining--
	}
	if m.visits--; m.remaining < 0 || m.visits < 0 {
		return errLongText
	}
	return nil
}

// maxWalk bounds the lists and tuples that are visited in one value. With a
// tuple that has the same tuple twice, and so on, there are exponentially many.
const maxWalk = 8 << 20

// nested reports that v cannot be walked: its lists, tuples, dicts and sets are
// nested deeper than most, or contain themselves. It is not recursive, and
// visits a list once for each depth at which it occurs.
func nested(v starlark.Value, most int) bool {
	type place struct {
		v     starlark.Value
		depth int
	}
	deepest := map[starlark.Value]int{} // depth of values, which are compared by identity
	todo := []place{{v, 1}}
	for n := 0; len(todo) > 0; n++ {
		if n > maxWalk {
			return true
		}
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch p.v.(type) {
		case *starlark.List, *starlark.Dict, *starlark.Set:
			if deepest[p.v] >= p.depth {
				continue
			}
			deepest[p.v] = p.depth
		case starlark.Tuple, *starlarkstruct.Struct:
		default:
			continue
		}
		if p.depth > most {
			return true
		}
		add := func(x starlark.Value) {
			switch x.(type) {
			case *starlark.List, *starlark.Dict, *starlark.Set, starlark.Tuple, *starlarkstruct.Struct:
				todo = append(todo, place{x, p.depth + 1})
			}
		}
		switch v := p.v.(type) {
		case *starlark.Dict:
			for k, x := range v.Entries() {
				add(k)
				add(x)
			}
			continue
		case *starlarkstruct.Struct:
			for _, x := range members(v) {
				add(x)
			}
			continue
		}
		for x := range starlark.Elements(p.v.(starlark.Iterable)) {
			add(x)
		}
	}
	return false
}
