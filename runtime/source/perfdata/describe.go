package perfdata

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/privilege"
)

// This file writes the features: sections at the end of a recording that
// describe the machine and the command, and have the formats of tracepoints.

// writeFeatures writes the table of sections, the sections, and then the header
// again, whose values are now known.
func (w *Writer) writeFeatures() {
	all := w.features()
	var bits [featBits / 64]uint64
	at := w.to.off + uint64(sectionSize*len(all))
	for _, f := range all {
		bits[f.id/64] |= 1 << (f.id % 64)
		w.put(le.AppendUint64(le.AppendUint64(nil, at), uint64(len(f.body))))
		at += uint64(len(f.body))
	}
	for _, f := range all {
		w.put(f.body)
	}
	head := w.head()
	for i, b := range bits {
		le.PutUint64(head[72+8*i:], b)
	}
	if err := w.to.out.Flush(); err != nil && w.err == nil {
		w.err = w.fail("%w", err)
	}
	if w.err == nil {
		if _, err := w.to.file.WriteAt(head, 0); err != nil {
			w.err = w.fail("%w", err)
		}
	}
}

// A feature is one section of a recording's description.
type feature struct {
	id   int
	body []byte
}

// features returns the sections whose values are known, in order of id, as readers expect.
func (w *Writer) features() []feature {
	info := w.describe()
	var all []feature
	add := func(id int, body []byte) { all = append(all, feature{id, body}) }
	str := func(id int, s string) {
		if s != "" {
			add(id, appendStr(nil, s))
		}
	}
	if t := w.tracing(); t != nil {
		add(featTracingData, appendTracing(nil, t))
	}
	if len(info.BuildIDs) > 0 {
		add(featBuildID, appendBuildIDs(nil, info.BuildIDs))
	}
	str(featHostname, info.Hostname)
	str(featOSRelease, info.OSRelease)
	str(featVersion, info.Version)
	str(featArch, info.Arch)
	if info.CPUsOnline > 0 {
		add(featNrCPUs, le.AppendUint32(le.AppendUint32(nil, uint32(info.CPUsAvail)),
			uint32(info.CPUsOnline)))
	}
	str(featCPUDesc, info.CPUDesc)
	str(featCPUID, info.CPUID)
	if info.TotalMemKB > 0 {
		add(featTotalMem, le.AppendUint64(nil, info.TotalMemKB))
	}
	if len(info.Cmdline) > 0 {
		b := le.AppendUint32(nil, uint32(len(info.Cmdline)))
		for _, a := range info.Cmdline {
			b = appendStr(b, a)
		}
		add(featCmdline, b)
	}
	add(featEventDesc, w.eventDesc())
	for _, id := range machineFeatures {
		if body := info.Machine[id]; len(body) > 0 {
			add(id, body)
		}
	}
	if w.span.first != 0 {
		add(featSampleTime, le.AppendUint64(le.AppendUint64(nil, uint64(w.span.first)), uint64(w.span.last)))
	}
	if a := &w.streams[0].Attr; a.Bits&unix.PerfBitUseClockID != 0 {
		res := uint64(1)
		var ts unix.Timespec
		if unix.ClockGetres(a.Clockid, &ts) == nil && ts.Nano() > 0 {
			res = uint64(ts.Nano())
		}
		add(featClockID, le.AppendUint64(nil, res))
	}
	if w.z != nil {
		b := le.AppendUint32(nil, 1)              // version
		b = le.AppendUint32(b, 1)                 // PERF_COMP_ZSTD
		b = le.AppendUint32(b, uint32(w.level())) // level
		b = le.AppendUint32(b, w.z.ratio())
		add(featCompressed, le.AppendUint32(b, inflateBound))
	}
	if c := info.Clock; c.isSet() {
		b := le.AppendUint32(nil, 1) // version
		b = le.AppendUint32(b, uint32(c.ID))
		b = le.AppendUint64(b, uint64(c.Wall.UnixNano()))
		add(featClockData, le.AppendUint64(b, uint64(c.At)))
	}
	return all
}

func (w *Writer) level() int { return max(w.opt.Level, 1) }

