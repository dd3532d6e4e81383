package readers

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// A taker is a server that keeps what is sent to it.
type taker struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	bodies map[string][][]byte // by path
}

func startTaker(t *testing.T) *taker {
	k := &taker{t: t, bodies: map[string][][]byte{}}
	k.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := take(r)
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.bodies[r.URL.Path] = append(k.bodies[r.URL.Path], body)
	}))
	t.Cleanup(k.Close)
	return k
}

// take reads the content of a request: a profile, or the whole body.
func take(r *http.Request) ([]byte, error) {
	if r.URL.Path == "/ingest" {
		f, _, err := r.FormFile("profile")
		if err != nil {
			return nil, err
		}
		return io.ReadAll(f)
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

func (k *taker) took(path string) [][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.bodies[path]) == 0 {
		k.t.Fatalf("nothing was sent to %s", path)
	}
	return k.bodies[path]
}

// scrape requests metrics until they meet the condition, and returns them.
func scrape(t *testing.T, client *http.Client, url string, enough func(text string) bool) string {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("got %s, %v", resp.Status, err)
		}
		if enough(string(body)) {
			return string(body)
		}
		if time.Now().After(end) {
			t.Fatalf("what is waited for does not come; got\n%s", body)
		}
	}
}

// Several scripts run at the same time. /metrics and the collector have their counts; a script
// that ends is started again, and SIGHUP makes ppscript read the file again.
func TestExport(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := write("count.star", fmt.Sprintf(`
def main(o):
    return tracepoint("raw_syscalls:sys_enter").where("id == %d").agg(n = agg.count())
`, unix.SYS_GETPPID))
	target := testkit.StartTarget(t, "-getppid", "2000")
	// An exporter's script has a budget, under which numbers may be estimates.
	job := script + " --budget off -p " + strconv.Itoa(target.PID()) + "\n"
	config := write("export.conf",
		"one: "+job+"short: "+script+" -p "+strconv.Itoa(target.PID())+" --duration 50ms\n")
	collector := startTaker(t)
	p := testkit.Start(t, testkit.PPScript(t), "export", config, "-i", "200ms", "--http", "127.0.0.1:0",
		"--otlp", collector.URL)
	p.WaitStderr("short: it begins again in 1s\n")
	m := regexp.MustCompile(`metrics: (http\S+)`).FindStringSubmatch(p.Stderr())
	if m == nil {
		t.Fatalf("no address in %s", p.Stderr())
	}
	var text string
	wait := func(want string) {
		t.Helper()
		text = scrape(t, http.DefaultClient, m[1], func(text string) bool {
			return strings.Contains(text,
				want)
		})
	}
	wait(`ppscript_script_failures_total{script="short"} 1`)
	wait(`ppscript_script_up{script="one"} 1`)
	target.Do()
	wait("ppscript_one_n_total 2000\n")

	// Scripts that go on keep their counters; removed scripts have no metrics.
	write("export.conf", "one: "+job+"two: "+job)
	p.Signal(syscall.SIGHUP)
	p.WaitStderr("2 scripts\n")
	wait(`ppscript_script_up{script="two"} 1`)
	target.Do()
	wait("ppscript_two_n_total 2000\n")
	wait("ppscript_one_n_total 4000\n")
	if strings.Contains(text, `"short"`) {
		t.Errorf("short is still there:\n%s", text)
	}
	// A file with a mistake changes nothing.
	write("export.conf", "one: nosuch")
	p.Signal(syscall.SIGHUP)
	p.WaitStderr("nothing changes")
	wait("ppscript_two_n_total 2000\n")
	p.Stop().Want(t, 0)

	bodies := collector.took("/v1/metrics")
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalProto(bodies[len(bodies)-1]); err != nil {
		t.Fatal(err)
	}
	list := req.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	got := map[string]float64{}
	for i := range list.Len() {
		if m := list.At(i); strings.HasSuffix(m.Name(), "_n_total") {
			got[m.Name()] = m.Sum().DataPoints().At(0).DoubleValue()
		}
	}
	if got["ppscript_one_n_total"] != 4000 || got["ppscript_two_n_total"] != 2000 || len(got) != 2 {
		t.Errorf("sent %v, want 4000 and 2000", got)
	}
}

