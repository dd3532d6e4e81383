package recording

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
)

// This file shows the records of a recording one by one, with their bytes: for programmers of tools, and
// where a recording is strange.

// kernelRecords are the names of the kernel's records, PERF_RECORD_* of linux/perf_event.h, by type.
var kernelRecords = []string{1: "MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ",
	"SAMPLE", "MMAP2", "AUX", "ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL",
	"BPF_EVENT", "CGROUP", "TEXT_POKE", "AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED"}

// Dump writes the records of the recording at path in the order of the file, a line and the bytes of each.
// Records of perf itself, such as its table of contents, are left out.
func Dump(ctx context.Context, path string, to io.Writer) error {
	f, err := perfdata.OpenContext(ctx, path, perfdata.Options{})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	var failed error
	err = eachEvent(f, func(e *event.Event) {
		if failed == nil && len(e.Rec) >= 8 {
			failed = errors.Join(ctx.Err(), dumpRecord(w, e))
		}
	})
	return errors.Join(err, failed, w.Flush(), f.Close())
}

func dumpRecord(w *bufio.Writer, e *event.Event) error {
	typ := binary.LittleEndian.Uint32(e.Rec)
	name := fmt.Sprintf("type %d", typ)
	if int(typ) < len(kernelRecords) && typ > 0 {
		name = kernelRecords[typ]
	}
	cpu := "---"
	if e.CPU >= 0 {
		cpu = fmt.Sprintf("%03d", e.CPU)
	}
	fmt.Fprintf(w, "%d.%09d [%s] %s, %d bytes: %s\n", e.Time/1e9, e.Time%1e9, cpu, name, len(e.Rec),
		content(e))
	for line := range strings.Lines(hex.Dump(e.Rec)) {
		w.WriteString("    " + line)
	}
	_, err := w.WriteString("\n")
	return err
}

// content is what a record says.
func content(e *event.Event) string {
	var b strings.Builder
	if e.Kind == event.Sample && e.Stream != nil {
		fmt.Fprintf(&b, "%s, process %d, thread %d", result.EventName(e.Stream), e.PID, e.TID)
		for _, m := range []struct {
			name   string
			member event.Member
			form   string
		}{
			{"ip", event.MemberIP, "%#x"}, {"period", event.MemberPeriod, "%d"},
			{"addr", event.MemberAddr, "%#x"},
		} {
			if e.Stream.Members == nil {
				break
			}
			if n, ok := e.Stream.Members.Member(e, m.member); ok {
				fmt.Fprintf(&b, ", %s "+m.form, m.name, n)
			}
		}
		if e.Stream.Members != nil {
			if n := len(e.Stream.Members.Callchain(e)); n > 0 {
				fmt.Fprintf(&b, ", chain of %d words", n)
			}
		}
		if len(e.Raw) > 0 {
			fmt.Fprintf(&b, ", %d bytes of fields", len(e.Raw))
		}
		return b.String()
	}
	if c, ok := perf.DecodeComm(e); ok {
		return fmt.Sprintf("process %d, thread %d is %s%s", c.PID, c.TID, c.Name,
			map[bool]string{true: ", by execve"}[c.Exec])
	}
	if t, ok := perf.DecodeFork(e); ok {
		return fmt.Sprintf("process %d, thread %d, made by process %d, thread %d", t.PID, t.TID, t.PPID,
			t.PTID)
	}
	if t, ok := perf.DecodeExit(e); ok {
		return fmt.Sprintf("process %d, thread %d, of process %d, thread %d", t.PID, t.TID, t.PPID, t.PTID)
	}
	if m, ok := perf.DecodeMmap(e); ok {
		return fmt.Sprintf("process %d: %#x to %#x is %s", m.PID, m.Addr, m.Addr+m.Len, m.Name)
	}
	if k, ok := perf.DecodeKsymbol(e); ok {
		return fmt.Sprintf("%s at %#x, %d bytes%s", k.Name, k.Addr, k.Len,
			map[bool]string{true: ", is gone"}[k.Unregister])
	}
	if g, ok := perf.DecodeCgroup(e); ok {
		return fmt.Sprintf("cgroup %d is %s", g.ID, g.Path)
	}
	if p, ok := perf.DecodeBPF(e); ok {
		return fmt.Sprintf("program %d, tag %x", p.ID, p.Tag)
	}
	if e.Kind == event.Lost || e.Kind == event.LostAside {
		return fmt.Sprintf("%d records", e.Count)
	}
	return "-"
}
