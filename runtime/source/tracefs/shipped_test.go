package tracefs

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// inPlace are the formats that are shipped for a kernel, as if this machine's could not be read.
func inPlace(t *testing.T, release string) *FS {
	t.Helper()
	running, err := kernel.ParseVersion(release)
	if err != nil {
		t.Fatal(err)
	}
	denied := diag.Errorf(diag.Attach, "read", "tracefs", "denied")
	return newShipped(nearestKernel(shipped(), "amd64", running), denied)
}

// TestShippedFormats checks that every shipped format parses, and that the events most used by
// scripts exist for each kernel.
func TestShippedFormats(t *testing.T) {
	kernels := ShippedKernels()
	if len(kernels) < 5 {
		t.Fatalf("got the kernels %v, want five or more", kernels)
	}
	for _, k := range kernels {
		fs := Shipped(k)
		names, err := fs.Events()
		if err != nil || len(names) < 2000 {
			t.Fatalf("%s: got %d tracepoints, %v, want 2,000 or more", k, len(names), err)
		}
		for _, name := range names {
			system, ev, _ := strings.Cut(name, ":")
			s, err := fs.Schema(system, ev)
			if err != nil {
				t.Fatalf("%s: %v", k, err)
			}
			if s.ID != 0 || s.FullName() != name {
				t.Errorf("%s: got %s with number %d, want %s without one", k, s.FullName(), s.ID, name)
			}
		}
		for _, name := range []string{
			"sched:sched_switch", "raw_syscalls:sys_enter", "syscalls:sys_enter_openat", "irq:softirq_entry",
			"timer:hrtimer_start", "block:block_rq_issue", "net:net_dev_queue", "sock:inet_sock_set_state",
			"tcp:tcp_retransmit_skb", "kmem:mm_page_alloc", "vmscan:mm_vmscan_direct_reclaim_begin",
			"writeback:writeback_start", "ext4:ext4_sync_file_enter", "workqueue:workqueue_queue_work",
			"signal:signal_generate", "task:task_newtask", "power:cpu_idle", "kvm:kvm_entry",
		} {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %s is not there", k, name)
			}
		}
	}
	s, err := inPlace(t, "6.12.0").Schema("sched", "sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := s.Field("prev_comm"); !ok || f.Kind != event.Str || f.Size != 16 {
		t.Errorf("sched_switch: got prev_comm %+v, want a text of 16 bytes", f)
	}
}

// A kernel gets the formats of the newest shipped one that is not newer, else of the oldest.
func TestNearestKernel(t *testing.T) {
	all := []*shippedFormats{
		{kernel: ShippedKernel{"amd64", "6.12.118+deb13-cloud-amd64"}},
		{kernel: ShippedKernel{"amd64", "5.10.0-46-cloud-amd64"}},
		{kernel: ShippedKernel{"arm64", "6.1.0-56-cloud-arm64"}},
		{kernel: ShippedKernel{"amd64", "6.1.0-56-cloud-amd64"}},
	}
	f := func(arch, release, want string) {
		t.Helper()
		v, err := kernel.ParseVersion(release)
		if err != nil {
			t.Fatal(err)
		}
		if got := nearestKernel(all, arch, v).kernel; !strings.HasPrefix(got.Release, want) {
			t.Errorf("%s %s: got %v, want %s", arch, release, got, want)
		}
	}
	f("amd64", "6.12.5", "6.12.118+deb13-cloud-amd64")
	f("amd64", "6.18.44-fc", "6.12")
	f("amd64", "6.8.0-45-generic", "6.1.0-56-cloud-amd64")
	f("amd64", "5.4.0", "5.10")
	f("arm64", "7.0.0", "6.1.0-56-cloud-arm64")
	f("riscv64", "6.12.0", "6.12") // an architecture without shipped formats
}

// What is not shipped is no mistake of the script, and says so with the nearest name.
func TestNotShippedIsUnverified(t *testing.T) {
	fs := inPlace(t, "6.12.0")
	f := func(err error, want string) {
		t.Helper()
		var u *diag.Unverified
		if !errors.As(err, &u) || err.Error() != want+" in "+fs.shipped.kernel.String() {
			t.Errorf("got %v, want the diag.Unverified %s", err, want)
		}
	}
	_, err := fs.Schema("sched", "sched_swich")
	f(err, "sched:sched_swich: not verified here: no such event (did you mean sched:sched_switch?)")
	_, err = fs.Schema("mine", "own_event")
	f(err, "mine:own_event: not verified here: no event system mine")
	_, err = fs.Match("mine:*")
	f(err, "mine:*: not verified here: none matches")
	if got, want := fs.Instead(), "tracepoints are taken as "+fs.shipped.kernel.String()+
		" has them: read tracefs: denied"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got, err := fs.Match("sched:sched_wak*")
	if want := []string{
		"sched:sched_wake_idle_without_ipi", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_waking",
	}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestShippedRoundTrip checks that formats come back as they went in, each kernel with its own.
func TestShippedRoundTrip(t *testing.T) {
	old, young := ShippedKernel{"amd64", "1.0"}, ShippedKernel{"amd64", "2.0"}
	in := map[ShippedKernel]map[string]string{
		old:   {"a:x": "name: x\nID: 7\nformat:\n", "a:y": "name: y\nID: 8\n", "b:only": "name: only\n"},
		young: {"a:x": "name: x\nID: 9\nformat:\n", "a:y": "name: y\nID: 8\nprint fmt: \"event 1 2 3\n\"\n"},
	}
	packed, err := EncodeShipped(in)
	if err != nil {
		t.Fatal(err)
	}
	all, err := decodeShipped(packed)
	if err != nil {
		t.Fatal(err)
	}
	got := map[ShippedKernel]map[string]string{}
	for _, s := range all {
		got[s.kernel] = map[string]string{}
		for system, events := range s.systems {
			for name, text := range events {
				got[s.kernel][system+":"+name] = string(text)
			}
		}
	}
	for k, formats := range in {
		for name, text := range formats {
			formats[name] = WithoutNumber(text)
		}
		if !maps.Equal(got[k], formats) {
			t.Errorf("%v: got %q, want %q", k, got[k], formats)
		}
	}
}

func TestDamagedCatalogue(t *testing.T) {
	f := func(text string) {
		t.Helper()
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeShipped(w.EncodeAll([]byte(text), nil)); err == nil {
			t.Errorf("%q: got %d kernels, want an error", text, len(got))
		}
	}
	f("kernel amd64 1.0\nevent a:x 0 5\nname")
	f("kernel amd64 1.0\nevent a:x 1 0\n")
	f("kernel amd64 1.0\nevent a:x 0 -1\n")
	f("kernel amd64\n")
	if _, err := decodeShipped(bytes.Repeat([]byte{1}, 100)); err == nil {
		t.Error("got no error of what is not compressed")
	}
}
