package readers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// viewerModule is a Node module with the code of profiler.firefox.com and a command line.
const viewerModule = "@firefox-devtools/profiler-cli"

// A firefoxViewer is a profile that is open in the viewer's own code. This code
// converts it to the newest version, and refuses profiles that it cannot read.
type firefoxViewer struct {
	t   *testing.T
	dir string // directory of its daemon's socket
}

func viewFirefox(t *testing.T, path string) *firefoxViewer {
	t.Helper()
	// Sockets have short paths, shorter than that of TempDir.
	dir, err := os.MkdirTemp("", "view")
	if err != nil {
		t.Fatal(err)
	}
	v := &firefoxViewer{t, dir}
	// The command load waits only half a second for the daemon to start, so the
	// daemon is started directly.
	daemon := v.run("--daemon", path, "--session", "v")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Process.Signal(os.Interrupt) // timeout passes the signal on
		daemon.Wait()
		os.RemoveAll(dir)
	})
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		out, err := []byte(nil), error(nil)
		if _, err = os.Stat(filepath.Join(dir, "v.sock")); err == nil {
			out, err = v.run("status", "--session", "v").CombinedOutput()
		}
		if err == nil {
			return v
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("profiler-cli: %v\n%.2000s", err, out)
		}
	}
}

func (v *firefoxViewer) run(args ...string) *exec.Cmd {
	program := filepath.Join(testkit.NodeModulePath(viewerModule), "dist/profiler-cli.js")
	cmd := exec.Command("timeout", append([]string{"120", "node", program}, args...)...)
	cmd.Env = append(os.Environ(), "PROFILER_CLI_SESSION_DIR="+v.dir)
	return cmd
}

// ask decodes an answer.
func (v *firefoxViewer) ask(into any, args ...string) {
	v.t.Helper()
	out, err := v.run(append(args, "--json", "--session", "v")...).Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		v.t.Fatalf("profiler-cli %v: %v in %.2000s", args, err, out)
	}
}

// The viewer shows for each function the numbers that folded stacks have.
func TestFirefoxViewerShowsTheFoldedNumbers(t *testing.T) {
	testkit.Requires(t, append([]testkit.Need{testkit.Node, testkit.NodeModule(viewerModule)},
		testkit.Live...)...)
	dir := t.TempDir()
	path, fold := filepath.Join(dir, "out.json"), filepath.Join(dir, "a.folded")
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "500", "-g", "--lines=no", "-o", "/dev/null",
		"--firefox", path, "--flame-graph", fold, "--", "sh", "-c",
		"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Want(t, 0)
	var got struct {
		WeightType string
		Functions  []struct {
			Name                      string
			SelfSamples, TotalSamples int64
		}
	}
	viewFirefox(t, path).ask(&got, "thread", "functions", "--include-idle")
	sum, total, self := folded(t, fold)
	gotTotal, gotSelf := map[string]int64{}, map[string]int64{}
	twice := map[string]bool{}
	for _, f := range got.Functions {
		twice[f.Name] = gotTotal[f.Name] > 0 // functions of this name in two files: a stack may contain both
		gotTotal[f.Name] += f.TotalSamples
		gotSelf[f.Name] += f.SelfSamples
	}
	delete(total, "sh") // the key: the name of the thread
	if sum < 20 || len(gotTotal) != len(total) || got.WeightType != "samples" {
		t.Fatalf("got %d functions, weights by %s; want %d of %d samples", len(gotTotal), got.WeightType,
			len(total), sum)
	}
	for name, n := range total {
		if gotTotal[name] != n && !twice[name] || gotSelf[name] != self[name] {
			t.Errorf("%s: the viewer shows %d, %d itself; want %d, %d", name, gotTotal[name],
				gotSelf[name], n, self[name])
		}
	}
}

// The viewer shows the intervals of a thread with the right times and fields, and the
// number of missing events.
func TestFirefoxViewerShowsMarkers(t *testing.T) {
	testkit.Requires(t, testkit.Node, testkit.NodeModule(viewerModule))
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.json")
	out := testkit.Run(t, testkit.PPScript(t), "syscalls", "--input", data(t, "load.data"),
		"--format", "json", "--firefox", path).Want(t, 0)
	v := viewFirefox(t, path)
	var got struct {
		TotalCount int
		Markers    []struct {
			Start    float64
			Duration float64
			Fields   []struct{ Key, Value string }
		}
	}
	v.ask(&got, "profile", "markers", "--limit", "1000000")
	type sum struct {
		calls int64
		us    float64
	}
	calls, want := map[string]sum{}, map[string]sum{}
	for _, m := range got.Markers {
		for _, f := range m.Fields {
			if f.Key == "start.id" {
				calls[f.Value] = sum{calls[f.Value].calls + 1, calls[f.Value].us + m.Duration*1e3}
			}
		}
	}
	records := bodies(t, out.Stdout)
	for _, r := range rows(records) {
		n, _ := r["calls"].(float64)
		total, _ := r["total"].(float64)
		id := fmt.Sprint(r["syscalls"])
		want[id] = sum{want[id].calls + int64(n), want[id].us + total/1e3}
	}
	shown := func(m map[string]sum) string {
		texts := map[string]string{}
		for id, s := range m {
			texts[id] = fmt.Sprintf("%d calls, %.3f us", s.calls, s.us)
		}
		return fmt.Sprint(texts)
	}
	if len(want) < 5 || got.TotalCount != len(got.Markers) || shown(calls) != shown(want) {
		t.Errorf("the viewer shows %s\nwant %s", shown(calls), shown(want))
	}
	var meta map[string]any
	if v.ask(&meta, "profile", "meta"); !hasNumber(meta, "unmatched", "23") {
		t.Errorf("the viewer tells %v, want that 23 events are unmatched", meta)
	}
}

// hasNumber reports whether v, or an object inside it, has this label with this
// value.
func hasNumber(v any, label, value string) bool {
	switch v := v.(type) {
	case map[string]any:
		if v["label"] == label && fmt.Sprint(v["value"]) == value {
			return true
		}
		for _, x := range v {
			if hasNumber(x, label, value) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if hasNumber(x, label, value) {
				return true
			}
		}
	}
	return false
}