// In both engines, distributions have the same buckets and the sum of all values.
func TestMetricsOfEngines(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	dir := t.TempDir()
	// The first argument of its calls of getppid is 0 to 1999.
	target := testkit.StartTarget(t, "-getppid", "2000")
	script := fmt.Sprintf(`
def main(o):
    calls = tracepoint("raw_syscalls:sys_enter").where("id == %d")
    first = lambda e: e.args[0]
    return [
        calls.hist(first),
        calls.agg(p50 = agg.quantile(first, 0.5)),
    ]
`, unix.SYS_GETPPID)
	file, config := filepath.Join(dir, "args.star"), filepath.Join(dir, "export.conf")
	jobs := ""
	for _, engine := range []string{"bpf", "perf"} {
		// Without this option, the script that runs in programs would have the default budget
		// of export.
		jobs += fmt.Sprintf("%s: %s --engine %s --budget off -p %d\n", engine, file, engine, target.PID())
	}
	for name, text := range map[string]string{file: script, config: jobs} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "metrics")
	p := testkit.Start(t, testkit.PPScript(t), "export", config, "-i", "200ms", "--http", "unix:"+socket)
	p.WaitStderr("metrics: curl --unix-socket " + socket + " http://localhost/metrics\n")
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	var of map[string]string
	wait := func(enough func() bool) {
		t.Helper()
		scrape(t, client, "http://localhost/metrics", func(text string) bool {
			of = map[string]string{}
			for line := range strings.Lines(text) {
				for _, engine := range []string{"bpf", "perf"} {
					if rest, ok := strings.CutPrefix(line, "ppscript_"+engine+"_"); ok {
						of[engine] += rest
					}
				}
				if strings.HasPrefix(line, "ppscript_script_up") && strings.HasSuffix(line, " 1\n") {
					of["up"] += "1"
				}
			}
			return enough()
		})
	}
	wait(func() bool { return of["up"] == "11" })
	target.Do()
	const sum = "_sum 1.999e+06\n" // of 0 to 1999
	wait(func() bool { return strings.Count(of["bpf"], sum) == 2 && strings.Count(of["perf"], sum) == 2 })
	p.Stop().Want(t, 0)
	// The median is of the newest interval, which may have no events.
	gauge := regexp.MustCompile(`(?m)^(table\d+_)?p50 .*\n`)
	for engine, text := range of {
		of[engine] = gauge.ReplaceAllString(text, "")
	}
	if of["bpf"] != of["perf"] || !strings.Contains(of["bpf"], `_bucket{le="1023"} 1024`) ||
		!strings.Contains(of["bpf"], `_bucket{le="1535"} 1536`) {
		t.Errorf("programs:\n%sppscript:\n%s", of["bpf"], of["perf"])
	}
}

// The stacks that are sent have the samples of each interval exactly once, with the
// functions that took the time.
func TestPushedProfiles(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	k := startTaker(t)
	out := testkit.Run(t, testkit.PPScript(t), "profile", "-F", "997", "-g", "-i", "300ms", "--format",
		"json",
		"--otlp-profiles", k.URL, "--pyroscope", k.URL, "--", testkit.Load(t), "-spin", "700")
	out.Want(t, 0)
	m := regexp.MustCompile(`"type":"end","data":\{"samples":(\d+)`).FindStringSubmatch(out.Stdout)
	if m == nil {
		t.Fatalf("no end in %.300s", out.Stdout)
	}
	if strings.Contains(out.Stdout, `"type":"stacks"`) {
		t.Error("what is sent is shown as well")
	}
	want, _ := strconv.ParseInt(m[1], 10, 64)
	var pprof, otlp int64
	spins := false
	for _, body := range k.took("/ingest") {
		p, err := profile.Parse(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			pprof += s.Value[0]
			for _, l := range s.Location {
				spins = spins || strings.HasPrefix(l.Line[len(l.Line)-1].Function.Name, "main.(*worker).")
			}
		}
	}
	for _, body := range k.took("/v1development/profiles") {
		req := pprofileotlp.NewExportRequest()
		if err := req.UnmarshalProto(body); err != nil {
			t.Fatal(err)
		}
		p := req.Profiles().ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		for i := range p.Samples().Len() {
			otlp += p.Samples().At(i).Values().At(0)
		}
	}
	if pprof != want || otlp != want || want < 10 || !spins {
		t.Errorf("pprof has %d samples in %d messages, otlp %d, the run %d, the worker is there: %v", pprof,
			len(k.took("/ingest")), otlp, want, spins)
	}
}

// The refusal of a server is reported once; the run goes on, and its exit code
// shows the failure.
func TestRefusedPush(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such tenant", http.StatusBadRequest)
	}))
	defer srv.Close()
	out := testkit.Run(t, testkit.PPScript(t), "syscalls", "-i", "100ms", "--duration", "500ms", "--otlp",
		srv.URL)
	out.Want(t, 1)
	if n := strings.Count(out.Stderr,
		"400 Bad Request: no such tenant; the server is not asked again"); n != 1 ||
		!strings.Contains(out.Stderr, "messages did not arrive: the server answers 400") ||
		strings.Count(out.Stdout, "calls") < 3 {
		t.Errorf("told %d times; stderr %s\nstdout %.500s", n, out.Stderr, out.Stdout)
	}
}
