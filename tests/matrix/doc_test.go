// Package matrix runs every profiler of stdlib/ in every way that all of them
// share: attached to CPUs, processes, threads, cgroups and a command, over
// intervals, by thread, as text, JSON and CSV, into a file, over a recording, as
// the source of another. That each works at all, and that its numbers are right,
// is shown beside it or in tests/oracle; here it is that no way is forgotten, or
// ignored without a word.
//
// rows_test.go is the table: how each is asked about the target, and what the
// target does that must be seen, by number. A profiler without a row fails the
// test, as does a way that is left out without a reason.
package matrix

import (
	"testing"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
