package engines

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ppscript/builtins/all"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
	"ppscript/runtime/session"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/system/kernel"
	"ppscript/stdlib"
	"ppscript/tests/testkit"
)

// This file plans every script with each of its options.

// repository is the root of the tree, from here.
const repository = "../.."

// A planner plans scripts, and opens nothing.
type planner struct {
	host    *script.Host
	modules map[string]*script.Module
}

func newPlanner(t *testing.T) *planner {
	t.Helper()
	reg, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	host := script.NewHost(script.HostOptions{
		Predeclared: reg.Predeclared(), Stdlib: stdlib.FS(), Print: func(string) {},
	})
	return &planner{host, map[string]*script.Module{}}
}

// scripts returns the names of all shipped scripts: profilers, and files of
// scripts/ by their path.
func scripts(t *testing.T) []string {
	t.Helper()
	list := stdlib.Names()
	err := filepath.WalkDir(filepath.Join(repository, "scripts"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(repository, path)
			if strings.HasSuffix(name, ".star") && !strings.HasSuffix(name, "_test.star") &&
				!strings.HasPrefix(name, "scripts/lib/") {
				list = append(list, name)
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (p *planner) load(t *testing.T, name string) *script.Module {
	t.Helper()
	if m := p.modules[name]; m != nil {
		return m
	}
	file := filepath.Join(repository, name)
	if profiler, ok := stdlib.Find(name); ok {
		file = "@stdlib//" + profiler
	}
	m, err := p.host.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if m.Options == nil {
		m.Options = &option.Set{}
	}
	p.modules[name] = m
	return m
}

// A choice is a parsed command line: options by name, then arguments.
type choice struct {
	options map[string][]string
	words   []string
}

// read reads the arguments of a Comparison.
func (p *planner) read(t *testing.T, name, args string, words map[string]string) choice {
	t.Helper()
	c := choice{options: map[string][]string{}}
	set := p.load(t, name).Options
	for _, a := range strings.Fields(args) {
		flag, value, valued := strings.Cut(Words(a, words), "=")
		if !strings.HasPrefix(flag, "-") {
			c.words = append(c.words, Words(a, words))
			continue
		}
		o, ok := set.Find(strings.TrimLeft(flag, "-"))
		switch {
		case !ok && slices.Contains(common, flag):
			continue
		case !ok:
			t.Fatalf("%s: no option %s", name, flag)
		case !valued && o.Type == option.Flag:
			value = "true"
		case !valued:
			value = o.Alone
		}
		c.options[o.Name] = append(c.options[o.Name], value)
	}
	return c
}

// common are those options of every script that comparisons use.
var common = []string{"--inherit", "-i", "-C"}

// with returns c with more options.
func (c choice) with(more ...setting) choice {
	given := maps.Clone(c.options)
	for _, o := range more {
		given[o.name] = []string{o.value}
	}
	return choice{given, c.words}
}

// config returns the session's configuration for a command line; false if it
// cannot run.
func (p *planner) config(t *testing.T, name string, c choice) (cfg session.Config, ok bool) {
	t.Helper()
	m := p.load(t, name)
	values, err := m.Options.Values(c.options, c.words)
	if err != nil {
		return cfg, false
	}
	v, err := p.host.Run(m, values)
	if err != nil {
		return cfg, false
	}
	cfg.Services = &expr.Services{Ksym: symbol.NewKernel("").Name}
	cfg.Reports, err = pipeline.Reports(v, false)
	return cfg, err == nil
}

// fits returns how a script runs under --engine bpf: "whole" inside the kernel, "cut" after
// a join, from records that programs "send"; "" if programs run nothing of it, or no engine
// runs it.
func (p *planner) fits(t *testing.T, name string, c choice, byThread bool) string {
	t.Helper()
	p.host.Session.ByThread = byThread
	cfg, ok := p.config(t, name, c)
	if !ok {
		return ""
	}
	if byThread {
		cfg.Target = perf.Target{PIDs: []int{os.Getpid()}}
	}
	cfg.Options.Reading.Engine = "bpf"
	d, err := session.Explain(cfg)
	if err != nil {
		return ""
	}
	how := ""
	switch s := d.Text; {
	case strings.Contains(s, ", only what matches leaves it\n"):
		how = "cut"
	case strings.Contains(s, "\nengine          bpf: "):
		how = "whole"
	case strings.Contains(s, "\nprojected records since "):
		how = "sent"
	}
	cfg.Options.Reading.Engine = "perf"
	if _, err := session.Explain(cfg); how != "" && err != nil {
		return "" // only programs can run it
	}
	return how
}

// A setting is an option with its value.
type setting struct{ name, value string }

func (o setting) String() string { return "--" + o.name + "=" + o.value }

// required are the options without which scripts do not run. A script has several
// command lines if it has many options that fit only together.
var required = map[string][]string{
	"blktrace":     {"--device=loop0"},
	"breakpoint":   {"0x1000/8:w"},
	"event_lost":   {"--events=sched:sched_switch"},
	"expr":         {"--events=sched:sched_switch prev_pid"},
	"funccount":    {"--events=sched:sched_switch"},
	"hrcount":      {"--events=sched:sched_switch"},
	"hrtimer":      {"--events=sched:sched_switch --period=10ms"},
	"kcore":        {"0x1000"},
	"kmemleak":     {"--alloc=kmem:kmalloc//size=bytes_alloc/ --free=kmem:kfree"},
	"kmemprof":     {"--events=kmem:kmalloc --events=kmem:kfree --key=ptr"},
	"multi_trace":  {"--events=raw_syscalls:sys_enter --events=raw_syscalls:sys_exit --key=_tid"},
	"nested_trace": {"--events=raw_syscalls:sys_enter,raw_syscalls:sys_exit --key=_tid"},
	"num_dist":     {"--events=raw_syscalls:sys_exit//num=ret/"},
	"profile": {"", "--top=5 --event=cpu-clock", "--top=5 --event=cpu-clock --user-callchain=fp",
		"--sort=comm,dso,symbol --event=cpu-clock"},
	"annotate":    {"", "--by=line --event=cpu-clock"},
	"page_faults": {"", "--top=5"},
	"sql":         {"--events=sched:sched_switch --query=select{sp}1"},
	"stat":        {"--events=sched:sched_switch"},
	"top": {
		"--events=raw_syscalls:sys_enter//key=id/",
		"--events=raw_syscalls:sys_enter//key=id/comm=_comm/",
	},
	"trace":  {"--events=raw_syscalls:sys_enter"},
	"script": {"--events=raw_syscalls:sys_enter"},

	"scripts/cpu/funclatency.star":  {"libc malloc"},
	"scripts/cpu/offcpu.star":       {"", "--stacks"},
	"scripts/lock/contention.star":  {"", "--stacks"},
	"scripts/cpu/killsnoop.star":    {"--table"},
	"scripts/sched/timehist.star":   {""},
	"scripts/block/biolatency.star": {""},
}

// values are the values for options that are neither flags nor choices, by the
// option's name, or by script and name.
var values = map[string]string{
	"blktrace than": "1us", "call": "raw_syscalls:sys_enter//size=id/", "calls": "read", "detail": "samecpu",
	"device": "loop0", "event": "cpu-clock", "events": "sched:sched_switch",
	"exclude_pid": "1", "filter": "", "freq": "99", "heatmap": "/nonexistent/x", "interval": "10s",
	"irq_off than": "1s", "key": "_tid", "kind": "cgroup",
	"ldlat": "3", "lib": "libc", "line": "128", "lower": "1s", "max_stack": "10", "more": "sched:sched_switch", "name": "x*",
	"nr_running_max": "9", "nr_running_min": "1",
	"num_dist than": "1", "of": "x*", "only": "x*", "only_than": "1us", "output2": "/nonexistent/x",
	"period": "20ms", "prio": "0-120", "profile than": "50",
	"query": "select 1", "rows": "1000", "sched_policy": "0", "slot": "1s", "smt": "0,1", "state": "S",
	"than": "1us", "thresh": "1s", "threshold": "0", "top": "5", "trigger": "9",
	"ldlat_loads than": "1", "ldlat_stores than": "1",
}

// ofRuns are options of every script that some scripts declare again, with another default: the session
// takes them, whichever engine runs.
var ofRuns = []string{"duration", "interval", "reports"}

// optionsOf are the options that can be added to a choice, each with each value
// that makes a difference.
func (p *planner) optionsOf(t *testing.T, name string, c choice) (list []setting) {
	t.Helper()
	for _, o := range p.load(t, name).Options.Options {
		if o.Positional || c.options[o.Name] != nil || slices.Contains(ofRuns, o.Name) {
			continue
		}
		switch o.Type {
		case option.Flag:
			list = append(list, setting{o.Name, "true"})
		case option.Choice:
			for _, v := range o.Choices {
				list = append(list, setting{o.Name, v})
			}
		default:
			v, ok := values[name+" "+o.Name]
			if !ok {
				v, ok = values[o.Name]
			}
			if !ok {
				v = map[option.Type]string{
					option.Int: "1", option.Float: "1", option.Duration: "1ms", option.Size: "4k",
				}[o.Type]
			}
			list = append(list, setting{o.Name, v})
		}
	}
	return list
}

// uncompared lists options that fit and that no comparison has, by script, by how they
// fit and by option, each with the reason.
var uncompared = map[string]string{
	"why sent --thread=":                                "the time of a thread is no table that two engines could have the same rows of",
	"scripts/sched/offwake.star whole --stacks=true":    "stacks weigh times, of which each engine has its own",
	"scripts/sched/wakeuptime.star whole --stacks=true": "stacks weigh times, of which each engine has its own",
	"scripts/security/capable.star whole --denied=true": "root is denied nothing that a scene would do",
	"kvmmmu cut --events=true":                          "lines of single events beside a table are compared by signal",
	"kvmmmu cut --more=":                                "lines of single events beside a table are compared by signal",
	"scripts/block/opensnoop.star whole --lib=":         "without programs names are read later: tests/oracle compares with the kernel's",
	"scripts/block/opensnoop.star cut --lib=":           "likewise",
	"scripts/block/bitesize.star whole --comm=":         "a condition as syscount has it: who asks in the scene is the kernel",
	"scripts/block/biosnoop.star cut --disk=":           "a row for each pair: the pairs are compared as a table",
	"scripts/block/biosnoop.star cut --filter=":         "a row for each pair: the pairs are compared as a table",
	"scripts/block/biosnoop.star cut --queue=true":      "a row for each pair: the pairs are compared as a table",
	"scripts/block/biosnoop.star cut --than=":           "a row for each pair: the pairs are compared as a table",
	"scripts/file/syncsnoop.star cut --name=":           "a row for each pair: the pairs are compared as a table",
	"scripts/file/syncsnoop.star cut --than=":           "a row for each pair: the pairs are compared as a table",
	"scripts/file/syncsnoop.star cut --timestamp=true":  "a row for each pair: the pairs are compared as a table",
}

// ofAllCPUs are scripts about the work of CPUs and devices, for all processes. No scene can
// distinguish its own rows from others, and each engine causes such events for the other one.
// Their numbers are compared with the kernel's own counters, see tests/oracle.
var ofAllCPUs = []string{
	"scripts/cpu/hardirqs.star", "scripts/cpu/idlestates.star", "scripts/cpu/ipis.star",
	"scripts/cpu/softirqs.star", "scripts/cpu/tlbflush.star", "scripts/kernel/timers.star",
	"scripts/kernel/uringlat.star", "scripts/kernel/wqlat.star", "scripts/net/napi.star",
	"scripts/net/netqtop.star", "scripts/net/rcvlat.star", "scripts/net/skbdrop.star",
	"scripts/net/tcpcong.star", "scripts/net/tcpresets.star", "scripts/sched/preempted.star",
}

// alike lists scripts that are in no comparison, with the reason. Other scripts have the
// same operators: pairs by thread or by a key in a table, and counts.
var alike = map[string]string{
	"annotate":                     "its samples are those of profile; which instruction each meets is chance",
	"scripts/app/tlslatency.star":  "no scene uses OpenSSL",
	"scripts/block/bioerrors.star": "no scene has a disk that fails",
	"scripts/block/journal.star":   "no scene has a file system with a journal",
	"scripts/block/writeback.star": "no scene has the kernel write back",
	"scripts/cgroup/cgsnoop.star":  "no scene makes cgroups",
	"scripts/mem/compaction.star":  "no scene has memory compacted",
	"scripts/mem/hugepages.star":   "no scene asks for huge pages",
	"scripts/mem/kswapd.star":      "no scene wakes kswapd",
	"scripts/net/tcpaccept.star":   "its connections are those of tcpconnect.star, its calls those of all programs",
	"scripts/virt/kvmio.star":      "the guests of scenes have few accesses of a kind",
	"scripts/mem/pagemoves.star":   "no scene has pages moved",
	"scripts/mem/shrinkers.star":   "no scene has caches shrunk",
	"scripts/mem/slabs.star":       "objects come in interrupts too: kmallocs.star is compared",
}

// A script that fits into the kernel is in a comparison, and so is each option with
// which it fits, except those that are listed. Options that handle single events
// (push=, exec=, an event that ends intervals) never fit.
func TestEachScriptIsCompared(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	of := map[string][]*Comparison{}
	for i := range Comparisons {
		c := &Comparisons[i]
		of[c.Script] = append(of[c.Script], c)
	}
	names := scripts(t)
	for name := range of {
		if !slices.Contains(names, name) {
			t.Errorf("%s: there is no such script", name)
		}
	}
	var fitting, lacking atomic.Int64
	t.Run("scripts", func(t *testing.T) {
		for _, name := range names {
			t.Run(strings.ReplaceAll(name, "/", ":"), func(t *testing.T) {
				t.Parallel()
				fit, lack := compared(t, name, of[name])
				fitting.Add(fit)
				lacking.Add(lack)
			})
		}
	})
	t.Logf("%d command lines fit, %d are compared, %d have an option that is not", fitting.Load(),
		len(Comparisons), lacking.Load())
	if fitting.Load() < 400 {
		t.Errorf("got %d command lines that fit, want most", fitting.Load())
	}
}

// compared checks the comparisons of a script. It returns how many of the script's
// command lines fit, and how many of its options are in no comparison.
func compared(t *testing.T, name string, list []*Comparison) (fitting, options int64) {
	t.Helper()
	if alike[name] != "" && len(list) == 0 {
		return 0, 0
	}
	p := newPlanner(t)
	covered := map[string]bool{}
	for _, c := range list {
		said := p.read(t, name, c.Args, planWords)
		how := p.fits(t, name, said, c.ByThread)
		if how == "" {
			t.Logf("%s: does not fit into the kernel any more, or does not run", c)
			continue
		}
		covered[how] = true
		for name, texts := range said.options {
			for _, v := range texts {
				covered[how+" "+setting{name, v}.String()] = true
				covered[how+" "+setting{name, ""}.String()] = true
			}
		}
	}
	said := required[name]
	if said == nil {
		said = []string{""}
	}
	fits, lacking := map[string]string{}, map[string]string{}
	for _, byThread := range []bool{false, true} {
		for _, args := range said {
			c := p.read(t, name, args, nil)
			for _, o := range append([]setting{{}}, p.optionsOf(t, name, c)...) {
				more := c
				if o.name != "" {
					more = c.with(o)
				}
				key := p.fits(t, name, more, byThread)
				if key == "" {
					continue
				}
				fitting++
				example := fmt.Sprintf("%s %s (by thread: %v)", args, o, byThread)
				if o.name == "" && !covered[key] {
					fits[key] = example
				} else if o.name != "" {
					if key += " " + o.compared(p.load(t, name)).String(); !covered[key] {
						lacking[key] = example
					}
				}
			}
		}
	}
	if len(covered) == 0 && !slices.Contains(ofAllCPUs, name) {
		for _, key := range slices.Sorted(maps.Keys(fits)) {
			t.Errorf("fits (%s), and is in no comparison: %s", key, fits[key])
		}
	}
	say := t.Errorf
	if v, err := kernel.ReadVersion(kernel.Roots{}); err != nil || !v.AtLeast(6, 12) {
		say = t.Logf // programs can do less on older kernels, so other parts of plans fit
	}
	if slices.Contains(ofAllCPUs, name) {
		return fitting, int64(len(lacking))
	}
	for _, key := range slices.Sorted(maps.Keys(lacking)) {
		if _, known := uncompared[name+" "+key]; !known {
			say("%s: no comparison has it, for example %s", key, lacking[key])
		}
	}
	return fitting, int64(len(lacking))
}

// compared returns the option o in the form in which comparisons must have it:
// with its value, if the script lists values. How user stacks are found is the
// same for all scripts, and so is the choice of sampled faults for programs.
func (o setting) compared(m *script.Module) setting {
	if d, ok := m.Options.Find(o.name); ok && d.Type == option.Choice && o.name != "user_callchain" &&
		o.name != "event" {
		return o
	}
	return setting{o.name, map[bool]string{true: "true"}[o.value == "true"]}
}

// planWords replace the words of scenes when a script is only planned.
var planWords = map[string]string{"disk": "loop0", "dev": "1792", "name": "x", "port": "1", "pid": "1"}
