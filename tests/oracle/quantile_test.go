package oracle

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// Quantiles and histograms from programs in the kernel agree with the exact
// values in a recording of the same calls: buckets exactly, quantiles within
// 0.8 %.
func TestKernelQuantilesAreExact(t *testing.T) {
	live(t)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file := filepath.Join(t.TempDir(), "perf.data")
	const event = "syscalls:sys_enter_lseek"
	pid := strconv.Itoa(os.Getpid())
	seeks := fmt.Sprintf(`tracepoint("%s").where("fd == %d")`, event, null.Fd())
	program := `[
		` + seeks + `.agg(n = agg.count(), p1 = agg.quantile("offset", 0.01),
			p50 = agg.quantile("offset", 0.5), p90 = agg.quantile("offset", 0.9), p99 = agg.quantile("offset", 0.99),
			least = agg.min("offset"), most = agg.max("offset"), total = agg.sum("offset"), mean = agg.avg("offset")),
		` + seeks + `.hist("offset"),
		` + seeks + `.hist("offset", low = 0, high = 1000000, step = 50000),
	]`
	counts := testkit.Start(t, testkit.PPScript(t), "--engine", "bpf", "--format", "json", "-v", "-p",
		pid, "-c", program)
	counts.WaitStderr(" open event")
	record := testkit.Start(t, testkit.PPScript(t), "record", "-v", "-e", event, "-p", pid, "-o", file)
	record.WaitStderr(" open event")
	for i := range int64(2000) {
		// Small ones and large ones.
		if _, err := unix.Seek(int(null.Fd()), i*i*i%1000003*(i%7+1), 0); err != nil {
			t.Fatal(err)
		}
	}
	out := counts.Stop().Want(t, 0).Stdout
	record.Stop().Want(t, 0)

	var exact []int64
	log := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c",
		`tracepoint("`+event+`").log()`).Want(t, 0).Stdout
	for _, e := range testkit.Events(t, log) {
		if fd, _ := strconv.Atoi(fmt.Sprint(e.Fields["fd"])); fd != int(null.Fd()) {
			continue
		}
		v, err := strconv.ParseInt(fmt.Sprint(e.Fields["offset"]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		exact = append(exact, v)
	}
	if len(exact) != 2000 {
		t.Fatalf("got %d calls in the recording, want 2000", len(exact))
	}
	slices.Sort(exact)
	row := testkit.Tables(t, out)[0].Rows[0]
	sum := int64(0)
	for _, v := range exact {
		sum += v
	}
	for name, want := range map[string]int64{
		"n": 2000, "least": exact[0], "most": exact[1999], "total": sum,
	} {
		if got := row.Int(t, name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	for name, q := range map[string]float64{"p1": 0.01, "p50": 0.5, "p90": 0.9, "p99": 0.99} {
		want := float64(exact[int(math.Ceil(q*2000))-1])
		if got := float64(row.Int(t, name)); math.Abs(got-want) > math.Abs(want)*0.008+1 {
			t.Errorf("%s: got %v, want %v within 0.8 %%", name, got, want)
		}
	}
	checked := 0
	type histogram struct {
		Rows []struct{ Buckets [][3]*int64 }
	}
	for _, h := range testkit.All[histogram](t, out, "histogram") {
		if len(h.Rows) != 1 {
			t.Fatalf("got %d rows of a histogram, want 1", len(h.Rows))
		}
		for _, b := range h.Rows[0].Buckets {
			want := int64(0)
			for _, v := range exact {
				if (b[0] == nil || v >= *b[0]) && (b[1] == nil || v < *b[1]) {
					want++
				}
			}
			if *b[2] != want {
				t.Errorf("bucket from %v to %v: got %d, want %d", b[0], b[1], *b[2], want)
			}
			checked++
		}
	}
	if checked < 40 {
		t.Errorf("got %d buckets in both histograms, want more than 40", checked)
	}
}

// Quantiles of up to 64 values for a key are exact in programs too.
func TestKernelQuantilesOfFewAreExact(t *testing.T) {
	live(t)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	shares := []float64{0.01, 0.25, 0.5, 0.9, 1}
	columns := ""
	for i, q := range shares {
		columns += fmt.Sprintf(`, q%d = agg.quantile("offset", %g), o%d = agg.quantile("-offset", %g)`,
			i, q, i, q)
	}
	program := fmt.Sprintf(`(tracepoint("syscalls:sys_enter_lseek").where("fd == %d").by("whence")
		.agg(n = agg.count()%s))`, null.Fd(), columns)
	counts := testkit.Start(t, testkit.PPScript(t), "--engine", "bpf", "--format", "json", "-v", "-p",
		strconv.Itoa(os.Getpid()), "-c", program)
	counts.WaitStderr(" open event")
	values := map[int][]int64{}
	for i := range int64(64 + 9 + 1) {
		whence := unix.SEEK_SET
		if i >= 64 {
			whence = 1000 // an invalid value, which the kernel rejects
		}
		if i == 73 {
			whence = 1001
		}
		v := 155000 + i*i%7*100
		unix.Seek(int(null.Fd()), v, whence)
		values[whence] = append(values[whence], v)
	}
	rows := testkit.Tables(t, counts.Stop().Want(t, 0).Stdout)[0].Rows
	if len(rows) != len(values) {
		t.Fatalf("got %d rows, want %d", len(rows), len(values))
	}
	for _, row := range rows {
		whence := int(row.Int(t, "whence"))
		exact := slices.Sorted(slices.Values(values[whence]))
		if got := row.Int(t, "n"); got != int64(len(exact)) {
			t.Errorf("whence %d: got %d calls, want %d", whence, got, len(exact))
			continue
		}
		for i, q := range shares {
			at := max(int(math.Ceil(q*float64(len(exact)))), 1) - 1
			if got := row.Int(t, fmt.Sprintf("q%d", i)); got != exact[at] {
				t.Errorf("whence %d, share %g: got %d, want %d", whence, q, got, exact[at])
			}
			if got := row.Int(t, fmt.Sprintf("o%d", i)); got != -exact[len(exact)-1-at] {
				t.Errorf("whence %d, share %g of -offset: got %d, want %d", whence, q, got,
					-exact[len(exact)-1-at])
			}
		}
	}
}
