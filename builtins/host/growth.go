package host

import (
	"ppscript/runtime/script"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// This file bounds the memory of states. Each call of a script's function has
// bounds of its own, but a state can grow a little in each of millions of calls.

// A growth checks the size of a state. It is called at each access of the state.
// To measure a large state takes long, so it is measured only after the heap has
// grown.
type growth struct {
	most     limits.Policy // Memory bounds the bytes of a state
	accesses int
	next     int64 // heap size, in bytes, at which to measure again
}

func (g *growth) bounded(s *state) error {
	if g.accesses++; g.accesses%16 != 0 {
		return nil
	}
	now := script.HeapInUse()
	if now < g.next {
		return nil
	}
	most := g.most.Whole().Memory
	g.next = now + most/4
	if sizeOf(s, most) <= most {
		return nil
	}
	return diag.Errorf(diag.Run, "state", s.names[0], "it holds more than %d MiB", most>>20).
		WithHint("keep less: what is counted for each event belongs in a pipeline, such as "+
			"stream.by(\"comm\").count(); %s", g.most.Raise(limits.Memory, unit.Size(2*most)))
}

// sizeOf returns the approximate size of a value in bytes. It stops when the
// size exceeds most.
func sizeOf(v starlark.Value, most int64) (bytes int64) {
	const word = 16 // an interface
	seen := map[starlark.Value]bool{}
	for stack := []starlark.Value{v}; len(stack) > 0 && bytes <= most; {
		v, stack = stack[len(stack)-1], stack[:len(stack)-1]
		bytes += word
		switch v.(type) {
		case *state, *starlark.List, *starlark.Dict, *starlark.Set, *starlarkstruct.Struct:
			if seen[v] {
				continue
			}
			seen[v] = true
		}
		switch v := v.(type) {
		case starlark.String:
			bytes += int64(len(v))
		case starlark.Bytes:
			bytes += int64(len(v))
		case starlark.Int:
			bytes += int64(v.BigInt().BitLen() / 8)
		case *state:
			stack = append(stack, v.vals...)
		case starlark.Tuple:
			stack = append(stack, v...)
		case *starlark.List:
			for i := range v.Len() {
				stack = append(stack, v.Index(i))
			}
		case *starlark.Dict:
			for key, x := range v.Entries() {
				stack = append(stack, key, x)
				bytes += 2 * word
			}
		case *starlark.Set:
			for x := range starlark.Elements(v) {
				stack = append(stack, x)
				bytes += word
			}
		case *starlarkstruct.Struct:
			for _, name := range v.AttrNames() {
				if x, err := v.Attr(name); err == nil {
					stack = append(stack, x)
				}
			}
		}
	}
	return bytes
}
