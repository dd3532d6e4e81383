package sealed

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"

	"ppscript/tests/testkit"
)

func userOf(name string) string {
	if name == "syscalls" || name == "runqlat" {
		return "@stdlib//" + name + ".star"
	}
	return ""
}

const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func TestUsersHaveTheirRules(t *testing.T) {
	p, err := Parse("f", `# those who may
alice,%ops syscalls --pids=*
#1000      runqlat \
           --interval=1s
ALL        /opt/a.star sha256=`+hash+`
%#7        /opt/b.star signed=ops
`, userOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user User
		want string
	}{
		{User{1, "alice", nil}, "f:2 f:5"},
		{User{1, "bob", []string{"#9", "ops"}}, "f:2 f:5"},
		{User{1000, "bob", nil}, "f:3 f:5"},
		{User{1, "bob", []string{"#7"}}, "f:5 f:6"},
		{User{0, "root", nil}, "f:5"},
	} {
		var got []string
		for _, r := range p.For(c.user, "") {
			got = append(got, r.At)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: got %v, want %v", c.user, got, c.want)
		}
	}
	if _, err := NewGate(p, User{1, "eve", nil}, userOf("syscalls")); err == nil || diag.HintOf(err) == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	for _, line := range []string{
		"alice", "alice x.star sha256=" + hash, "alice /opt/../x.star signed", "alice /x.star",
		"alice /x.star sha256=00", "alice syscalls signed", "alice syscalls --allow=write=/",
		"alice syscalls --*=*", "alice syscalls exec=make", "alice syscalls what=x", `alice syscalls "exec=/bin/true 'x"`, "alice syscalls --pids='*",
		", syscalls", "alice syscalls \\", "alice /x.star signed sha256=" + hash, "alice syscalls write=tmp",
	} {
		if _, err := Parse("f", line, userOf); err == nil || diag.HintOf(err) == "" ||
			!strings.Contains(err.Error(), "f") {
			t.Errorf("%s: got %v, want an error that names the line, with a hint", line, err)
		}
	}
}

func TestOptionsAreThoseOfARule(t *testing.T) {
	p, err := Parse("f", "u syscalls --pids=* --than=100us..1s --limit=..10 --size=1k..1m --system "+
		"--engine=bpf|perf --event=sched:* --output=* --input=/data/* arg=eth* exec=/usr/bin/true "+
		"'exec=/usr/bin/env a=*' 'exec=/bin/cat /var/log/*' 'exec=/usr/bin/make **' "+
		`'--events=sched:*|uprobe:*@"/usr/lib/*"|kvm:*//push=192.0.2.1:9900/' --name=a*`+"\n"+
		"u syscalls --interval=1s", userOf)
	if err != nil {
		t.Fatal(err)
	}
	option := func(name string, values ...string) Request {
		return Request{Options: []OptionValues{{Name: name, Values: values}}}
	}
	for _, c := range []struct {
		q  Request
		ok bool
	}{
		{Request{}, true},
		{option("pids", "1,2"), true},
		{option("pids", "../1"), false},
		{option("than", "100us"), true},
		{option("than", "1000ms"), true},
		{option("than", "1001ms"), false},
		{option("than", "99us"), false},
		{option("than", "500000"), false}, // in which unit?
		{option("than", ""), false},
		{option("limit", "10"), true},
		{option("limit", "3,11"), false},
		{option("limit", "11"), false},
		{option("size", "64k"), true},
		{option("size", "2m"), false},
		{option("engine", "perf"), true},
		{option("engine", "interp"), false},
		{option("engine", "perf", "interp"), false},
		{option("help"), true},
		{option("tids", "1"), false},
		{option("event", "sched:sched_switch"), true},
		{option("event", "kvm:kvm_exit"), false},
		{Request{Options: []OptionValues{{Name: "system", Values: []string{"true"}, Bare: true}}}, true},
		{option("system", "true"), false},
		{Request{Options: []OptionValues{{"output", []string{"/tmp/x"}, false, true, true}}}, false},
		{Request{Options: []OptionValues{{"output", []string{"-"}, false, true, true}}}, true},
		{Request{Args: []string{"eth0"}}, true},
		{Request{Args: []string{"lo"}}, false},
		{Request{Command: []string{"/usr/bin/true"}}, true},
		{Request{Command: []string{"/usr/bin/true", "x"}}, false},
		{Request{Command: []string{"/usr/bin/env", "a=1"}}, true},
		{Request{Command: []string{"/usr/bin/env", "sh"}}, false},
		{Request{Command: []string{"/usr/bin/../bin/env", "sh"}}, false},
		{Request{Command: []string{"/usr/bin/../bin/env", "a=1"}}, false},
		{Request{Command: []string{"/bin/cat", "/var/log/syslog"}}, true},
		{Request{Command: []string{"/bin/cat", "/var/log/../../etc/shadow"}}, false},
		{Request{Command: []string{"/bin/cat", "/var/log/syslog", "/etc/shadow"}}, false},
		{Request{Command: []string{"/bin/cat", "/var/log/syslog /etc/shadow"}}, true}, // one file
		{Request{Command: []string{"/bin/cat"}}, false},
		{Request{Command: []string{"/usr/bin/make"}}, true},
		{Request{Command: []string{"/usr/bin/make", "-C", "../x"}}, true},
		{option("event", "sched:sched_switch,raw_syscalls:sys_enter"), false},
		{option("event", "sched:sched_switch,kprobe:do_exit"), false},
		{option("event", "sched:sched_switch,sched:sched_wakeup"), true},
		{option("event", "sched:sched_switch/prev_pid>0 || prev_prio==1/stack/key=prev_pid/"), true},
		{option("event", "sched:sched_switch/prev_pid>0/,kvm:kvm_exit"), false},
		{option("event", `sched:sched_switch//pull ="/etc/shadow"/`), false},
		{option("event", `sched:sched_switch//exec="printf('%s', user_string(0))"/`), false},
		{option("event", `sched:sched_switch//key=user_string(0)/`), false},
		{option("event", `uprobe:main@"/usr/lib/x"`), false},
		{option("events", `uprobe:main@"/usr/lib/x"`), true},
		{option("events", `uprobe:main@"/usr/lib/../../etc/shadow"`), false},
		{option("events", `uprobe:main@"/etc/shadow"`), false},
		{option("events", "kvm:kvm_exit//push=192.0.2.1:9900/"), true},
		{option("events", "kvm:kvm_exit//push=192.0.2.1:9900,/etc/passwd/"), false},
		{option("events", "kvm:kvm_exit//push=192.0.2.1:9900/pull=1/"), false},
		{option("events", "sched:sched_switch//push=192.0.2.1:9900/"), false},
		{option("events", "top/-e sched:sched_switch/"), false},
		{option("name", "ab,ac"), true},
		{option("name", "ab,b"), false},
		{option("name", "a/../b"), false},
		{option("interval", "1s"), true}, // by the second rule
		{Request{Options: append(option("interval", "1s").Options, option("pids", "1").Options...)},
			false}, // by none of both
	} {
		g, err := NewGate(p, User{1, "u", nil}, userOf("syscalls"))
		if err != nil {
			t.Fatal(err)
		}
		err = g.Open(c.q)
		if (err == nil) != c.ok || err != nil && diag.HintOf(err) == "" || (g.Rule != nil) != c.ok {
			t.Errorf("%+v: got %v (rule %v), want %v", c.q, err, g.Rule, c.ok)
		}
	}
}