// describe returns the description of the machine.
func (w *Writer) describe() Info {
	if w.opt.Info != nil {
		in := *w.opt.Info
		if w.opt.Cmdline != nil {
			in.Cmdline = w.opt.Cmdline
		}
		return in
	}
	in := Info{Version: w.opt.Version, Cmdline: w.opt.Cmdline, Clock: w.opt.Clock}
	if in.Cmdline == nil {
		in.Cmdline = os.Args
	}
	in.here()
	if cpus, err := kernel.ReadCPUs(w.opt.Roots); err == nil {
		in.CPUsOnline, in.CPUsAvail = len(cpus.Online), len(cpus.Present)
	} else {
		in.CPUsOnline, in.CPUsAvail = runtime.NumCPU(), runtime.NumCPU()
	}
	in.CPUID, in.Machine = cpuID(w.opt.Roots), readMachine(w.opt.Roots, in.CPUsAvail)
	in.BuildIDs = w.opt.BuildIDs
	in.CPUDesc = procValue(w.opt.Roots.ProcPath("cpuinfo"), "model name")
	if kb, _, ok := strings.Cut(procValue(w.opt.Roots.ProcPath("meminfo"), "MemTotal"), " "); ok {
		in.TotalMemKB, _ = strconv.ParseUint(kb, 10, 64)
	}
	return in
}

// procValue returns the first value of "key : value" in a file of /proc.
func procValue(path, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// appendStr appends a perf_header_string: padded to 64 bytes.
func appendStr(b []byte, s string) []byte {
	n := (len(s) + 1 + 63) &^ 63
	b = le.AppendUint32(b, uint32(n))
	b = append(b, s...)
	return append(b, make([]byte, n-len(s))...)
}

// eventDesc encodes the list of events with their names.
func (w *Writer) eventDesc() []byte {
	b := le.AppendUint32(nil, uint32(len(w.streams)))
	b = le.AppendUint32(b, uint32(attrSize))
	for i := range w.streams {
		s := &w.streams[i]
		b = append(b, encodeAttr(&s.Attr)...)
		b = le.AppendUint32(b, uint32(len(s.IDs)))
		b = appendStr(b, s.Name)
		for _, id := range s.IDs {
			b = le.AppendUint64(b, id)
		}
	}
	return b
}

func appendBuildIDs(b []byte, ids []BuildID) []byte {
	const (
		kernelMode = 1
		userMode   = 2
		sized      = 1 << 15
	)
	for _, id := range ids {
		misc := uint16(userMode | sized)
		if id.Kernel {
			misc = kernelMode | sized
		}
		path := (len(id.Path) + 1 + 63) &^ 63
		b = append(b, header(recBuildID, misc, uint16(recHeaderSize+4+24+path))...)
		b = le.AppendUint32(b, uint32(id.PID))
		var raw [24]byte
		raw[20] = byte(copy(raw[:20], id.ID))
		b = append(b, raw[:]...)
		b = append(b, id.Path...)
		b = append(b, make([]byte, path-len(id.Path))...)
	}
	return b
}

func (w *Writer) tracefs() string {
	if w.opt.Tracefs != "" {
		return w.opt.Tracefs
	}
	return "/sys/kernel/tracing"
}

// readFormat reads the format of a tracepoint from tracefs.
func (w *Writer) readFormat(s *StreamInfo) error {
	system, name, _ := strings.Cut(s.Name, ":")
	if s.Schema != nil {
		system, name = s.Schema.System, s.Schema.Name
	}
	b, err := privilege.ReadFile(privilege.Kernel,
		filepath.Join(w.tracefs(), "events", filepath.Base(system), filepath.Base(name), "format"))
	if err != nil {
		return w.fail("format of %s: %w", s.Name, err).
			WithHint("mount tracefs: mount -t tracefs tracefs %s", w.tracefs())
	}
	s.System, s.Format = system, string(b)
	return nil
}

// tracing returns the tracing data; nil if no event is a tracepoint.
func (w *Writer) tracing() *tracing {
	var t *tracing
	seen := map[string]bool{}
	for i := range w.streams {
		s := &w.streams[i]
		if s.Attr.Type != unix.PERF_TYPE_TRACEPOINT || seen[s.Format] {
			continue
		}
		seen[s.Format] = true
		if t == nil {
			t = &tracing{longSize: 8, pageSize: os.Getpagesize()}
		}
		t.formats = append(t.formats, format{s.System, s.Format})
	}
	if t == nil {
		return nil
	}
	if in := w.opt.Info; in != nil {
		t.printk, t.kallsyms = in.Printk, in.Kallsyms
		if in.PageSize > 0 {
			t.pageSize = in.PageSize
		}
	} else if b, err := privilege.ReadFile(privilege.Kernel,
		filepath.Join(w.tracefs(), "printk_formats")); err == nil {
		t.printk = string(b)
	}
	t.headerPage = headerPage
	return t
}

// Here returns the name, kernel and architecture of this machine.
func Here() (in Info) {
	in.here()
	return in
}

func (in *Info) here() {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		in.Hostname, in.OSRelease, in.Arch = text(u.Nodename[:]), text(u.Release[:]), text(u.Machine[:])
	}
}
