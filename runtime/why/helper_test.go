package why_test

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/why"
)

// This file makes histories of short texts. A line is: microseconds, CPU, the thread that
// has it, what happens. Threads are written NAME, and declared: a=PID/TID. "-" is the idle
// task.
//
//	a=10/11 b=20/20
//	100 0 a enter futex 0x1000 128
//	110 0 a sleep b
//	200 1 b wake a 0

// declared are the events and their fields: s is a text, the others are numbers of 8 bytes.
var declared = map[string]string{
	"sched:sched_switch":            "prev_comm:s prev_pid prev_state next_comm:s next_pid",
	"sched:sched_waking":            "comm:s pid target_cpu",
	"sched:sched_wakeup_new":        "comm:s pid target_cpu",
	"sched:sched_migrate_task":      "comm:s pid orig_cpu dest_cpu",
	"raw_syscalls:sys_enter":        "id args",
	"raw_syscalls:sys_exit":         "id ret",
	"irq:irq_handler_entry":         "irq name:s",
	"irq:irq_handler_exit":          "irq ret",
	"irq:softirq_entry":             "vec",
	"irq:softirq_exit":              "vec",
	"irq_vectors:local_timer_entry": "vector",
	"irq_vectors:local_timer_exit":  "vector",
	"block:block_rq_insert":         "dev sector rwbs:s",
	"block:block_rq_issue":          "dev sector rwbs:s",
	"block:block_rq_complete":       "dev sector rwbs:s",
	"lock:contention_begin":         "lock_addr flags",
	"lock:contention_end":           "lock_addr ret",
	"exceptions:page_fault_user":    "address",
	"exceptions:page_fault_kernel":  "address",
	"software:page-faults":          "",
	"software:minor-faults":         "",
	"software:major-faults":         "",
	"net:netif_rx":                  "name:s",

	"workqueue:workqueue_execute_start": "work function",
	"workqueue:workqueue_execute_end":   "work function",
	"kprobe:throttle_cfs_rq":            "cfs_rq",
	"kprobe:unthrottle_cfs_rq":          "cfs_rq",
}

var streams = func() map[string]*event.Stream {
	m := map[string]*event.Stream{}
	for name, fields := range declared {
		system, ev, _ := strings.Cut(name, ":")
		s := &event.Schema{System: system, Name: ev}
		add := func(f event.Field) {
			f.Offset = s.Size
			s.Size += f.Size
			s.Fields = append(s.Fields, f)
		}
		add(event.Field{Name: "common_flags", Size: 4})
		add(event.Field{Name: "common_pid", Size: 4, Signed: true})
		for _, f := range strings.Fields(fields) {
			switch n, text := strings.CutSuffix(f, ":s"); {
			case text:
				add(event.Field{Name: n, Kind: event.Str, Size: 16})
			case n == "args":
				add(event.Field{Name: n, Kind: event.Array, Elem: 8, Size: 48})
			default:
				add(event.Field{Name: n, Size: 8, Signed: true})
			}
		}
		m[name] = &event.Stream{Schema: s, Label: name}
	}
	return m
}()

