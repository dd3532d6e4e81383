package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file checks which events are opened on CPUs that this machine does not
// have. ppscript and perf run in a mount namespace with other files about the
// CPU and its PMUs. Both then request that CPU's events from the kernel, which
// refuses them, and strace shows the requests.

// A cpuTree has the files in /proc and /sys that describe a CPU.
type cpuTree struct {
	info string            // /proc/cpuinfo
	pmus map[string]string // /sys/bus/event_source/devices, by path
}

func skylake() cpuTree {
	return cpuTree{
		"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n" +
			"stepping\t: 4\nflags\t\t: fpu\n",
		map[string]string{
			"cpu/type":              "4",
			"cpu/format/event":      "config:0-7",
			"cpu/format/umask":      "config:8-15",
			"cpu/format/ldlat":      "config1:0-15",
			"cpu/events/mem-loads":  "event=0xcd,umask=0x1,ldlat=3",
			"cpu/events/mem-stores": "event=0xd0,umask=0x82",
		}}
}

func zen(family, model int) cpuTree {
	c := cpuTree{fmt.Sprintf(
		"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: EPYC\nstepping\t: 1\nflags\t\t: fpu\n",
		family, model), map[string]string{
		"cpu/type":              "4",
		"cpu/format/event":      "config:0-7,32-35",
		"cpu/format/umask":      "config:8-15",
		"ibs_op/type":           "11",
		"ibs_op/format/cnt_ctl": "config:19",
		"amd_l3/type":           "13",
		"amd_l3/cpumask":        "0",
		"amd_l3/format/event":   "config:0-7",
		"amd_l3/format/umask":   "config:8-15",
	}}
	l3 := map[string]string{"slicemask": "config:48-51", "threadmask": "config:56-63"}
	if family > 0x17 {
		l3 = map[string]string{
			"coreid":      "config:42-44",
			"enallslices": "config:46",
			"enallcores":  "config:47",
			"sliceid":     "config:48-50",
			"threadmask":  "config:56-57",
		}
	}
	for name, bits := range l3 {
		c.pmus["amd_l3/format/"+name] = bits
	}
	return c
}

// run runs a command in a namespace with these files.
func (c cpuTree) run(t *testing.T, args ...string) testkit.Output {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cpuinfo", c.info)
	for name, text := range c.pmus {
		write("devices/"+name, text)
	}
	for _, pmu := range []string{"software", "tracepoint"} {
		text, err := os.ReadFile("/sys/bus/event_source/devices/" + pmu + "/type")
		if err != nil {
			t.Fatal(err)
		}
		write("devices/"+pmu+"/type", strings.TrimSpace(string(text)))
	}
	const other = `mount --bind "$0/devices" /sys/bus/event_source/devices && mount --bind "$0/cpuinfo" /proc/cpuinfo && exec "$@"`
	return testkit.Run(t, append([]string{"unshare", "-m", "sh", "-c", other, dir}, args...)...)
}

// on runs a command there and returns its requests to perf_event_open as "type
// config config1", without software events.
func (c cpuTree) on(t *testing.T, args ...string) map[string]bool {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	out := c.run(t,
		append([]string{"strace", "-f", "-X", "raw", "-v", "-e", "trace=perf_event_open", "-o", trace},
			args...)...)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out.Stderr)
	}
	asked := map[string]bool{}
	for _, m := range attrs.FindAllStringSubmatch(string(text), -1) {
		n := make([]uint64, 3)
		for i := range n {
			n[i], _ = strconv.ParseUint(m[i+1], 0, 64)
		}
		if n[0] != 1 && n[0] != 2 {
			asked[fmt.Sprintf("%d %#x %#x", n[0], n[1], n[2])] = true
		}
	}
	if len(asked) == 0 {
		t.Fatalf("%v: nothing was asked for\n%s%s", args, out.Stderr, text)
	}
	return asked
}

var attrs = regexp.MustCompile(`\{type=([^,]+), size=[^,]+, config=([^,]+),.*? config1=([^,}]+)`)

