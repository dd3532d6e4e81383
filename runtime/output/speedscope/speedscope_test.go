package speedscope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

func write(t *testing.T, s *result.Stacks, o Options) file {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, o); err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// Samples have their value and their number, outermost frame first behind the keys.
func TestWrite(t *testing.T) {
	inner := &result.Frame{Symbol: "inner", File: "a.c", Line: 7}
	outer := &result.Frame{Symbol: "outer", DSO: "/bin/a"}
	s := &result.Stacks{Value: "cpu", Unit: unit.US, Samples: []result.StackSample{
		{Key: []event.Value{event.StrOf("a")}, CallStack: result.StackOf(inner, outer), Count: 3, Value: 3000},
		{Key: []event.Value{event.StrOf("a")}, CallStack: result.StackOf(outer), Count: 1, Value: 0},
		{Count: 2, Value: 5},
	}}
	f := write(t, s, Options{Remarks: "lost=4", About: "on a\nhost",
		Keys: func(_ *result.Stacks, x *result.StackSample) (names []string) {
			for _, v := range x.Key {
				names = append(names, v.String())
			}
			return names
		}})
	got, want := fmt.Sprint(f.Shared.Frames), "[{a  0} {outer /bin/a 0} {inner a.c 7} {[no stack]  0}]"
	if got != want {
		t.Errorf("frames: got %s, want %s", got, want)
	}
	got = fmt.Sprint(f.Profiles)
	want = "[{sampled cpu (lost=4) nanoseconds 0 3005 [[0 1 2] [3]] [3000 5]} " +
		"{sampled samples (lost=4) none 0 6 [[0 1 2] [0 1] [3]] [3 1 2]}]"
	if got != want {
		t.Errorf("profiles: got\n%s, want\n%s", got, want)
	}
	if f.Name != `on a\nhost` || f.Schema != schema {
		t.Errorf("got name %q, schema %q", f.Name, f.Schema)
	}
}

// A file without samples is one that the viewer can open, and large numbers stay.
func TestWriteNothing(t *testing.T) {
	f := write(t, &result.Stacks{}, Options{})
	if p := f.Profiles; len(p) != 1 || p[0].Samples == nil || p[0].Weights == nil || p[0].End != 0 {
		t.Errorf("got %+v, want one profile without samples", f.Profiles)
	}
	f = write(t, &result.Stacks{Samples: []result.StackSample{{Count: math.MaxInt64}}}, Options{})
	if got := f.Profiles[0].Weights[0]; got != math.MaxInt64 {
		t.Errorf("got weight %d, want %d", got, int64(math.MaxInt64))
	}
}
