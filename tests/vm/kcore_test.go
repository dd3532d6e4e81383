package vm

import (
	"regexp"
	"strings"
	"testing"
)

// Reading the kernel's memory, which the development machines forbid: a
// pointer, the text at it, errors for other places; and kernel code that
// changes.
func TestKcoreReadsKernel(t *testing.T) {
	t.Parallel()
	script := `
set -- $(ppscript kcore -8 saved_command_line 1)
echo BEGIN pointer; echo $1 $2
echo BEGIN text; ppscript kcore --string 0x$2
echo BEGIN want; cat /proc/cmdline
echo BEGIN bytes; ppscript kcore -1 linux_proc_banner 14
echo BEGIN numbers; ppscript kcore -4 linux_proc_banner+0x0 3
echo BEGIN refusals; ppscript kcore 0x10 2>&1; ppscript kcore no_such_symbol 2>&1; ppscript kcore --string 0xffffffffffff0000 2>&1
echo BEGIN poke
ppscript misc --kind text-poke --format json -v > poke.out 2> poke.err &
for i in $(seq 100); do grep -q " open event" poke.err && break; sleep 0.1; done
# A tracepoint that nobody used before: its jumps are patched, and patched back.
echo 1 > /sys/kernel/tracing/events/kmem/mm_page_alloc/enable
echo 0 > /sys/kernel/tracing/events/kmem/mm_page_alloc/enable
kill -INT $!; wait $!
grep -o 'text":"kind=text-poke name=get_page_from_freelist.*old=[^"]*\|text":"kind=text-poke name=__alloc_pages.*old=[^"]*' poke.out
echo BEGIN end
exit 0`
	r := Run(t, Guest{
		CPUs:      1,
		MemoryMiB: 512,
		Files:     map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")},
	}, "cd /w; PATH=/w:$PATH"+script)
	got := parts(r.Output)
	part := func(name string) string { return strings.TrimSpace(got[name]) }
	if got, want := part("text"), part("want"); got != want || want == "" {
		t.Errorf("the command line: got %q, want %q", got, want)
	}
	// %s version %s
	for name, want := range map[string]string{
		"bytes":   "25 73 20 76 65 72 73 69 6f 6e 20 25 73 20",
		"numbers": "76207325 69737265 25206e6f",
	} {
		if !strings.Contains(part(name), ": "+want) ||
			!strings.Contains(part(name), "%s version %") && name == "bytes" {
			t.Errorf("%s: got %q, want %s", name, part(name), want)
		}
	}
	for _, want := range []string{
		`old=(66 90|0f 1f 44 00 00) new=e[b9] `, `old=e[b9] [0-9a-f ]+ new=(66 90|0f 1f 44 00 00)`,
	} {
		if !regexp.MustCompile(want).MatchString(part("poke")) {
			t.Errorf("text-poke: got\n%s\nwant %s: a jump in the place of a nop, and back",
				part("poke"), want)
		}
	}
	for _, want := range []string{
		"0x10: 16 bytes there are not memory of the kernel",
		"no_such_symbol: the kernel has no such symbol", "hint: ",
	} {
		if !strings.Contains(part("refusals"), want) {
			t.Errorf("refusals: got\n%s\nwant %s", part("refusals"), want)
		}
	}
	if t.Failed() {
		t.Logf("%.3000s", r.Output)
	}
}