// A file is written only where nobody else can put a link.
func TestFilesAreWrittenWhereRulesSay(t *testing.T) {
	testkit.Requires(t, testkit.Root) // some directories are root's
	dir := t.TempDir()
	for _, sub := range []string{"ours", "theirs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(dir, "theirs"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "ours", "link")); err != nil {
		t.Fatal(err)
	}
	try := func(write, path string) error {
		p, err := Parse("f", "u syscalls --output=* write="+filepath.Join(dir, write), userOf)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewGate(p, User{1, "u", nil}, userOf("syscalls"))
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, path)
		return g.Open(Request{Options: []OptionValues{{"output", []string{path}, false, true, true}}})
	}
	if err := try("ours", "ours/x"); err != nil {
		t.Errorf("got %v, want that it is allowed", err)
	}
	for write, path := range map[string]string{
		"ours": "theirs/x", "theirs": "theirs/x", "ours/link": "ours/link/x",
	} {
		if try(write, path) == nil {
			t.Errorf("write=%s: %s was allowed", write, path)
		}
	}
	if try("ours", "ours/link/passwd") == nil {
		t.Error("a file behind a link was allowed")
	}
}

// Rules about other contents do not count, also of what a script loads.
func TestContentsAreThoseOfARule(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("a")))
	p, err := Parse("f", "u /a.star sha256="+hash+" --pids=*\nu /a.star sha256="+sum+" --tids=*", userOf)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGate(p, User{1, "u", nil}, "/a.star")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Vet("/a.star", []byte("a")); err != nil {
		t.Fatal(err)
	}
	q := Request{Options: []OptionValues{{Name: "pids", Values: []string{"1"}}}}
	if err := g.Open(q); err == nil {
		t.Error("the options of other contents count")
	}
	if err := g.Vet("/b.star", []byte("a")); err == nil {
		t.Error("what the script loads was taken")
	}
	if err := g.Open(Request{}); err == nil || g.Rule != nil {
		t.Errorf("got rule %v, %v: no rule is left", g.Rule, err)
	}
	g, _ = NewGate(p, User{1, "u", nil}, "/a.star")
	if err := g.Vet("/a.star", []byte("changed")); err == nil || diag.HintOf(err) == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
}

// Only root may say that somebody else called.
func TestCallerIsWhomSudoSays(t *testing.T) {
	t.Setenv("SUDO_UID", "65534")
	t.Setenv("SUDO_GID", "65534")
	t.Setenv("SUDO_USER", "root")
	u := Caller()
	if os.Getuid() == 0 && (u.ID != 65534 || u.Name == "root" || !slices.Contains(u.Groups, "#65534") ||
		slices.Contains(u.Groups, "#0")) {
		t.Errorf("got %+v, want user 65534", u)
	}
	if os.Getuid() != 0 && u.ID != os.Getuid() {
		t.Errorf("got %+v, want ourselves", u)
	}
}

func TestEnvironmentDoesNotCount(t *testing.T) {
	for name, v := range map[string]string{"PPSCRIPTPROXY": "file:///tmp", "PATH": "/tmp", "TERM": "xterm",
		"LINES": "../x", "GODEBUG": "inittrace=1"} {
		t.Setenv(name, v)
	}
	times := 0
	defer func(was func() error) { executeAnew = was }(executeAnew)
	executeAnew = func() error { times++; return nil }
	for range 2 { // the second time as the program that was executed
		if err := CleanEnvironment(); err != nil {
			t.Fatal(err)
		}
	}
	if times != 1 {
		t.Errorf("executed %d times anew, want once: Go's runtime had read GODEBUG", times)
	}
	if os.Getenv("PPSCRIPTPROXY")+os.Getenv("LINES") != "" || os.Getenv("TERM") != "xterm" ||
		strings.Contains(os.Getenv("PATH"), "tmp") {
		t.Errorf("got %v", os.Environ())
	}
}
