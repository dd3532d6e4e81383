package vm

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// This file tests features that only an arm64 guest has: a CPU with counters,
// and that architecture's registers, probes and stacks.

// parts cuts a guest's output at lines "BEGIN name".
func parts(output []byte) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split("\n"+string(output), "\nBEGIN ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		all[name] = text + "\n"
	}
	return all
}

// wants makes a check that a part of the output matches a pattern.
func wants(t *testing.T, got map[string]string) func(name, pattern string) {
	return func(name, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(got[name]) {
			t.Errorf("%s: got\n%s\nwant %s", name, got[name], pattern)
		}
	}
}

// share returns the share of folded stacks, by weight, with a frame that
// matches.
func share(t *testing.T, folded, frame string) (part float64, lines int) {
	t.Helper()
	known := regexp.MustCompile(";(" + frame + ")(;| )")
	var all, those int64
	if strings.TrimSpace(folded) == "" {
		return 0, 0
	}
	for line := range strings.Lines(strings.TrimSpace(folded) + "\n") {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
		if err != nil {
			t.Fatalf("folded line %q: %v", line, err)
		}
		lines++
		if all += n; known.MatchString(line) {
			those += n
		}
	}
	return float64(those) / float64(max(1, all)), lines
}

// number returns a cell that is a number, or a text with a number.
func number(t *testing.T, r testkit.Row, column string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(fmt.Sprint(r[column]), 64)
	if err != nil {
		t.Fatalf("column %s of %v: %v", column, r, err)
	}
	return f
}

// rows returns the rows of the last table in JSON.
func rows(t *testing.T, output string) (rows []testkit.Row) {
	t.Helper()
	for _, table := range testkit.Tables(t, output) {
		rows = table.Rows
	}
	if len(rows) == 0 {
		t.Fatalf("got no rows in\n%s", output)
	}
	return rows
}

// countsTheLoop checks the counters for a loop of 10^8 instructions, and the
// messages about counters that the CPU lacks.
func countsTheLoop(t *testing.T, got map[string]string) {
	t.Helper()
	const insns = 100_000_000
	r := rows(t, got["counted"])[0]
	if n := number(t, r, "INSNS"); n < insns || n > insns+insns/1000 ||
		math.Abs(number(t, r, "IPC")-0.5) > 0.005 || number(t, r, "RUN%") != 100 {
		t.Errorf(
			"hwstat of a loop: got %v, want %d instructions, those of the start, and half as many in a cycle",
			r, insns)
	}
	sum := func(part string, columns ...string) (n float64) {
		for _, table := range testkit.Tables(t, got[part]) {
			for _, r := range table.Rows {
				for _, c := range columns {
					n += number(t, r, c)
				}
			}
		}
		return n
	}
	if n := sum("whole", "INSNS"); n < insns || n > 2*insns {
		t.Errorf("hwstat of CPUs: got %.0f instructions, want %d and those of the kernel", n, insns)
	}
	if n := sum("cpuutil", "user cycles", "sys cycles"); n < 2*insns || n > 4*insns {
		t.Errorf("cpu-util: got %.0f cycles, want %d and those of the kernel", n, 2*insns)
	}
	for part, missing := range map[string]string{
		"llcstat": "no hardware counter of cache-references, cache-misses;",
		"tlbstat": "no hardware counter of dTLB-loads, dTLB-load-misses, dTLB-stores, dTLB-store-misses;",
	} {
		if !strings.Contains(got[part], missing) {
			t.Errorf("%s: got %q, want %s", part, got[part], missing)
		}
	}
}

// samplesTheLoop checks the samples of the counters in that loop, with and without
// programs: one for each million instructions, and two for the same time in cycles.
func samplesTheLoop(t *testing.T, got map[string]string) {
	t.Helper()
	for _, engine := range []string{"bpf", "perf"} {
		tables := testkit.Tables(t, got["pmu "+engine])
		if len(tables) != 3 {
			t.Errorf("%s: got %d tables, want 3, in\n%s", engine, len(tables), got["pmu "+engine])
			continue
		}
		f := func(table int, column string, want float64) {
			t.Helper()
			rows := tables[table].Rows
			if len(rows) != 1 || math.Abs(number(t, rows[0], column)-want) > want/50 {
				t.Errorf("%s: got %v, want one row with %s %.0f", engine, rows, column, want)
			}
		}
		f(0, "count", 100)
		f(0, "period", 1e6)
		f(1, "count", 100)
		f(2, "n", 200)
		f(2, "sum", 200e6)
	}
}

