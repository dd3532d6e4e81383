package firefox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path"
	"sort"
	"strconv"

	"ppscript/runtime/text/plain"
)

// A printer writes JSON in small pieces, since a second copy of a whole profile
// would need too much memory.
type printer struct {
	w   *bufio.Writer
	buf []byte
	err error
}

func (o *printer) put() {
	if _, err := o.w.Write(o.buf); o.err == nil {
		o.err = err
	}
	o.buf = o.buf[:0]
}

func (o *printer) raw(s string) {
	o.buf = append(o.buf, s...)
	o.put()
}

// value writes a small value by json.Marshal.
func (o *printer) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	o.buf = append(o.buf, b...)
	o.put()
}

// column writes a comma and "name":[...].
func (o *printer) column(name string, n int, cell func(dst []byte, i int) []byte) {
	o.buf = append(append(append(o.buf, `,"`...), name...), `":[`...)
	for i := range n {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		if o.buf = cell(o.buf, i); len(o.buf) > 1<<14 {
			o.put()
		}
	}
	o.buf = append(o.buf, ']')
	o.put()
}

func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return append(dst, b...)
}

// number appends a cell; none becomes null.
func number(dst []byte, n int) []byte {
	if n == none {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

func same(text string) func([]byte, int) []byte {
	return func(dst []byte, _ int) []byte { return append(dst, text...) }
}

type category struct {
	Name          string   `json:"name"`
	Color         string   `json:"color"`
	Subcategories []string `json:"subcategories"`
}

var categories = []category{
	other:  {"Other", "grey", []string{"Other"}},
	user:   {"User", "yellow", []string{"Other"}},
	kernel: {"Kernel", "orange", []string{"Other"}},
}

// object is a JSON object.
type object = map[string]any

func (p *Writer) print(o *printer) {
	o.raw(`{"meta":`)
	o.value(p.meta())
	o.raw(`,"libs":`)
	libs := []object{}
	for i, name := range p.libs.names.list {
		name = string(plain.Append(nil, name))
		libs = append(libs, object{"arch": p.opt.Arch, "name": path.Base(name), "path": name,
			"debugName": path.Base(name), "debugPath": name, "breakpadId": "", "codeId": p.libs.builds[i]})
	}
	o.value(libs)
	o.raw(`,"pages":[],"counters":[],"profilerOverhead":[],"threads":[`)
	// The viewer shows the threads in this order, and expects the first thread of a
	// process to be present.
	sort.SliceStable(p.threads.list, func(i, j int) bool {
		a, b := p.threads.list[i], p.threads.list[j]
		if a.pid != b.pid {
			return a.pid < b.pid
		}
		return a.tid < b.tid
	})
	for i, t := range p.threads.list {
		if i > 0 {
			o.raw(",")
		}
		p.printThread(o, t)
	}
	o.raw("]}\n")
}

func (p *Writer) meta() object {
	entries := []object{}
	for _, l := range p.losses {
		entries = append(entries, object{"label": l.name, "format": "integer", "value": l.n})
	}
	if p.room.dropped > 0 {
		label := fmt.Sprintf("behind the first %d samples and markers", p.room.most)
		entries = append(entries, object{"label": label, "format": "integer", "value": p.room.dropped})
	}
	extra := []object{}
	if len(entries) > 0 {
		extra = append(extra, object{"label": "events missing", "entries": entries})
	}
	start := 0.0
	if p.opt.Clock != nil && p.begun {
		if wall := p.opt.Clock(p.first); !wall.IsZero() {
			start = float64(wall.UnixMilli()) + float64(wall.Nanosecond()%1e6)/1e6
		}
	}
	return object{
		"interval": 1, "startTime": start, "processType": 0, "product": p.product(),
		"importedFrom": "ppscript", "stackwalk": 1, "debug": false, "version": 30, "preprocessedProfileVersion": 48,
		"oscpu": "Linux " + p.opt.Release, "abi": p.opt.Arch, "symbolicated": true,
		"usesOnlyOneStackType": true, "doesNotUseFrameImplementation": true, "sourceCodeIsNotOnSearchfox": true,
		"extensions":  object{"id": []int{}, "name": []int{}, "baseURL": []int{}, "length": 0},
		"categories":  categories,
		"sampleUnits": object{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
		"extra":       extra, "markerSchema": p.schemas(),
	}
}

func (p *Writer) product() string {
	if p.opt.Caption != "" {
		return string(plain.Append(nil, p.opt.Caption))
	}
	return "ppscript"
}

// schemas returns the descriptions of markers: how they are shown, and their
// fields.
func (p *Writer) schemas() []object {
	list := []object{}
	for _, k := range p.kinds.list {
		field := func(key, label string) object {
			return object{"key": key, "label": label, "format": "string", "searchable": true}
		}
		fields := []object{field("cpu", "on CPU"), field("woken", "wakes thread")}
		for _, name := range k.fields {
			fields = append(fields, field(key(name), name))
		}
		list = append(list, object{"name": k.name, "tooltipLabel": k.name, "tableLabel": "{marker.name}",
			"chartLabel": "{marker.name}", "data": fields,
			"display": []string{"marker-chart", "marker-table", "timeline-overview"}})
	}
	return list
}

func (p *Writer) printThread(o *printer, t *thread) {
	pid := "unknown"
	if t.pid >= 0 {
		pid = strconv.Itoa(int(t.pid))
	}
	o.raw(`{"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":0,` +
		`"unregisterTime":null,"pausedRanges":[],"name":`)
	o.value(t.name)
	o.raw(`,"processName":`)
	o.value(t.name)
	o.raw(fmt.Sprintf(`,"isMainThread":%t,"pid":%q,"tid":%d`, t.pid == t.tid, pid, t.tid))

	s := &t.samples
	o.raw(fmt.Sprintf(`,"samples":{"weightType":"samples","length":%d`, len(s.at)))
	o.column("stack", len(s.at), func(dst []byte, i int) []byte { return number(dst, int(s.stack[i])) })
	o.column("time", len(s.at), func(dst []byte, i int) []byte { return appendMS(dst, p.ms(s.at[i])) })
	o.column("weight", len(s.at), same("1"))
	o.raw("}")

	m := &t.markers
	o.raw(fmt.Sprintf(`,"markers":{"length":%d`, len(m.name)))
	o.column("name", len(m.name), func(dst []byte, i int) []byte { return number(dst, int(m.name[i])) })
	o.column("startTime", len(m.name), func(dst []byte, i int) []byte {
		return appendMS(dst, p.ms(m.begin[i]))
	})
	o.column("endTime", len(m.name), func(dst []byte, i int) []byte {
		if m.end[i] < 0 {
			return append(dst, "null"...)
		}
		return appendMS(dst, p.ms(m.end[i]))
	})
	o.column("phase", len(m.name), func(dst []byte, i int) []byte {
		if m.end[i] < 0 {
			return append(dst, '0') // an instant
		}
		return append(dst, '1') // an interval
	})
	o.column("category", len(m.name), same("0"))
	from, next, blocks := uint32(0), 0, m.data
	o.column("data", len(m.name), func(dst []byte, i int) []byte {
		if next == len(blocks[0].ends) {
			from, next, blocks = 0, 0, blocks[1:]
		}
		end := blocks[0].ends[next]
		dst = append(dst, blocks[0].text[from:end]...)
		from, next = end, next+1
		return dst
	})
	o.raw("}")
	t.printTables(o, p)
	o.raw("}")
}

// appendMS appends milliseconds with a precision of 1 ns.
func appendMS(dst []byte, ms float64) []byte { return strconv.AppendFloat(dst, ms, 'f', 6, 64) }

func (t *thread) printTables(o *printer, p *Writer) {
	st, fr, fn := t.stacks.list, t.frames.list, t.functions.list
	o.raw(fmt.Sprintf(`,"stackTable":{"length":%d`, len(st)))
	o.column("prefix", len(st), func(dst []byte, i int) []byte { return number(dst, st[i].prefix) })
	o.column("frame", len(st), func(dst []byte, i int) []byte { return number(dst, st[i].frame) })
	o.column("category", len(st), func(dst []byte, i int) []byte { return number(dst, st[i].category) })
	o.column("subcategory", len(st), same("0"))

	o.raw(fmt.Sprintf(`},"frameTable":{"length":%d`, len(fr)))
	o.column("address", len(fr), func(dst []byte, i int) []byte {
		return strconv.AppendUint(dst, fr[i].address, 10)
	})
	o.column("inlineDepth", len(fr), func(dst []byte, i int) []byte { return number(dst, fr[i].inline) })
	o.column("category", len(fr), func(dst []byte, i int) []byte { return number(dst, fr[i].category) })
	o.column("subcategory", len(fr), same("0"))
	o.column("func", len(fr), func(dst []byte, i int) []byte { return number(dst, fr[i].function) })
	o.column("nativeSymbol", len(fr), same("null"))
	o.column("innerWindowID", len(fr), same("0"))
	o.column("implementation", len(fr), same("null"))
	o.column("line", len(fr), func(dst []byte, i int) []byte {
		if fr[i].line == 0 {
			return append(dst, "null"...)
		}
		return number(dst, fr[i].line)
	})
	o.column("column", len(fr), same("null"))

	o.raw(fmt.Sprintf(`},"funcTable":{"length":%d`, len(fn)))
	o.column("name", len(fn), func(dst []byte, i int) []byte { return number(dst, fn[i].name) })
	o.column("isJS", len(fn), same("false"))
	o.column("relevantForJS", len(fn), same("false"))
	o.column("resource", len(fn), func(dst []byte, i int) []byte {
		return strconv.AppendInt(dst, int64(fn[i].resource), 10) // the viewer also uses -1 for none
	})
	o.column("fileName", len(fn), func(dst []byte, i int) []byte { return number(dst, fn[i].file) })
	o.column("lineNumber", len(fn), same("null"))
	o.column("columnNumber", len(fn), same("null"))

	// The name of a resource is the name of its file, which is added to the
	// texts here.
	libs := t.resources.list
	names := make([]int, len(libs))
	for i, lib := range libs {
		names[i] = t.texts.number(path.Base(p.libs.names.list[lib]))
	}
	o.raw(fmt.Sprintf(`},"resourceTable":{"length":%d`, len(libs)))
	o.column("lib", len(libs), func(dst []byte, i int) []byte { return number(dst, libs[i]) })
	o.column("name", len(libs), func(dst []byte, i int) []byte { return number(dst, names[i]) })
	o.column("host", len(libs), same("null"))
	o.column("type", len(libs), same("1")) // a library
	o.raw(`},"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]}`)
	o.column("stringArray", len(t.texts.list), func(dst []byte, i int) []byte {
		return appendString(dst, string(plain.Append(nil, t.texts.list[i])))
	})
}
