package plan

import (
	"testing"

	"ppscript/runtime/source/probe"
)

func TestProbeOfOneProcess(t *testing.T) {
	s := ProbeSource(probe.Spec{Kind: probe.Uprobe, Name: "f", PID: 7})
	if got := s.FilterText(); got != "_pid == 7" {
		t.Errorf("got %q, want the process alone", got)
	}
	s.Filter = "arg1 || arg2"
	if got := s.FilterText(); got != "_pid == 7 && (arg1 || arg2)" {
		t.Errorf("got %q, want both", got)
	}
}
