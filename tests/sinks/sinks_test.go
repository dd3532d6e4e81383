package sinks

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
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
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"ppscript/cmd/ppscript/fleet/journal"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// hostile begins a line, turns the terminal red, reverses the direction of the line, and is no
// UTF-8. It can be the name of a thread or a file.
const hostile = "a\nF\x1b[31m\u202e\xff"

const (
	escaped = `a\nF\x1b[31m\u202e\xff`
	inJSON  = "a\nF\x1b[31m\u202e\\xff" // its form after JSON is decoded
	getppid = "syscalls:sys_enter_getppid"
	byComm  = `tracepoint("` + getppid + `").by("comm").count()`
)

// program is a copy of the load with the hostile text as its path, and as the name of a function
// that is in each stack.
func program(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(testkit.Load(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	names := f.Section(".strtab")
	was := []byte("\x00main.newWorker.func1\x00")
	at := bytes.Index(data[names.Offset:names.Offset+names.Size], was)
	if at < 0 {
		t.Fatalf("the load has no function %q", was)
	}
	copy(data[int(names.Offset)+at+1:], hostile+strings.Repeat("w", len(was)-2-len(hostile)))
	path := filepath.Join(t.TempDir(), hostile)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// recording has 20 stacks of the hostile program.
func recording(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.data")
	testkit.Run(t, testkit.PPScript(t), "record", "-N", "-e", getppid, "-g", "-o", file, "--", program(t),
		"-getppid", "20", "-comm", hostile).Want(t, 0)
	return file
}

// wantPlain checks that output for people has no control character, and no line that the hostile
// text began.
func wantPlain(t *testing.T, where, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: no UTF-8: %q", where, text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		for _, r := range line {
			if r != '\t' && !unicode.IsGraphic(r) {
				t.Errorf("%s: the line %q has %q", where, line, r)
				break
			}
		}
		if strings.HasPrefix(line, "F") {
			t.Errorf("%s: the hostile text began the line %q", where, line)
		}
	}
}

// All outputs for a recording have the text, but never raw in output for people.
func TestOutputs(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	file := recording(t)
	run := func(t *testing.T, args ...string) string {
		t.Helper()
		o := testkit.Run(t, append([]string{testkit.PPScript(t), "--input", file}, args...)...).Want(t, 0)
		wantPlain(t, "stderr", o.Stderr)
		return o.Stdout
	}
	texts := map[string][]string{
		"table":            {"-c", byComm},
		"table.csv":        {"-c", byComm, "--format", "csv"},
		"table.markdown":   {"-c", byComm, "--format", "markdown"},
		"lines":            {"trace", "-e", getppid, "-g"},
		"lines.csv":        {"trace", "-e", getppid, "-g", "--format", "csv"},
		"lines.markdown":   {"trace", "-e", getppid, "-g", "--format", "markdown"},
		"printed":          {"trace", "-e", getppid + `//exec=printf("%s|\n", comm)/`},
		"top":              {"top", "-e", getppid + "//key=comm/"},
		"histogram of key": {"-c", `tracepoint("` + getppid + `").by("comm").hist("tid")`},
	}
	for name, args := range texts {
		t.Run(name, func(t *testing.T) {
			out := run(t, args...)
			wantPlain(t, "stdout", out)
			if !strings.Contains(out, `\x1b[31m`) {
				t.Errorf("the hostile text is not in %q", out)
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		for _, args := range [][]string{{"-c", byComm}, {"trace", "-e", getppid, "-g"}} {
			out, found := run(t, append(args, "--format", "json")...), false
			for line := range strings.Lines(out) {
				var v any
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Errorf("the line %q: %v", line, err)
				}
				found = found || has(v, inJSON)
			}
			if !found {
				t.Errorf("%s: the exact text is not in %q", args, out)
			}
		}
	})
	t.Run("info", func(t *testing.T) {
		o := testkit.Run(t, testkit.PPScript(t), "info", file).Want(t, 0)
		wantPlain(t, "stdout", o.Stdout+o.Stderr)
		if !strings.Contains(o.Stdout, escaped) {
			t.Errorf("the command that was recorded is not in %q", o.Stdout)
		}
	})
	files := map[string]struct {
		option string
		plain  bool   // people read it too
		text   string // form of the hostile text in the file
	}{
		"f.folded":  {"--flame-graph", true, `a\x0aF\x1b[31m\xe2\x80\xae\xff`}, // this format is read back
		"f.svg":     {"--flame-graph", true, escaped},
		"f.html":    {"--flame-graph", true, escaped},
		"f.pb.gz":   {"--pprof", false, escaped},
		"f.pftrace": {"--perfetto", false, escaped},
		"f.json":    {"--firefox", true, escaped},
		"page.html": {"--html", true, ""},
	}
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), name)
			run(t, "trace", "-e", getppid, "-g", f.option, out)
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, ".gz") {
				data = unzipped(t, data)
			}
			if strings.HasSuffix(name, ".json") {
				var v any
				if err := json.Unmarshal(data, &v); err != nil {
					t.Fatal(err)
				}
				if !has(v, f.text) {
					t.Errorf("%q is not in the file", f.text)
				}
			} else if !bytes.Contains(data, []byte(f.text)) {
				t.Errorf("%q is not in the file", f.text)
			}
			if raw := regexp.MustCompile("a\nF|F\x1b|31m\u202e").Find(data); raw != nil {
				t.Errorf("the file has the raw text %q", raw)
			}
			if f.plain {
				wantPlain(t, name, string(data))
			}
		})
	}
	t.Run("parquet", func(t *testing.T) { // typed columns: exact
		dir := t.TempDir()
		run(t, "-c", byComm, "--parquet", dir)
		list, _ := filepath.Glob(filepath.Join(dir, "*.parquet"))
		if len(list) != 1 {
			t.Fatalf("files: got %q, want one", list)
		}
		wantParquet(t, list[0], inJSON)
	})
}

