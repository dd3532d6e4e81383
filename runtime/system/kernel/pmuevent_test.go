package kernel

import (
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"
)

func TestNamedEvents(t *testing.T) {
	tree := sysfs(t, both(intel("cpu", "4", map[string]string{
		"events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
	}), map[string]string{
		"msr/type":                      "10",
		"msr/events/tsc":                "event=0x00",
		"msr/format/event":              "config:0-63",
		"power/type":                    "9",
		"power/cpumask":                 "0,28",
		"power/events/energy-pkg":       "event=0x02",
		"power/events/energy-pkg.scale": "2.3283064365386962890625e-10",
		"power/events/energy-pkg.unit":  "Joules",
		"power/format/event":            "config:0-7",
		"uncore_imc_0/type":             "20",
		"uncore_imc_0/cpumask":          "0",
		"uncore_imc_0/events/reads":     "event=0x04,umask=0x03",
		"uncore_imc_0/format/event":     "config:0-7",
		"uncore_imc_0/format/umask":     "config:8-15",
		"uncore_imc_1/type":             "21",
		"uncore_imc_1/cpumask":          "1",
		"uncore_imc_1/events/reads":     "event=0x04,umask=0x03",
		"uncore_imc_1/format/event":     "config:0-7",
		"uncore_imc_1/format/umask":     "config:8-15",
	}))
	f := func(device, terms, want string) {
		t.Helper()
		list, err := NamedEvents(tree, device, terms)
		if err != nil {
			t.Errorf("%s/%s: %v", device, terms, err)
			return
		}
		var parts []string
		for _, e := range list {
			parts = append(parts,
				fmt.Sprintf("%s %d %x %v %q", e.PMU.Name, e.PMU.Type, e.Config, e.CPUs, e.Counts))
		}
		if got := strings.Join(parts, "; "); got != want {
			t.Errorf("%s/%s: got %s, want %s", device, terms, got, want)
		}
	}
	f("msr", "tsc", `msr 10 [0 0 0] [] ""`)
	f("power", "energy-pkg", `power 9 [2 0 0] [0 28] "2.32831e-10 Joules"`)
	f("uncore_imc_*", "reads", `uncore_imc_0 20 [304 0 0] [0] ""; uncore_imc_1 21 [304 0 0] [1] ""`)
	f("cpu", "event=0x3c,umask=2", `cpu 4 [23c 0 0] [] ""`)
	f("cpu", "mem-loads,ldlat=30", `cpu 4 [1cd 1e 0] [] ""`)

	fails := func(device, terms, want string) {
		t.Helper()
		_, err := NamedEvents(tree, device, terms)
		if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
			t.Errorf("%s/%s: got error %v, want one with %q and a hint", device, terms, err, want)
		}
	}
	fails("mrs", "tsc", "no PMU mrs (did you mean msr?), only")
	fails("msr", "tcs", `msr has no "tcs" (did you mean tsc?), only event tsc`)
	fails("msr", "tsc=1", `msr has no "tsc"`)
	fails("cpu", "event=x", `"event=x" is not a number`)
	fails("power", "event=0x100", "event is too large for config:0-7")
	fails("software", "x", "software names no events")
}

// The PMU that each x86 machine has.
func TestNamedEventOfThisMachine(t *testing.T) {
	list, err := NamedEvents(Roots{}, "msr", "tsc")
	if err != nil {
		t.Skip(err)
	}
	if len(list) != 1 || list[0].PMU.Type == 0 || list[0].CPUs != nil {
		t.Errorf("got %+v", list)
	}
}
