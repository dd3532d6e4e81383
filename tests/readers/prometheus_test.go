package readers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// answers is a Prometheus that scrapes a run.
type answers struct {
	t    *testing.T
	base string
}

// startPrometheus starts one that scrapes the server at page with the token of a file, with
// options of its own.
func startPrometheus(t *testing.T, page, token string, options ...string) *answers {
	t.Helper()
	dir := t.TempDir()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
global: {scrape_interval: 100ms, scrape_timeout: 100ms}
scrape_configs:
- job_name: ppscript
  authorization: {credentials_file: %s}
  static_configs: [{targets: [%q]}]
`, token, u.Host)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	testkit.StartFor(t, time.Minute, append([]string{"prometheus", "--config.file=" + file,
		"--storage.tsdb.path=" + dir, "--web.listen-address=" + address, "--log.level=error"},
		options...)...)
	return &answers{t, "http://" + address}
}

// ask returns the value of an expression; false while there is none.
func (a *answers) ask(expr string) (float64, bool) {
	resp, err := http.Get(a.base + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, false // Prometheus is starting
	}
	defer resp.Body.Close()
	var got struct {
		Error string
		Data  struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Error != "" {
		if resp.StatusCode == http.StatusServiceUnavailable {
			return 0, false
		}
		a.t.Fatalf("%s: got %v, %s", expr, err, got.Error)
	}
	if len(got.Data.Result) == 0 {
		return 0, false
	}
	if len(got.Data.Result) > 1 {
		a.t.Fatalf("%s: got %d results", expr, len(got.Data.Result))
	}
	v, err := strconv.ParseFloat(got.Data.Result[0].Value[1].(string), 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return v, true
}

// wait waits until an expression has a value.
func (a *answers) wait(expr string, want float64) {
	a.t.Helper()
	var got float64
	var ok bool
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got, ok = a.ask(expr); ok && got == want {
			return
		}
	}
	a.t.Fatalf("%s: got %v, %v, want %v", expr, got, ok, want)
}

// like checks that an expression has a value, up to a factor.
func (a *answers) like(expr string, want, factor float64) {
	a.t.Helper()
	got, ok := a.ask(expr)
	if !ok || math.Abs(math.Log(got/want)) > math.Log(factor) {
		a.t.Errorf("%s: got %g, want %g, but for a factor of %g", expr, got, want, factor)
	}
}

// latencies has a table that shows one of three rows, one with quantiles, and a histogram.
const latencies = `
def main(o):
    ours = "id == %d || id == %d || id == %d"
    calls = join(
        [tracepoint("raw_syscalls:sys_enter").where(ours)],
        [tracepoint("raw_syscalls:sys_exit").where(ours)],
        key = "tid",
    )
    return [
        calls.by(id = "start.id").agg(calls = agg.count(), total = agg.sum("delay")).sort("calls").top(1),
        calls.agg(n = agg.count(), p50 = agg.quantile("delay", 0.5), p90 = agg.quantile("delay", 0.9)),
        calls.hist("delay"),
    ]
`

// Prometheus scrapes a run. Its sums equal those of the results, including keys that no table
// shows and keys beyond the bound, and its quantiles equal ours within the width of a bucket.
func TestPrometheus(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Prometheus)...)
	dir := t.TempDir()
	script, token := filepath.Join(dir, "lat.star"), filepath.Join(dir, "token")
	source := fmt.Sprintf(latencies, unix.SYS_GETPPID, unix.SYS_OPENAT, unix.SYS_CLOCK_NANOSLEEP)
	for name, text := range map[string]string{script: source, token: "secret-of-this-test"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := testkit.StartTarget(t, "-getppid", "2000", "-fail", "1000", "-sleep", "100")
	p, page := serve(t, script, "-p", strconv.Itoa(target.PID()), "-i", "600ms", "--format", "json",
		"--http", "127.0.0.1:0", "--http-token", token, "--metrics-series", "2")
	prom := startPrometheus(t, page, token, "--enable-feature=native-histograms")
	classic := startPrometheus(t, page, token)
	classic.wait("up", 1)
	prom.wait(`ppscript_script_up{script="`+script+`"}`, 1)
	// The work is done within one interval, whose quantiles are then those of the run.
	seen := strings.Count(p.Stdout(), "\n")
	p.Await("an interval that begins", func(out string) bool { return strings.Count(out, "\n") > seen })
	target.Do()

	const n = 3100
	prom.wait(`sum(ppscript_lat_calls_total)`, n)
	prom.wait(`ppscript_lat_table2_n_total`, n)
	prom.wait(`histogram_count(ppscript_lat_delay_seconds)`, n)
	prom.wait(`histogram_count(ppscript_lat_table2_delay_seconds)`, n)
	classic.wait(`ppscript_lat_delay_seconds_count`, n)
	classic.wait(`ppscript_lat_table2_delay_seconds_count`, n)
	prom.wait(`count(ppscript_lat_calls_total)`, 3)
	prom.wait(`count(ppscript_lat_calls_total{id="__other__"} > 0)`, 1)
	p.Await("the interval's histogram", func(out string) bool {
		return strings.LastIndex(out, `"n":`+strconv.Itoa(n)) < strings.LastIndex(out, `"type":"histogram"`)
	})

	var total, count float64
	quantiles := map[float64]float64{}
	buckets := map[[2]float64]float64{}
	for line := range strings.Lines(p.Stdout()) {
		var rec struct {
			Type string
			Data struct {
				Name string
				Rows []struct {
					N, P50, P90 float64
					Buckets     [][3]float64
				}
			}
		}
		if json.Unmarshal([]byte(line), &rec) != nil || len(rec.Data.Rows) == 0 {
			continue
		}
		switch row := rec.Data.Rows[0]; {
		case rec.Type == "histogram":
			for _, b := range row.Buckets {
				total += b[2]
				buckets[[2]float64{b[0] / 1e9, b[1] / 1e9}] += b[2]
			}
		case rec.Data.Name == "table2" && row.N > 0:
			count, quantiles = row.N, map[float64]float64{0.5: row.P50 / 1e9, 0.9: row.P90 / 1e9}
		}
	}
	if total != n {
		t.Fatalf("the histograms have %v events, want %v", total, n)
	}
	for _, q := range []float64{0.5, 0.9} {
		b := bucketOf(buckets, q*n)
		prom.within(q, "ppscript_lat_delay_seconds", b)
		classic.within(q, "ppscript_lat_delay_seconds_bucket", b)
		if count != n {
			t.Logf("the work took two intervals, whose quantiles are not those of both")
			continue
		}
		want := quantiles[q]
		// Native buckets are eighths of powers of two, up to 9 % wide, like ours. Classic
		// buckets are halves.
		prom.like(fmt.Sprintf("histogram_quantile(%v, ppscript_lat_table2_delay_seconds)", q), want, 1.2)
		classic.like(fmt.Sprintf("histogram_quantile(%v, ppscript_lat_table2_delay_seconds_bucket)", q),
			want, 1.5)
	}
	prom.like(`sum(ppscript_lat_seconds_total)`, sumOf(prom, "ppscript_lat_delay_seconds"), 1.000001)
	prom.like(`histogram_sum(ppscript_lat_table2_delay_seconds)`, sumOf(prom, "ppscript_lat_delay_seconds"),
		1.000001)
	p.Stop()
}

// bucketOf returns the bucket of the value with a rank.
func bucketOf(buckets map[[2]float64]float64, rank float64) [2]float64 {
	list := slices.SortedFunc(maps.Keys(buckets), func(a, b [2]float64) int {
		return cmp.Compare(a[0],
			b[0])
	})
	for _, b := range list {
		if rank -= buckets[b]; rank <= 0 {
			return b
		}
	}
	return list[len(list)-1]
}

// within checks that a quantile is no farther from one of our buckets than the width of a
// native bucket.
func (a *answers) within(q float64, name string, bucket [2]float64) {
	a.t.Helper()
	got, ok := a.ask(fmt.Sprintf("histogram_quantile(%v, %s)", q, name))
	if !ok || got < bucket[0]/1.1 || got > bucket[1]*1.1 {
		a.t.Errorf("quantile %v of %s: got %g, want %g to %g", q, name, got, bucket[0], bucket[1])
	}
}

// sumOf returns the sum of the values of a histogram.
func sumOf(a *answers, name string) float64 {
	v, _ := a.ask("histogram_sum(" + name + ")")
	return v
}