// wantParquet checks that a Parquet file is complete, and has the text unchanged, because
// programs read it.
func wantParquet(t *testing.T, file, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(data, []byte("PAR1")) || !bytes.HasSuffix(data, []byte("PAR1")) {
		t.Errorf("the file is not whole: %v", err)
	}
	if !bytes.Contains(data, []byte(text)) {
		t.Errorf("%q is not in the file", text)
	}
}

// Names of cgroups: a user with a part of the tree can choose them, but without
// line ends.
func TestCgroups(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	name := "c" + strconv.Itoa(os.Getpid()) + "\x1b[31m\u202e\xffF"
	dir := filepath.Join(mounts.PerfCgroup(), name)
	testkit.Requires(t, testkit.Optional("cgroups that can be made", os.Mkdir(dir, 0o755)))
	t.Cleanup(func() { os.Remove(dir) })
	const byCgroup = `tracepoint("` + getppid + `").by("cgroup").count()`
	run := func(t *testing.T, args ...string) string {
		t.Helper()
		words := append([]string{testkit.PPScript(t), "-c", byCgroup}, args...)
		o := testkit.Run(t, append(words, "--", "sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, dir,
			testkit.Load(t), "-getppid", "20")...).Want(t, 0)
		wantPlain(t, "stderr", o.Stderr)
		return o.Stdout
	}
	for _, format := range []string{"text", "csv", "markdown"} {
		out := run(t, "--format", format)
		wantPlain(t, format, out)
		if !strings.Contains(out, `\x1b[31m\u202e\xffF`) {
			t.Errorf("%s: the cgroup is not in %q", format, out)
		}
	}
	const exact = "\x1b[31m\u202e\\xffF"
	found := false
	for line := range strings.Lines(run(t, "--format", "json")) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("the line %q: %v", line, err)
		}
		found = found || has(v, exact)
	}
	if !found {
		t.Error("json: the cgroup is not there as it is")
	}
	out := t.TempDir()
	run(t, "--parquet", out)
	wantParquet(t, filepath.Join(out, "table.parquet"), exact)
	for _, args := range [][]string{{"--cgroups", name}, {"--cgroups", "nowhere" + name}} {
		o := testkit.Run(t, append([]string{testkit.PPScript(t), "-c", byCgroup, "--duration", "100ms"},
			args...)...)
		wantPlain(t, "--cgroups: stdout", o.Stdout)
		wantPlain(t, "--cgroups: stderr", o.Stderr)
	}
}

