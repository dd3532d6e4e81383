package oracle

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// states shows the states of sockets in every place where results show fields: as
// keys, in a tuple, in aggregators, after let and a fold, in lines.
const states = `
def _step(s, e):
    if s.last:
        emit(old = s.last, new = e.newstate, next = s.last + 1)
    s.last = e.newstate

def main(o):
    changes = tracepoint("sock:inet_sock_set_state").where("protocol == 6")
    steps = changes.fold(key = "_tid", state = {"last": 0}, step = _step, name = "step")
    named = changes.let(to = lambda e: e.newstate)
    return [
        changes.by("oldstate", "newstate", "saddr").count(),
        changes.by("newstate").count().raw("newstate"),
        named.by(both = lambda e: (e.to, e.protocol)).agg(last = agg.last("to"), top = agg.top("oldstate", 1)),
        named.by("to").hist("dport"),
        steps.log(),
        steps.by("old", "next").count(),
    ]
`

// refused tries to connect to a port of this machine at which no program
// listens.
var refused = []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/1"}

// Fields are shown as the kernel prints them, in each engine, live and from a
// recording. JSON has the number besides the name.
func TestFieldsAreShownByName(t *testing.T) {
	live(t, testkit.Program("bash"))
	dir := t.TempDir()
	script, file := filepath.Join(dir, "states.star"), filepath.Join(dir, "states.data")
	if err := os.WriteFile(script, []byte(states), 0o644); err != nil {
		t.Fatal(err)
	}
	record := []string{testkit.PPScript(t), "record", "-e", "sock:inet_sock_set_state", "-o", file, "--"}
	testkit.Run(t, append(record, refused...)...)
	for _, way := range [][]string{
		append([]string{"--engine", "auto", "--"}, refused...),
		append([]string{"--engine", "perf", "--"}, refused...),
		append([]string{"--engine", "interp", "--"}, refused...),
		{"--input", file},
	} {
		run := func(more ...string) string {
			out := testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), script, "-q"}, more, way)...)
			return out.Stdout
		}
		f := func(output string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(output, want) {
					t.Errorf("%v: got no %q in\n%s", way, want, output)
				}
			}
		}
		f(squeezed(run()), " TCP_CLOSE TCP_SYN_SENT 127.0.0.1 1 ", " 2 1 ",
			" (TCP_SYN_SENT, IPPROTO_TCP) TCP_SYN_SENT ((TCP_CLOSE, 1)) ", " to=TCP_SYN_SENT: dport, ",
			" step: old=TCP_SYN_SENT new=TCP_CLOSE next=3 ", " TCP_SYN_SENT 3 1 ")
		f(run("--format", "csv"), ",TCP_CLOSE,TCP_SYN_SENT,127.0.0.1,1\r",
			`,"(TCP_SYN_SENT, IPPROTO_TCP)",TCP_SYN_SENT,`)
		f(run("--format", "json"),
			`"oldstate":7,"oldstate_text":"TCP_CLOSE","newstate":2,"newstate_text":"TCP_SYN_SENT"`,
			`{"newstate":2,"count":1}`, `"both":[2,6],"both_text":"(TCP_SYN_SENT, IPPROTO_TCP)"`,
			`"key":{"to":2,"to_text":"TCP_SYN_SENT"}`,
			`"fields":{"old":2,"new":7,"next":3},"names":{"old":"TCP_SYN_SENT","new":"TCP_CLOSE"}`)
		if raw := run("--raw"); strings.Contains(raw, "TCP_") {
			t.Errorf("%v: --raw has names:\n%s", way, raw)
		}
	}
}

// addresses passes the address of a socket from a field to a result in every possible way.
const addresses = `
def _step(s, e):
    if s.last:
        emit(old = s.last, new = e.skaddr, apart = e.skaddr - s.last, state = e.newstate)
    s.last = e.skaddr

def main(o):
    changes = tracepoint("sock:inet_sock_set_state").where("protocol == 6")
    steps = changes.fold(key = "_tid", state = {"last": 0}, step = _step, name = "step")
    named = changes.let(sk = lambda e: e.skaddr)
    pairs = join([changes.where("newstate == 2")], [changes.where("newstate == 7")], key = "skaddr")
    return [
        changes.by("skaddr").agg(a = agg.max("skaddr"), b = agg.last("skaddr"), c = agg.top("skaddr", 1)),
        named.by(both = lambda e: (e.sk, e.newstate)).agg(least = agg.min("sk"), list = agg.list("sk")),
        steps.log(),
        steps.by("old", "new", "apart").agg(m = agg.max("new"), n = agg.count()),
        pairs.by("key").count(),
        changes.by("skaddr").hist("sport"),
        changes.log(fields = {"sk": "skaddr"}),
    ]
`

