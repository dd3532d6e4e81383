package python

import (
	"testing"

	"ppscript/bpf/features"
	"ppscript/runtime/kernel"

	"ppscript/tests/testkit"
)

// The verifier takes the program.
func TestLoads(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	host, err := features.Find(kernel.Roots{})
	if err != nil {
		t.Skip(err)
	}
	r, err := Open(host)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
