package result

import "testing"

func TestStacksByWeight(t *testing.T) {
	s := Stacks{Samples: []StackSample{{PID: 1, Count: 2, Value: 70}, {PID: 2, Count: 9, Value: 1}, {PID: 3, Count: 2, Value: 30}}}
	order := func() (pids [3]int32) {
		s.Sort()
		for i := range s.Samples {
			pids[i] = s.Samples[i].PID
		}
		return pids
	}
	if got, want := order(), [3]int32{2, 1, 3}; got != want {
		t.Errorf("by count: got %v, want %v", got, want)
	}
	s.Value = "bytes"
	if got, want := order(), [3]int32{1, 3, 2}; got != want {
		t.Errorf("by value: got %v, want %v", got, want)
	}
	if n, v := s.Total(); n != 13 || v != 101 {
		t.Errorf("got total %d and %d, want 13 and 101", n, v)
	}
	if s.Top(1); len(s.Samples) != 1 || s.Omitted != 2 || s.Samples[0].PID != 1 {
		t.Errorf("top 1: got %+v, %d omitted", s.Samples, s.Omitted)
	}
	if n, v := s.Total(); n != 13 || v != 101 {
		t.Errorf("after top: got total %d and %d, want that of all, 13 and 101", n, v)
	}
	if s.Top(5); s.Omitted != 2 {
		t.Errorf("top 5 of one: got %d omitted, want 2", s.Omitted)
	}
}
