// Package matrix runs every profiler of stdlib/ in every way that all of them
// share: attached to CPUs, processes, threads, cgroups and a command, over
// intervals, by thread, as text, JSON and CSV, into a file, over a recording, as
// the source of another. Tests beside each profiler and in tests/oracle show
// that it works and that its numbers are right. This package shows that no way
// is forgotten, and that a profiler does not silently ignore one.
//
// rows_test.go is the table: how each profiler is started for the target, and
// the number of events of the target that it must see. A profiler without a row
// fails the test, and so does a way that is left out without a reason.
package matrix

import (
	"testing"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