// The whole program on arm64. The guest's CPU runs 10^9 cycles in a second and
// half as many instructions, so its counts are known.
func TestARM64(t *testing.T) {
	t.Parallel()
	const arch = "arm64"
	const calls = 12345
	chain := cProgram(t, arch, "../../runtime/stack/symbol/testdata/chain.c", "-fomit-frame-pointer")
	shop := "../../runtime/stack/symbol/testdata/shop.go"
	files := map[string]string{
		"/w/ppscript": build(t, arch, "cmd/ppscript"),
		"/w/load":     build(t, arch, "tests/testkit/load"),
		"/w/target":   cProgram(t, arch, "../../runtime/source/probe/testdata/target.c"),
		"/w/chain":    chain,
		"/w/counted":  cProgram(t, arch, "testdata/counted.c"),
		"/w/shop":     goProgram(t, arch, "shop", "build", shop),
		"/w/stripped": goProgram(t, arch, "stripped", "build", "-ldflags=-s -w", shop),
	}
	script := fmt.Sprintf(`
begin() { echo; echo BEGIN "$1"; }
stacks() { # NAME UNWIND PROGRAM
	begin "$1"
	ppscript --flame-graph /tmp/o.folded -c "sample(freq = 500, exclude_kernel = True).stack(unwind = \"$2\").stacks(\"period\").top(1)" -- $3 0.6 >/tmp/log 2>&1 || cat /tmp/log
	cat /tmp/o.folded; rm /tmp/o.folded
}
pmu=$(ls /sys/bus/event_source/devices | grep armv8)
cat >pmu.star <<END
def main(o):
    return [
        hardware("instructions", period = 1000000, exclude_kernel = True).where("_comm == \"counted\"").by("period").count(),
        pmu("$pmu", 8, period = 1000000, exclude_kernel = True).where("_comm == \"counted\"").by("period").count(),
        hardware("cycles", period = 1000000, exclude_kernel = True).where("_comm == \"counted\"").agg(n = agg.count(), sum = agg.sum("period")),
    ]
END
begin hwstat; ppscript hwstat --format json -- chain 0.3
begin counted; ppscript hwstat --exclude-kernel --format json -- counted 50000000
begin whole; ppscript hwstat --system --format json -- counted 50000000
begin cpuutil; ppscript cpu-util --cycles --system --format json -- counted 50000000
begin llcstat; ppscript llcstat --duration 1 2>&1
begin tlbstat; ppscript tlbstat --duration 1 2>&1
begin cycles; ppscript --format json -c 'sample(freq = 500).by("comm").agg(n = agg.count(), sum = agg.sum("period"))' -- chain 0.5
for engine in bpf perf; do
	begin "pmu $engine"
	ppscript --engine $engine --format json pmu.star -- counted 50000000
done
begin profile; ppscript profile -F 200 -N 20 -- chain 0.5
begin clock; ppscript profile -F 200 -N 20 --event cpu-clock -- chain 0.5
stacks chain dwarf chain
stacks go fp shop
stacks stripped auto stripped
begin kprobe; ppscript -c 'kprobe("ksys_read", args = "int fd, char *buf, unsigned long count").by("count").count()' -- dd if=/dev/zero of=/dev/null bs=777 count=13 2>&1
begin kretprobe; ppscript -c 'join([kprobe("__arm64_sys_getppid")], [kretprobe("__arm64_sys_getppid", ret = "int")], key = "tid").latency()' -- load -getppid %[1]d
begin kernelstack; ppscript --flame-graph /tmp/o.folded -c 'kprobe("__arm64_sys_getppid").stack().stacks().top(1)' -- load -getppid 50 >/dev/null 2>&1; cat /tmp/o.folded
begin uprobe; echo go | ppscript trace -e 'uprobe:work@"/w/target"' -- target 5
begin usdt; echo go | ppscript trace -e 'usdt:demo:args@"/w/target"' -- target 5
begin bpf; ppscript --engine bpf --format json -c 'tracepoint("raw_syscalls:sys_enter").by("id").count()' -- load -getppid %[1]d
begin perf; ppscript --engine perf --format json -c 'tracepoint("raw_syscalls:sys_enter").by("id").count()' -- load -getppid %[1]d
begin explain; ppscript explain -c 'tracepoint("raw_syscalls:sys_enter").by("id").count()'
begin left; cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/uprobe_events
exit 0`, calls)
	r := Run(t, Guest{Arch: arch, MemoryMiB: 768, CountInsns: true, Files: files, Timeout: 5 * time.Minute},
		script)
	got := parts(bytes.ReplaceAll(r.Output, []byte("\r"), nil))

	hw := rows(t, got["hwstat"])[0]
	if cycles, insns, ipc := number(t, hw, "CYCLES"), number(t, hw, "INSNS"),
		number(t, hw, "IPC"); cycles < 0.25e9 || cycles > 0.6e9 ||
		insns < 0.45*cycles || insns > 0.55*cycles || ipc < 0.45 || ipc > 0.55 {
		t.Errorf("hwstat of 0.3 s: got %v, want 0.3e9 cycles and half as many instructions", hw)
	}
	countsTheLoop(t, got)
	samplesTheLoop(t, got)
	// The sum of the periods equals the count, up to the last period.
	sampled := testkit.Row{}
	for _, r := range rows(t, got["cycles"]) {
		if r["comm"] == "chain" { // the thread had another name before its exec
			sampled = r
		}
	}
	if n, sum := number(t, sampled, "n"), number(t, sampled, "sum"); n < 50 || sum < 0.4e9 || sum > 0.9e9 {
		t.Errorf("samples of 0.5 s: got %v, want hundreds of samples of 0.5e9 cycles", sampled)
	}
	want := func(name, pattern string, times int) {
		t.Helper()
		if n := len(regexp.MustCompile(pattern).FindAllString(got[name], -1)); n != times {
			t.Errorf("%s: got %d times %s, want %d, in\n%s", name, n, pattern, times, got[name])
		}
	}
	want("profile", `profile: \d+ cpu-cycles ip `, 20)
	want("clock", `profile: `, 20)

	for _, c := range []struct {
		name, frames string
		want         float64
	}{
		{"chain", "main", 0.99},
		{"go", `main\.main|main\.main\.func1|runtime\.(rt0_go|mstart|goexit|mcall|systemstack|morestack)(\.abi0)?`, 0.99},
		{"stripped", `main\.main|main\.main\.func1|runtime\.(rt0_go|mstart|goexit|mcall|systemstack|morestack)(\.abi0)?`, 0.99},
	} {
		part, lines := share(t, got[c.name], c.frames)
		if t.Logf("%s: %.2f%% of %d stacks are whole", c.name, 100*part, lines); part < c.want || lines < 5 {
			t.Errorf("%s: %.2f%% of the cycles have frame %s, want %.0f%%", c.name, 100*part,
				c.frames, 100*c.want)
		}
	}

	want("kprobe", `(?m)^ *777 +13$`, 1)
	want("kretprobe", fmt.Sprintf(`__arm64_sys_getppid => __arm64_sys_getppid +%d `, calls), 1)
	want("kernelstack", `(?m);main\.\S*;el0t_64_sync;el0t_64_sync_handler;el0_svc;\S*;__arm64_sys_getppid 50$`, 1)
	for i := range 5 {
		want("uprobe", fmt.Sprintf(`uprobe:work: \(\w+\) arg1=%d arg2=\S+ arg3=0x200000000 `, uint32(i-3)), 1)
		want("usdt", fmt.Sprintf(`demo:args: \(\w+\) arg1=%d arg2=\S+ arg3=42 arg4=%[1]d arg5=%d`, -3-i, 5000+
			i), 1)
	}
	want("explain", `engine +bpf: `, 1)
	const getppid = 173
	for _, engine := range []string{"bpf", "perf"} {
		n := 0.0
		for _, r := range rows(t, got[engine]) {
			if number(t, r, "id") == getppid {
				n = number(t, r, "count")
			}
		}
		if n != calls {
			t.Errorf("%s: got %v calls of getppid, want %d", engine, n, calls)
		}
	}
	want("left", `\S`, 0)
}