// An address is shown as an address in every place, in each engine: through let, a fold and its
// state, the key of pairs, tuples and lists, aggregators. The difference of two addresses is a
// number. --raw shows no names, but addresses.
func TestAddressesStayAddresses(t *testing.T) {
	live(t, testkit.Program("bash"))
	dir := t.TempDir()
	script, file := filepath.Join(dir, "sockets.star"), filepath.Join(dir, "sockets.data")
	if err := os.WriteFile(script, []byte(addresses), 0o644); err != nil {
		t.Fatal(err)
	}
	record := []string{testkit.PPScript(t), "record", "-e", "sock:inet_sock_set_state", "-o", file, "--"}
	testkit.Run(t, append(record, refused...)...)
	address := regexp.MustCompile(`0x[0-9a-f]{16}\b`)
	for _, way := range [][]string{
		append([]string{"--engine", "auto", "--"}, refused...),
		append([]string{"--engine", "perf", "--"}, refused...),
		append([]string{"--engine", "interp", "--"}, refused...),
		{"--input", file},
	} {
		run := func(more ...string) string {
			out := testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), script, "-q"}, more, way)...)
			return address.ReplaceAllString(squeezed(out.Stdout), "ADDRESS")
		}
		f := func(output string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(output, want) {
					t.Errorf("%v: got no %q in\n%s", way, want, output)
				}
			}
		}
		f(run(), " ADDRESS ADDRESS ADDRESS ((ADDRESS, 2)) ", " (ADDRESS, TCP_SYN_SENT) ADDRESS (ADDRESS) ",
			" step: old=ADDRESS new=ADDRESS apart=0 state=TCP_CLOSE ", " ADDRESS ADDRESS 0 ADDRESS 1 ",
			" skaddr=ADDRESS: sport, ", ": sk=ADDRESS ")
		f(run("--raw"), " ADDRESS ADDRESS ADDRESS ((ADDRESS, 2)) ", " (ADDRESS, 2) ADDRESS (ADDRESS) ",
			" step: old=ADDRESS new=ADDRESS apart=0 state=7 ")
		f(run("--format", "csv"), `,ADDRESS,ADDRESS,ADDRESS,"((ADDRESS, 2))"`,
			",ADDRESS,ADDRESS,0,ADDRESS,1 ")
		f(run("--format", "json"), `"a_text":"ADDRESS"`, `"c_text":"((ADDRESS, 2))"`,
			`"both_text":"(ADDRESS, TCP_SYN_SENT)"`, `"least_text":"ADDRESS"`,
			`"list_text":"(ADDRESS)"`, `"m_text":"ADDRESS"`,
			`"names":{"old":"ADDRESS","new":"ADDRESS","state":"TCP_CLOSE"}`,
			`"key_text":"ADDRESS"`, `"key":{"skaddr":`, `"skaddr_text":"ADDRESS"`,
			`"names":{"sk":"ADDRESS"}`)
	}
}

// IP addresses are keys of programs in the kernel, alone and with numbers: their zeros count, and
// rows equal those of the other engines.
func TestIPAddressesAreKeysInKernel(t *testing.T) {
	live(t, testkit.Program("bash"))
	code := `tracepoint("sock:inet_sock_set_state").where("protocol == 6")` +
		`.by("saddr", "daddr", "daddr_v6", "oldstate").agg(n = agg.count(), to = agg.max("newstate"))`
	explained := testkit.Run(t, testkit.PPScript(t), "explain", "-c", code, "--engine", "bpf").Want(t, 0)
	if !strings.Contains(explained.Stdout, "kernel      table") {
		t.Errorf("the table is not in the kernel:\n%s", explained.Stdout)
	}
	for _, engine := range []string{"bpf", "perf", "interp"} {
		run := append([]string{testkit.PPScript(t), "-q", "--engine", engine, "-c", code, "--"}, refused...)
		got := squeezed(testkit.Run(t, run...).Stdout)
		for _, want := range []string{" 127.0.0.1 127.0.0.1 ::ffff:127.0.0.1 TCP_CLOSE 1 TCP_SYN_SENT ",
			" 127.0.0.1 127.0.0.1 ::ffff:127.0.0.1 TCP_SYN_SENT 1 TCP_CLOSE "} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want%s", engine, got, want)
			}
		}
	}
}

// squeezed replaces several blanks or line ends in a text by one blank.
func squeezed(s string) string { return " " + strings.Join(strings.Fields(s), " ") + " " }

// Results of system calls are shown with the name of the error; devices and
// functions have their usual form.
func TestReturnsAndAddressesAreShownByName(t *testing.T) {
	live(t, testkit.AMD64)
	out := testkit.Run(t, testkit.PPScript(t), "-q", "-c",
		`[tracepoint("raw_syscalls:sys_exit").where("id == 257").by("ret").count(), `+
			`tracepoint("kmem:kmem_cache_free").by("call_site").count()]`,
		"--format", "json", "--", testkit.Load(t), "-fail", "20", "-name", "/no/such").Want(t, 0)
	tables := testkit.Tables(t, out.Stdout)
	failed := 0
	for _, r := range tables[0].Rows {
		if r.Int(t, "ret") == -2 && r.Text(t, "ret_text") == "-2 ENOENT" {
			failed = int(r.Int(t, "count"))
		}
	}
	if failed < 20 {
		t.Errorf("got %d calls with -2 ENOENT, want at least 20:\n%.1000s", failed, out.Stdout)
	}
	for _, r := range tables[1].Rows {
		text := r.Text(t, "call_site_text")
		if !strings.Contains(text, "+0x") && !strings.HasPrefix(text, "0x") { // of a module without symbols
			t.Errorf("call_site: got %q, want a function", text)
		}
	}
	if !strings.Contains(out.Stdout, "+0x") {
		t.Errorf("no call_site is a function:\n%.1000s", out.Stdout)
	}
}