// Each profiler of the CPU's counters requests the same events as perf, if
// users name the same events to perf.
func TestCountersOfOtherCPUs(t *testing.T) {
	live(t, testkit.Perf, testkit.Strace)
	for _, c := range []struct {
		tree   cpuTree
		ours   string
		events string // of perf
	}{
		{skylake(), "llcstat", "cache-references,cache-misses"},
		{skylake(), "tlbstat", "dTLB-loads,dTLB-load-misses,dTLB-stores,dTLB-store-misses"},
		{skylake(), "hwstat", "cycles,instructions"},
		{skylake(), "cpu-util --cycles", "cycles"},
		{skylake(), "split-lock --test", "cpu/event=0xf4,umask=0x10/"},
		{skylake(), "ldlat-loads --ldlat 64", "cpu/event=0xcd,umask=1,ldlat=64/"},
		{skylake(), "ldlat-stores", "cpu/event=0xd0,umask=0x82/"},
		{zen(0x17, 0x31), "split-lock --test", "cpu/event=0x25,umask=1/"},
		{zen(0x17, 0x31), "ldlat-loads", "ibs_op/cnt_ctl=1/"},
		{zen(0x17, 0x31), "hwstat", "cycles,instructions"},
	} {
		args := append([]string{testkit.PPScript(t)}, strings.Fields(c.ours)...)
		got := c.tree.on(t, append(args, "-C", "0", "--duration", "100ms")...)
		// To find out what is missing, ppscript also tries an event without
		// modifiers.
		plain := regexp.MustCompile(`^(4 .*) 0x[^0].*$`)
		for a := range maps.Clone(got) {
			if m := plain.FindStringSubmatch(a); m != nil {
				delete(got, m[1]+" 0x0")
			}
		}
		want := c.tree.on(t, "perf", "stat", "-C", "0", "-e", c.events, "--", "true")
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want what perf asks for: %v", c.ours, slices.Sorted(maps.Keys(got)),
				slices.Sorted(maps.Keys(want)))
		}
	}
}

// The events of AMD's caches have the numbers to which perf translates the
// terms of each generation.
func TestCachesOfAMD(t *testing.T) {
	live(t, testkit.Perf, testkit.Strace)
	const zen1 = "slicemask=0xf,threadmask=0xff"
	const zen3 = "enallslices=1,enallcores=1,threadmask=3"
	for _, c := range []struct {
		tree          cpuTree
		cache, misses string // PMUs that count lookups and the latencies of misses
	}{
		{zen(0x17, 0x31), zen1, zen1},
		{zen(0x19, 0x01), zen3, zen3},
		{zen(0x19, 0x11), zen3, zen3 + ",sliceid=3"},
	} {
		var events []string
		for i, code := range []string{
			"event=4,umask=0xff", "event=4,umask=1", "event=0x90", "event=0x9a,umask=0x1f",
		} {
			events = append(events, "amd_l3/"+code+","+[]string{c.cache, c.cache, c.misses, c.misses}[i]+"/")
		}
		want := c.tree.on(t, "perf", "stat", "-C", "0", "-e", strings.Join(events, ","), "--", "true")
		got := map[string]bool{}
		out := c.tree.run(t, testkit.PPScript(t), "explain", "llcstat").Want(t, 0).Stdout
		for _, m := range regexp.MustCompile(`counter pmu:amd_l3/0x([0-9a-f]+)`).
			FindAllStringSubmatch(out, -1) {
			n, _ := strconv.ParseUint(m[1], 16, 64)
			// This bit enables the counter, which the kernel does itself.
			got[fmt.Sprintf("13 %#x 0x0", n&^(1<<22))] = true
		}
		if len(got) != 4 || !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want what perf asks for: %v", c.tree.info, slices.Sorted(maps.Keys(got)),
				slices.Sorted(maps.Keys(want)))
		}
		// The run requests the first of them, and then gets the error that it does not
		// exist.
		for a := range c.tree.on(t, testkit.PPScript(t), "llcstat", "--duration", "100ms") {
			if !strings.HasPrefix(a, "13 0x") {
				t.Errorf("%s: got %s, want an event of the cache", c.tree.info, a)
			}
		}
	}
}
