package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// This file finds events of PMUs by their names in sysfs: counters of the whole
// package (power/energy-pkg), of memory controllers
// (uncore_imc_0/cas_count_read), of the time stamp counter (msr/tsc).

// A NamedEvent is an event of a PMU with a name in sysfs.
type NamedEvent struct {
	PMU    PMU
	Config [3]uint64 // config, config1 and config2 of PerfEventAttr
	// CPUs are the CPUs to open it on; nil means all. An event that counts for all
	// CPUs of a package is opened on one of them.
	CPUs []int
	// Counts is the amount that one count stands for, such as "2.3e-10 Joules"; "" if
	// sysfs does not say.
	Counts string
}

// NamedEvents finds the events for a device and terms. The device may be a pattern
// (uncore_imc_*). The terms are the name of an event (cas_count_read), parameters
// of the PMU's formats (event=0x3c,umask=1), or both.
func NamedEvents(r Roots, device, terms string) ([]NamedEvent, error) {
	subject := device + "/" + terms
	pmus, err := ReadPMUs(r)
	if err != nil {
		return nil, diag.Errorf(diag.Attach, "open event", subject, "%w", err).
			WithHint("mount sysfs: mount -t sysfs sysfs /sys")
	}
	var found []NamedEvent
	var names []string
	for _, p := range pmus {
		names = append(names, p.Name)
		if !glob.Match(device, p.Name) {
			continue
		}
		e, err := namedEvent(r.SysPath("bus/event_source/devices", p.Name), terms)
		if err != nil {
			e := &diag.Error{Op: "open event", Subject: subject, Class: diag.Attach, Cause: err}
			return nil, e.OrHint("see what the kernel says of it: ls /sys/bus/event_source/devices/%s/*",
				p.Name)
		}
		e.PMU = p
		found = append(found, *e)
	}
	if len(found) == 0 {
		return nil, diag.Errorf(diag.Attach, "open event", subject, "this machine has no PMU %s%s, only %s",
			device, diag.DidYouMean(device, names), strings.Join(names, " ")).
			WithHint("run it where there is one: ls /sys/bus/event_source/devices")
	}
	return found, nil
}

// namedEvent finds the event of one PMU.
func namedEvent(dir, text string) (*NamedEvent, error) {
	e := &NamedEvent{}
	terms := map[string]uint64{}
	for _, term := range strings.Split(text, ",") {
		name, value, valued := strings.Cut(strings.TrimSpace(term), "=")
		n := uint64(1)
		var err error
		if valued {
			if n, err = strconv.ParseUint(value, 0, 64); err != nil {
				return nil, fmt.Errorf("%q is not a number", term)
			}
		}
		if hasFormat(dir, name) {
			terms[name] = n
			continue
		}
		its, ok, err := pmuEvent(dir, name)
		switch {
		case err != nil:
			return nil, err
		case !ok || valued:
			return nil, unknownTerm(dir, name)
		}
		for its, n := range its {
			terms[its] = n
		}
		e.Counts = countsOf(dir, name)
	}
	var err error
	if e.Config, err = pack(dir, terms); err != nil {
		return nil, err
	}
	if e.CPUs, err = pmuCPUs(dir, "cpumask"); err == nil && e.CPUs == nil {
		e.CPUs, err = pmuCPUs(dir, "cpus") // PMU of a hybrid CPU
	}
	return e, err
}

// unknownTerm is the error for an unknown name; it lists the names that the PMU
// has.
func unknownTerm(dir, name string) error {
	var known []string
	for _, of := range []string{"events", "format"} {
		entries, _ := os.ReadDir(filepath.Join(dir, of))
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); ext != ".scale" && ext != ".unit" {
				known = append(known, e.Name())
			}
		}
	}
	slices.Sort(known)
	if len(known) == 0 {
		return fmt.Errorf("%s names no events", filepath.Base(dir))
	}
	return fmt.Errorf("%s has no %q%s, only %s", filepath.Base(dir), name, diag.DidYouMean(name, known),
		strings.Join(known, " "))
}

// countsOf reads the amount that one count of an event stands for.
func countsOf(dir, name string) string {
	scale, err := readLine(filepath.Join(dir, "events", name+".scale"))
	if err != nil {
		return ""
	}
	if f, err := strconv.ParseFloat(scale, 64); err == nil {
		scale = strconv.FormatFloat(f, 'g', 6, 64)
	}
	of, err := readLine(filepath.Join(dir, "events", name+".unit"))
	if err != nil {
		return scale
	}
	return scale + " " + of
}

// PMUEvents lists the events of PMUs that have a name in sysfs, in the form of command lines:
// msr/tsc/.
func PMUEvents(r Roots) (names []string) {
	pmus, err := ReadPMUs(r)
	if err != nil {
		return nil
	}
	for _, p := range pmus {
		entries, _ := os.ReadDir(r.SysPath("bus/event_source/devices", p.Name, "events"))
		for _, e := range entries {
			switch filepath.Ext(e.Name()) {
			case ".scale", ".unit", ".snapshot", ".per-pkg":
			default:
				names = append(names, p.Name+"/"+e.Name()+"/")
			}
		}
	}
	return names
}
