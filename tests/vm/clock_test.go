package vm

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Events of a host have times on the clock of its guest: the monitor of a
// nested machine asks the kernel for the guest's time and passes it to a system
// call. The converted time of that call lies between this time and the next
// one.
func TestKVMClock(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	r := Run(t, kvmGuest(t, files), `
minikvm -clock 1000000 >/dev/null & pid=$!
until grep -q vcpu /proc/$pid/task/*/comm; do sleep 0.1; done
ppscript trace -e 'raw_syscalls:sys_enter/id == 110/' -p $pid --kvmclock $pid -N 200 --format json || exit
echo; echo NEXT
ppscript multi-trace -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -k _tid -p $pid --tsc -N 200
ppscript trace -e 'raw_syscalls:sys_enter' --kvmclock 1 -N 1 2>&1
ppscript trace -e 'raw_syscalls:sys_enter//push="/w/events"/' -- ls / >/dev/null
ppscript trace -e "raw_syscalls:sys_enter//pull=\"/w/events\"/vm=$pid/" -N 3
kill $pid; exit 0`)
	if r.Status != 0 {
		t.Fatalf("got status %d", r.Status)
	}
	log, rest, _ := strings.Cut(string(r.Output), "NEXT\n")
	type sample struct{ at, clock int64 }
	var list []sample
	for _, e := range testkit.Events(t, log) {
		args, ok := e.Fields["args"].([]any)
		if !ok || len(args) == 0 {
			t.Fatalf("got fields %v, want args", e.Fields)
		}
		list = append(list, sample{e.Time, testkit.Row{"clock": args[0]}.Int(t, "clock")})
	}
	if len(list) != 200 {
		t.Fatalf("got %d events, want 200", len(list))
	}
	// The guest's clock is adjusted between updates; perf's clock jumps at
	// most by a tick.
	const off = 5e6
	for i, s := range list {
		if s.at < s.clock-off || i+1 < len(list) && s.at > list[i+1].clock+off {
			t.Errorf("event %d: got %d ns, want it between %d and the next", i, s.at, s.clock)
		}
	}
	if span := list[199].at - list[0].at; span <= 0 {
		t.Errorf("got 200 events in %d ns", span)
	}
	// Events of a guest's CPU 0 are assigned to its thread on the host.
	if n := strings.Count(rest, " G           vcpu 0 "); n != 3 {
		t.Errorf("got\n%s\nwant three lines of the guest's first CPU", rest)
	}
	for _, want := range []string{"total(kcyc)", "kvmclock 1: process 1 has no threads of virtual CPUs"} {
		if !strings.Contains(rest, want) {
			t.Errorf("got\n%s\nwant %s", rest, want)
		}
	}
}