// Names of hosts of a fleet, even unknown ones, and their messages about jobs.
func TestFleet(t *testing.T) {
	hub := testkit.Start(t, testkit.PPScript(t), "hub", "--listen", "127.0.0.1:0")
	hub.WaitStderr("the hub is at ")
	url := regexp.MustCompile(`the hub is at (\S+)`).FindStringSubmatch(hub.Stderr())[1]
	nc, err := nats.Connect(url, nats.UserInfo("evil", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	valid := strings.ToValidUTF8(hostile, "?")
	send := func(subject string, v any) {
		text, err := json.Marshal(v)
		if err == nil {
			err = nc.Publish(subject, text)
		}
		if err != nil {
			t.Error(err)
		}
	}
	beat := func(name string, labels map[string]string, works string) {
		send("ppscript.2.beat.evil", map[string]any{"name": name, "labels": labels, "works": works})
	}
	beat(valid, map[string]string{"role": "db"}, "ok")
	beat("evil", map[string]string{valid: valid}, "ok")
	beat("evil", map[string]string{"role": "db"}, valid) // the only valid message
	for subject, fn := range map[string]nats.MsgHandler{
		"ppscript.2.job": func(m *nats.Msg) {
			var j struct{ ID string }
			_ = json.Unmarshal(m.Data, &j)
			send("ppscript.2.answer."+j.ID+".evil", map[string]any{"error": valid, "hint": valid})
		},
		"ppscript.2.jobs": func(m *nats.Msg) {
			var q struct{ ID string }
			_ = json.Unmarshal(m.Data, &q)
			send("ppscript.2.running."+q.ID+".evil", []map[string]any{{"host": "evil", "job": "j",
				"by": valid, "words": valid, "error": valid, "log": []string{valid}}})
		},
	} {
		if _, err := nc.Subscribe(subject, fn); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	const red = "\x1b[31m\u202e" // the value of an option is a single line
	const shown = `a\nF\x1b[31m\u202e?`
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"hosts"}, shown}, {[]string{"jobs"}, shown}, {[]string{"logs", "j"}, shown},
		{[]string{"run", "-l", "role=db", "syscalls", "--duration", "1s"}, shown},
		{[]string{"run", "-l", red + "=db", "syscalls"}, "has a line end or another control character"},
		{[]string{"hosts", valid + "=" + valid}, ""}, {[]string{"stop", valid}, ""},
	} {
		o := testkit.Run(t, append([]string{testkit.PPScript(t), "fleet", x.args[0], "--hub", url},
			x.args[1:]...)...)
		wantPlain(t, x.args[0]+": stdout", o.Stdout)
		wantPlain(t, x.args[0]+": stderr", o.Stderr)
		if !strings.Contains(o.Stdout+o.Stderr, x.want) {
			t.Errorf("%q: got %s%s, want %s", x.args, o.Stdout, o.Stderr, x.want)
		}
	}
	o := testkit.Run(t, testkit.PPScript(t), "agent", "--hub", url, "--label", "role="+red)
	wantPlain(t, "agent", o.Stderr)
	if o.Exit == 0 || !strings.Contains(o.Stderr, "another control character") {
		t.Errorf("an agent with hostile labels: got %d, %s", o.Exit, o.Stderr)
	}
}

