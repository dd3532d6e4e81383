package tracedat

import (
	"fmt"
	"slices"
	"testing"
)

// A stack is of the record before it on its CPU, also across pages and chunks; one
// that is of another thread, or of nothing, stays a record.
func TestStacksAreOfTheRecordBefore(t *testing.T) {
	const format = "name: kernel_stack\nID: 4\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n" +
		"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
	stack := func(tid uint32, callers ...uint64) []byte {
		return append(append(words(4, tid), words(uint32(len(callers)), 0)...), longs(callers...)...)
	}
	for _, algorithm := range []string{"none", "zstd"} {
		b := &built{algorithm: algorithm, cpus: [][]byte{
			slices.Concat(
				pageOf(1000, 0, record(0, stack(9, 1)),
					record(1, entry(7)), record(1, stack(7, 2, 3, ^uint64(0))), record(1, entry(8)),
					record(1, stack(7, 4)), record(1, entry(7, 1, 1, 1, 1))),
				pageOf(2000, 0, record(0, stack(7, 5))),
				pageOf(3000, 0, record(0, entry(6))),
				pageOf(4000, commitMissed, record(0, stack(6, 7))),
			),
			pageOf(1002, 0, record(0, entry(20)), record(3, stack(20, 6))),
		}}
		f, err := Parse(b.bytes(t))
		if err != nil {
			t.Fatal(err)
		}
		if f.HasStacks() {
			t.Error("got stacks, want none: no format has them")
		}
		f.Formats = append(f.Formats, Format{"ftrace", format})
		if !f.HasStacks() {
			t.Error("got no stacks, want some")
		}
		r := f.Reader()
		r.WithStacks()
		var got []string
		for rec := (Record{}); r.Next(&rec); {
			if rec.Missed > 0 {
				got = append(got, "gap")
				continue
			}
			s := fmt.Sprintf("%d tid%d id%d", rec.Time, rec.TID(), rec.ID())
			for at := 0; at < len(rec.Stack); at += 8 {
				s += fmt.Sprint(" ", le.Uint64(rec.Stack[at:]))
			}
			got = append(got, s)
		}
		r.Close()
		want := []string{
			"1000 tid9 id4", "1001 tid7 id5 2 3", "1002 tid20 id5 6", "1003 tid8 id5", "1004 tid7 id4",
			"1005 tid7 id5 5", "3000 tid6 id5", "gap", "4000 tid6 id4",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", algorithm, got, want)
		}
	}
}
