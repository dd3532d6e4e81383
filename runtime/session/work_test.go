package session

import (
	"testing"

	"ppscript/runtime/plan"
)

// TestWorkEndsWithTheRun checks that work beside a run has ended when the run has.
func TestWorkEndsWithTheRun(t *testing.T) {
	began, ended := make(chan struct{}), false
	p := &plan.Plan{Operators: []plan.Operator{&plan.Busy{Work: func(stop <-chan struct{}) {
		close(began)
		<-stop
		ended = true
	}}}}
	end := work(p)
	<-began
	end()
	if !ended {
		t.Error("got work that goes on")
	}
}