// Threads with names that are no UTF-8, or that look like an escape, have rows of their own in each
// engine and output.
func TestNamesStayApart(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	names := []string{"\xff", "\xfe", `\xff`}
	shown := []string{`\xff-0`, `\xfe-0`, `\x5cxff-0`} // the load appends a number to its names
	var targets []*testkit.Target
	var pids []string
	for _, name := range names {
		target := testkit.StartTarget(t, "-getppid", "10", "-comm", name)
		targets, pids = append(targets, target), append(pids, strconv.Itoa(target.PID()))
	}
	ofAll := strings.Join(pids, ",")
	for _, engine := range []string{"bpf", "perf", "interp"} {
		p := testkit.Start(t, testkit.PPScript(t), "-c", byComm, "--engine", engine, "--format", "json",
			"-i", "100ms", "-p", ofAll)
		p.WaitStdout("\n") // the first interval is over
		for i, target := range targets {
			target.Do()
			p.WaitStdout(`{"comm":"` + strings.ReplaceAll(shown[i], `\`, `\\`) + `","count":`)
		}
		p.Stop().Want(t, 0)
	}

	file := filepath.Join(t.TempDir(), "x.data")
	each := `for comm; do ` + testkit.Load(t) + ` -getppid 10 -comm "$comm"; done`
	testkit.Run(t, append([]string{testkit.PPScript(t), "record", "-N", "-e", getppid, "-o", file, "--",
		"sh", "-c", each, "sh"}, names...)...).Want(t, 0)
	for _, args := range [][]string{{"-c", byComm}, {"-c", byComm, "--format", "csv"},
		{"-c", byComm, "--format", "markdown"}, {"-c", `tracepoint("` + getppid + `").by("comm").hist("tid")`},
		{"trace", "-e", getppid, "--format", "json"}} {
		o := testkit.Run(t, append([]string{testkit.PPScript(t), "--input", file}, args...)...).Want(t, 0)
		for _, name := range shown {
			if args[0] == "trace" {
				name = strings.ReplaceAll(name, `\`, `\\`)
			}
			if !strings.Contains(o.Stdout, name) {
				t.Errorf("%q: got no %s in\n%s", args, name, o.Stdout)
			}
		}
	}
}

// has reports whether a JSON value contains a text, in a name or a value.
func has(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		for _, x := range v {
			if has(x, text) {
				return true
			}
		}
	case map[string]any:
		for k, x := range v {
			if strings.Contains(k, text) || has(x, text) {
				return true
			}
		}
	}
	return false
}

func unzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	data, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Servers of a run that goes on, and collectors that it sends to.
func TestServers(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	var mu sync.Mutex
	var sent []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
			body = unzipped(t, body)
		}
		mu.Lock()
		sent = append(sent, body...)
		mu.Unlock()
	}))
	defer collector.Close()
	target := testkit.StartTarget(t, "-getppid", "20", "-comm", hostile)
	p := testkit.Start(t, testkit.PPScript(t), "-c", byComm, "--format", "json", "-i", "100ms", "-p",
		strconv.Itoa(target.PID()), "--http", "127.0.0.1:0", "--otlp", collector.URL)
	p.WaitStderr("live page: ")
	m := pageURL.FindStringSubmatch(p.Stderr())
	if m == nil {
		t.Fatalf("no address in %q", p.Stderr())
	}
	get := func(path string) string {
		t.Helper()
		resp, err := http.Get(strings.Replace(m[1], "/?", path+"?", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: got %s, %v", path, resp.Status, err)
		}
		return string(body)
	}
	p.WaitStdout("\n") // the first interval is over
	target.Do()
	p.WaitStdout(`F\u001b`)
	seq := regexp.MustCompile(`"seq":([0-9]+),.*F\\u001b`).FindStringSubmatch(p.Stdout())
	if seq == nil {
		t.Fatalf("no interval has the text in %q", p.Stdout())
	}
	metrics := get("/metrics")
	wantPlain(t, "metrics", metrics)
	want := `{comm="` + strings.ReplaceAll(escaped, `\`, `\\`) + `-0"} 20`
	if !strings.Contains(metrics, want) {
		t.Errorf("got no %s in\n%s", want, metrics)
	}
	page := get("/api/v1/intervals/" + seq[1])
	var v any
	if err := json.Unmarshal([]byte(page), &v); err != nil {
		t.Errorf("the page's JSON %q: %v", page, err)
	}
	if !has(v, inJSON) {
		t.Errorf("the exact text is not in %q", page)
	}
	p.Stop().Want(t, 0)
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(sent, []byte(escaped)) || bytes.Contains(sent, []byte("F\x1b")) {
		t.Errorf("the collector was sent %q", sent)
	}
}

// Errors, and commands such as explain, quote texts that users give.
func TestErrors(t *testing.T) {
	script := filepath.Join(t.TempDir(), hostile+".star")
	text := "def main(o):\n    return tracepoint(\"x:\x1b[31m\u202e\u009b\").count(\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{hostile}, {"help", hostile}, {"explain", hostile}, {"check", script}, {script},
		{"--input", hostile, "trace", "-e", getppid}, {"trace", "-e", hostile}, {"trace", "--" + hostile},
		{"trace", "-e", getppid + "/" + hostile + "/"}, {"trace", "-p", hostile}, {"doctor", hostile},
		{"list", hostile}, {"info", hostile}, {"usdt", "list", hostile}, {"diff", hostile, hostile},
		{"trace", "-e", getppid, "-o", "/nowhere/" + hostile}, {"-c", "x\x1b[31m\u202e\u009b ="},
		{"profile", "--", "/nowhere/" + hostile}, {"verify", hostile}, {"fleet", "hosts", "--hub", hostile},
		{"explain", "-c", `tracepoint("` + getppid + `").where(lambda e: e.comm == "\x1b[31m\u202ex\nF").count()`},
	} {
		o := testkit.Run(t, append([]string{testkit.PPScript(t)}, args...)...)
		wantPlain(t, strings.ToValidUTF8(strings.Join(args, " "), "?")+": stdout", o.Stdout)
		wantPlain(t, strings.ToValidUTF8(strings.Join(args, " "), "?")+": stderr", o.Stderr)
	}
}

// An entry of the journal is one line, with any arguments.
func TestJournal(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	entry := journal.New("1", []string{"trace", hostile}, nil)
	entry.Error = hostile
	if err := journal.Open(socket).Tell(entry); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 1<<16)
	n, err := listener.Read(message)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(message[:n], []byte("\x1b")) || bytes.Contains(message[:n], []byte("\nF")) {
		t.Errorf("the journal was told %q", message[:n])
	}
}

var pageURL = regexp.MustCompile(`live page: (http://\S+)`)
