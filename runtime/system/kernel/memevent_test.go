package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"
)

// sysfs makes a tree of PMUs, as those of the machines named in the tests have
// it: "cpu/events/mem-loads" and its content.
func sysfs(t *testing.T, files map[string]string) Roots {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "bus/event_source/devices", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Roots{Sys: root}
}

// intel has the files that all PMUs of Intel's cores have.
func intel(pmu, typ string, more map[string]string) map[string]string {
	files := map[string]string{
		"type":             typ,
		"format/event":     "config:0-7",
		"format/umask":     "config:8-15",
		"format/ldlat":     "config1:0-15",
		"caps/max_precise": "3",
	}
	for k, v := range more {
		files[k] = v
	}
	out := map[string]string{"software/type": "1", "tracepoint/type": "2"}
	for k, v := range files {
		out[pmu+"/"+k] = v
	}
	return out
}

func both(a, b map[string]string) map[string]string {
	for k, v := range b {
		a[k] = v
	}
	return a
}

func TestMemoryEvents(t *testing.T) {
	f := func(name string, files map[string]string, op string, cycles uint64, want string) {
		t.Helper()
		list, err := MemoryEvents(sysfs(t, files), op, cycles)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		var got []string
		for _, e := range list {
			got = append(got,
				fmt.Sprintf("%s type %d config %#x config1 %#x lead %#x precise %d cpus %v step %d",
					e.PMU.Name, e.PMU.Type, e.Config[0], e.Config[1], e.Leader, e.Precise,
					e.CPUs, e.PeriodStep))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s, %s: got %s, want %s", name, op, text, want)
		}
	}
	haswell := intel("cpu", "4", map[string]string{
		"events/mem-loads": "event=0xcd,umask=0x1,ldlat=3", "events/mem-stores": "event=0xd0,umask=0x82",
	})
	f("Haswell", haswell, "loads", 30, "cpu type 4 config 0x1cd config1 0x1e lead 0x0 precise 3 cpus [] step 0")
	f("Haswell", haswell, "loads", 0, "cpu type 4 config 0x1cd config1 0x3 lead 0x0 precise 3 cpus [] step 0")
	f("Haswell", haswell, "stores", 30, "cpu type 4 config 0x82d0 config1 0x0 lead 0x0 precise 3 cpus [] step 0")
	f("Sapphire Rapids", intel("cpu", "4",
		map[string]string{"events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
			"events/mem-loads-aux": "event=0x03,umask=0x82",
			"events/mem-stores":    "event=0xcd,umask=0x2"}), "loads", 100,
		"cpu type 4 config 0x1cd config1 0x64 lead 0x8203 precise 3 cpus [] step 0")
	hybrid := both(intel("cpu_core", "4", map[string]string{
		"events/mem-loads":     "event=0xcd,umask=0x1,ldlat=3",
		"events/mem-loads-aux": "event=0x03,umask=0x82",
		"cpus":                 "0-3",
	}),
		intel("cpu_atom", "10", map[string]string{
			"events/mem-loads": "event=0xd0,umask=0x5,ldlat=3", "cpus": "4-5", "caps/max_precise": "2",
		}))
	f("Alder Lake", hybrid, "loads", 30,
		"cpu_atom type 10 config 0x5d0 config1 0x1e lead 0x0 precise 2 cpus [4 5] step 0; "+
			"cpu_core type 4 config 0x1cd config1 0x1e lead 0x8203 precise 3 cpus [0 1 2 3] step 0")
	zen := map[string]string{
		"cpu/type":              "4",
		"ibs_fetch/type":        "9",
		"ibs_op/type":           "11",
		"ibs_op/format/cnt_ctl": "config:19",
	}
	f("Zen 3", zen, "loads", 30, "ibs_op type 11 config 0x80000 config1 0x0 lead 0x0 precise 0 cpus [] step 16")
	f("Zen 5", both(zen, map[string]string{"ibs_op/format/ldlat": "config1:0-11"}), "loads", 256,
		"ibs_op type 11 config 0x80000 config1 0x100 lead 0x0 precise 0 cpus [] step 16")
	f("bits in two places", intel("cpu", "4",
		map[string]string{"events/mem-loads": "event=0x1cd,umask=0x1", "format/event": "config:0-7,32-35"}),
		"loads", 0, "cpu type 4 config 0x1000001cd config1 0x0 lead 0x0 precise 3 cpus [] step 0")
}

func TestMemoryEventsRefuse(t *testing.T) {
	f := func(files map[string]string, want string) {
		t.Helper()
		_, err := MemoryEvents(sysfs(t, files), "loads", 30)
		if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" ||
			diag.ClassOf(err) != diag.Attach {
			t.Errorf("got %v with hint %q, want %s", err, diag.HintOf(err), want)
		}
	}
	f(map[string]string{"software/type": "1"}, "no PMU cpu or ibs_op, only software")
	f(map[string]string{"cpu/type": "4"}, "PMU cpu has no event of that name")
	f(map[string]string{"arm_spe_0/type": "8", "armv8_pmuv3_0/type": "9"},
		"arm_spe_0 writes packets into a buffer of its own")
	f(intel("cpu", "4", map[string]string{"events/mem-loads": "event=0xcd,nosuch=1"}), "format of nosuch")
	f(intel("cpu", "4", map[string]string{"events/mem-loads": "event=many"}), "not a number")
	f(intel("cpu", "4", map[string]string{"events/mem-loads": "ldlat=1,event=0x1cd"}), "event is too large")
	f(intel("cpu", "4", map[string]string{"events/mem-loads": "event=1", "format/event": "config9:0-7"}),
		"want bits of config")
}
