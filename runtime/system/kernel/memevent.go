package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
)

// This file finds the events that sample memory accesses with their address,
// latency and data source. The PMU's directories events and format in sysfs list
// their names, and the bits of the attr for their parameters:
//
//   - Intel: mem-loads and mem-stores of the PMU cpu, on hybrid CPUs of cpu_core
//     and cpu_atom. Where the PMU lists mem-loads-aux, that event has to lead
//     the group, or the kernel refuses mem-loads.
//   - AMD: ibs_op samples operations of all kinds; a user who wants loads looks at the
//     data source of each. Some models drop operations that were fast.
//   - arm64: arm_spe writes packets of its own form to a buffer of its own, and
//     no samples.

// A MemoryEvent is an event that samples memory accesses.
type MemoryEvent struct {
	PMU    PMU
	Config [3]uint64
	// Leader is the attr.config of the event that must lead the group; 0 if
	// there is none.
	Leader  uint64
	Precise uint8 // attr.precise_ip
	CPUs    []int // CPUs on which it counts; nil means all
	// PeriodStep must divide the period, unless it is 0: the hardware counts in
	// such steps.
	PeriodStep uint64
}

// MemoryEvents returns the events that sample memory accesses; op is "loads" or
// "stores". cycles is the lowest latency of a sampled load; 0 means the PMU's
// default.
func MemoryEvents(r Roots, op string, cycles uint64) ([]MemoryEvent, error) {
	pmus, err := ReadPMUs(r)
	if err != nil {
		return nil, diag.Errorf(diag.Attach, "open memory event", op, "%w", err).
			WithHint("mount sysfs: mount -t sysfs sysfs /sys")
	}
	var found []MemoryEvent
	var names []string
	without := "" // a PMU of an Intel CPU that has no such event
	for _, p := range pmus {
		names = append(names, p.Name)
		dir := r.SysPath("bus/event_source/devices", p.Name)
		var e *MemoryEvent
		switch {
		case p.Name == "cpu" || p.Name == "cpu_core" || p.Name == "cpu_atom":
			if e, err = intelMemory(dir, op, cycles); e == nil && err == nil {
				without = p.Name
			}
		case p.Name == "ibs_op":
			e, err = amdMemory(dir, cycles)
		}
		if err != nil {
			return nil, diag.Errorf(diag.Attach, "open memory event", p.Name+"/mem-"+op, "%w", err).
				WithHint("see what the kernel says of it: grep . %s/events/* %s/format/*", dir, dir)
		}
		if e != nil {
			e.PMU = p
			found = append(found, *e)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	subject := "mem-" + op
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "arm_spe") }); i >= 0 {
		return nil, diag.Errorf(diag.Attach, "open memory event", subject,
			"%s writes packets into a buffer of its own (AUX), which ppscript does not read", names[i]).
			WithHint("use perf mem record here")
	}
	if without != "" {
		return nil, diag.Errorf(diag.Attach, "open memory event", subject,
			"the PMU %s has no event of that name: neither Intel's PEBS nor AMD's IBS is there; "+
				"virtual machines often have no such thing", without).
			WithHint("run it where there is one: ls /sys/bus/event_source/devices/%s/events", without)
	}
	return nil, diag.Errorf(diag.Attach, "open memory event", subject,
		"this machine has no PMU cpu or ibs_op, only %s; virtual machines often have no counters of the CPU",
		strings.Join(names, " ")).
		WithHint("run it where there is one: ls /sys/bus/event_source/devices")
}

// intelMemory is mem-loads or mem-stores of a PMU; nil if it has no such event.
func intelMemory(dir, op string, cycles uint64) (*MemoryEvent, error) {
	terms, ok, err := pmuEvent(dir, "mem-"+op)
	if !ok || err != nil {
		return nil, err
	}
	if _, takes := terms["ldlat"]; takes && cycles > 0 {
		terms["ldlat"] = cycles
	}
	e := &MemoryEvent{Precise: 2}
	if e.Config, err = pack(dir, terms); err != nil {
		return nil, err
	}
	if n := readSetting(filepath.Join(dir, "caps/max_precise")); n.readable() && n.Value > 0 && n.Value < 4 {
		e.Precise = uint8(n.Value)
	}
	if e.CPUs, err = pmuCPUs(dir, "cpus"); err != nil || op != "loads" {
		return e, err
	}
	aux, ok, err := pmuEvent(dir, "mem-loads-aux")
	if !ok || err != nil {
		return e, err
	}
	lead, err := pack(dir, aux)
	e.Leader = lead[0]
	return e, err
}

// amdMemory is the event ibs_op. It counts operations if the CPU can, else
// cycles. Its period has steps of 16.
func amdMemory(dir string, cycles uint64) (*MemoryEvent, error) {
	terms := map[string]uint64{}
	if hasFormat(dir, "cnt_ctl") {
		terms["cnt_ctl"] = 1
	}
	if cycles >= 128 && hasFormat(dir, "ldlat") {
		terms["ldlat"] = min(cycles, 2048) // the largest value allowed
	}
	e := &MemoryEvent{PeriodStep: 16}
	var err error
	e.Config, err = pack(dir, terms)
	return e, err
}

// pmuEvent reads the terms of an event, such as event=0xcd,umask=0x1,ldlat=3.
func pmuEvent(dir, name string) (terms map[string]uint64, ok bool, err error) {
	text, err := readLine(filepath.Join(dir, "events", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	terms = map[string]uint64{}
	for _, term := range strings.Split(text, ",") {
		key, value, valued := strings.Cut(strings.TrimSpace(term), "=")
		n := uint64(1)
		if valued {
			if n, err = strconv.ParseUint(value, 0, 64); err != nil {
				return nil, false, fmt.Errorf("event %s: %q is not a number", name, term)
			}
		}
		terms[key] = n
	}
	return terms, true, nil
}

func hasFormat(dir, term string) bool {
	_, err := os.Stat(filepath.Join(dir, "format", term))
	return err == nil
}

// pack puts the values of terms into the bits given by the PMU's format, such
// as config1:0-15 or config:0-7,32-35.
func pack(dir string, terms map[string]uint64) (config [3]uint64, err error) {
	for term, value := range terms {
		text, err := readLine(filepath.Join(dir, "format", term))
		if err != nil {
			return config, fmt.Errorf("format of %s: %w", term, err)
		}
		word, ranges, ok := strings.Cut(text, ":")
		i := slices.Index([]string{"config", "config1", "config2"}, word)
		if !ok || i < 0 {
			return config, fmt.Errorf("format of %s: got %q, want bits of config, config1 or config2",
				term, text)
		}
		for _, bits := range strings.Split(ranges, ",") {
			first, last, _ := strings.Cut(bits, "-")
			lo, err := strconv.ParseUint(first, 10, 6)
			if err != nil {
				return config, fmt.Errorf("format of %s: %q has no bits", term, text)
			}
			hi := lo
			if last != "" {
				if hi, err = strconv.ParseUint(last, 10, 6); err != nil || hi < lo {
					return config, fmt.Errorf("format of %s: %q has no bits", term, text)
				}
			}
			width := hi - lo + 1
			config[i] |= value & (1<<width - 1) << lo
			value >>= width
		}
		if value != 0 {
			return config, fmt.Errorf("%s is too large for %s", term, text)
		}
	}
	return config, nil
}

// pmuCPUs reads the list of CPUs that a PMU of a hybrid CPU belongs to.
func pmuCPUs(dir, file string) ([]int, error) {
	text, err := readLine(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseCPUList(text)
}