// occur makes an event; values are numbers and texts by the order of the
// fields.
func occur(name string, at event.Time, cpu, pid, tid int32, values ...any) *event.Event {
	st := streams[name]
	e := &event.Event{Time: at, CPU: cpu, PID: pid, TID: tid, Stream: st, Kind: event.Sample}
	e.Raw = make([]byte, st.Schema.Size)
	binary.LittleEndian.PutUint32(e.Raw[4:], uint32(tid))
	for i, v := range values {
		f := &st.Schema.Fields[i+2]
		b := e.Raw[f.Offset : f.Offset+f.Size]
		switch v := v.(type) {
		case string:
			copy(b, v)
		case []uint64:
			for k, n := range v {
				binary.LittleEndian.PutUint64(b[8*k:], n)
			}
		case int:
			binary.LittleEndian.PutUint64(b, uint64(v))
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	return e
}

type task struct {
	name     string
	pid, tid int32
}

type story struct {
	tasks map[string]task
	evs   []*event.Event
}

// tell reads a history.
func tell(text string) *story {
	s := &story{tasks: map[string]task{"-": {}}}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		switch {
		case len(w) == 0 || w[0][0] == '#':
		case strings.Contains(w[0], "="):
			for _, d := range w {
				name, ids, _ := strings.Cut(d, "=")
				pid, tid, _ := strings.Cut(ids, "/")
				s.tasks[name] = task{name, int32(atoi(pid)), int32(atoi(tid))}
			}
		default:
			s.line(w)
		}
	}
	slices.SortStableFunc(s.evs, func(a, b *event.Event) int { return int(a.Time - b.Time) })
	return s
}

func atoi(s string) int {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

var states = map[string]int{"run": 0, "sleep": 1, "dsleep": 2, "die": 0x10}

func (s *story) line(w []string) {
	at, cpu := event.Time(atoi(w[0])*1000), int32(atoi(w[1]))
	t, ok := s.tasks[w[2]]
	if !ok {
		panic("no thread " + w[2])
	}
	verb, arg := w[3], append(slices.Clone(w[4:]), "0", "0", "0")
	add := func(name string, values ...any) {
		s.evs = append(s.evs, occur(name, at, cpu, t.pid, t.tid, values...))
	}
	number := func(name string) int {
		n, _ := kernel.SyscallNumber("amd64", name)
		return int(n)
	}
	other := s.tasks[arg[0]]
	switch verb {
	case "run", "sleep", "dsleep", "die":
		add("sched:sched_switch", t.name, int(t.tid), states[verb], other.name, int(other.tid))
	case "wake":
		add("sched:sched_waking", other.name, int(other.tid), atoi(arg[1]))
	case "born":
		add("sched:sched_wakeup_new", other.name, int(other.tid), atoi(arg[1]))
	case "move":
		add("sched:sched_migrate_task", other.name, int(other.tid), atoi(arg[1]), atoi(arg[2]))
	case "enter":
		add("raw_syscalls:sys_enter", number(arg[0]), []uint64{uint64(atoi(arg[1])), uint64(atoi(arg[2]))})
	case "exit":
		add("raw_syscalls:sys_exit", number(arg[0]), 0)
	case "irq":
		add("irq:irq_handler_entry", 7, arg[0])
	case "irq-":
		add("irq:irq_handler_exit", 7, 1)
	case "softirq":
		add("irq:softirq_entry", atoi(arg[0]))
	case "softirq-":
		add("irq:softirq_exit", atoi(arg[0]))
	case "timer":
		add("irq_vectors:local_timer_entry", 236)
	case "timer-":
		add("irq_vectors:local_timer_exit", 236)
	case "insert", "issue", "complete":
		add("block:block_rq_"+verb, 254<<20, atoi(arg[0]), "R")
	case "lock":
		add("lock:contention_begin", atoi(arg[0]), atoi(arg[1]))
	case "locked":
		add("lock:contention_end", atoi(arg[0]), 0)
	case "fault":
		add("exceptions:page_fault_user", 0x1000)
	case "work":
		add("workqueue:workqueue_execute_start", 1, atoi(arg[0]))
	case "work-":
		add("workqueue:workqueue_execute_end", 1, atoi(arg[0]))
	case "page":
		add("software:page-faults")
	case "minor", "major":
		add("software:" + verb + "-faults")
	case "rx":
		add("net:netif_rx", "lo")
	case "throttle", "unthrottle":
		add("kprobe:"+verb+"_cfs_rq", atoi(arg[0]))
	default:
		panic("no verb " + verb)
	}
}

func (s *story) events() iter.Seq[*event.Event] { return slices.Values(s.evs) }

func (s *story) span(who string, from, to int) why.Span {
	t := s.tasks[who]
	return why.Span{
		From: event.Time(from * 1000), To: event.Time(to * 1000), TID: t.tid, PID: t.pid, Label: "x",
	}
}

func (s *story) config() why.Config {
	return why.Config{
		Task: func(tid int32) (int32, string) {
			for _, t := range s.tasks {
				if t.tid == tid {
					return t.pid, t.name
				}
			}
			return 0, ""
		},
		Kernel: func(tid int32) bool { return tid >= 900 },
		Names: why.Names{
			Disk: func(uint32) string { return "vda" },
			Function: func(addr uint64) string {
				return map[uint64]string{1: "wb_workfn", 2: "vmstat_update"}[addr]
			},
		},
	}
}

// partsText writes the parts down: times in us, then the links.
func partsText(s *result.WhySpan) string {
	var b strings.Builder
	for i := range s.Parts {
		p := &s.Parts[i]
		fmt.Fprintf(&b, "%v-%v", float64(p.From)/1000, float64(p.To)/1000)
		for k := range p.Path {
			if k > 0 {
				b.WriteString(" >")
			}
			l := &p.Path[k]
			fmt.Fprintf(&b, " %s: %s", l.Task.Comm, l.Kind)
			if l.What != "" {
				fmt.Fprintf(&b, " %q", l.What)
			}
			if l.Whom.TID != 0 {
				fmt.Fprintf(&b, " (%s", l.Whom.Comm)
				switch {
				case l.Kernel:
					b.WriteString(", kernel")
				case l.Foreign:
					b.WriteString(", foreign")
				}
				b.WriteString(")")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// whole fails if the parts of a span do not add up to it.
func whole(t *testing.T, s *result.WhySpan) {
	t.Helper()
	at := s.From
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.From != at || p.To <= p.From || len(p.Path) == 0 {
			t.Fatalf("part %d: got %d-%d of %d links, want it to begin at %d",
				i, p.From, p.To, len(p.Path), at)
		}
		at = p.To
	}
	if s.To > s.From && at != s.To {
		t.Fatalf("parts end at %d, want %d", at, s.To)
	}
}

func callNumber(name string) int {
	n, _ := kernel.SyscallNumber("amd64", name)
	return int(n)
}
