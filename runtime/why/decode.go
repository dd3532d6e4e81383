package why

import (
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/kernel"
)

// This file converts events to records: an event's kind and the few numbers that the
// explanation needs. The fields are looked up once for each stream.

type kind uint8

const (
	kNone      kind = iota
	kSwitch         // tid leaves the CPU with state a; other gets it
	kWaking         // tid wakes other, which will wait for CPU a
	kWakeup         // the same, used if the kernel or the recording has no kWaking
	kBorn           // tid created other
	kMigrate        // other now waits for CPU b instead of a
	kEnter          // begin of system call a; b and c are its first arguments
	kExit           // end of system call a
	kFault          // page fault of the program at address a; b is 1 if it may be the kernel's, in a call
	kFaultIn        // page fault of the kernel
	kFaultDone      // end of a page fault; a is 1 for a major one
	kIRQ            // name
	kIRQDone
	kSoftirq // vector a
	kSoftirqDone
	kVector // name
	kVectorDone
	kInsert // disk request of device a, sector b; name has device and direction
	kIssue
	kComplete
	kLock // address a, flags b
	kLockDone
	kRx         // a packet from this machine to itself
	kThrottle   // queue a
	kUnthrottle // queue a
	kWork       // a kernel thread begins work with function a
	kWorkDone

	// Made by this package.
	kOn  // tid has the CPU, as the next event shows
	kGap // from here on, the state of the CPU is unknown
	kEnd // end of a gap
)

// A record is an event in the compact form that is kept. tid is the thread that has
// the CPU; a, b and c depend on the kind.
type record struct {
	at      event.Time
	a, b, c uint64
	cpu     int32
	tid     int32
	other   int32
	// ref is the index of a related record; -1 if there is none. For a wake-up it is
	// the completed request or the packet of the same interrupt; for an issued request
	// its insertion; for a completed request its issue; for a lock the lock wait around
	// it.
	ref   int32
	top   int32  // for a wake-up: the record of the interrupt in which it happened; -1 if in none
	name  uint32 // number in names
	stack stack.ID
	kind  kind
	inIRQ uint8 // for wake-ups: the context according to the event's own flags
	tells bool  // for wake-ups: the event has flags, so that inIRQ is valid
	quota uint8 // for switches: flags about quotas; b and c are then the kernel's account, see accounted
}

// The values of inIRQ.
const (
	inThread uint8 = iota
	inHard
	inSoft
)

// A shape has the fields of a stream's events that decode reads.
type shape struct {
	kind   kind
	pid    *event.Field // common_pid; nil if there is none
	flags  *event.Field // common_flags
	fields [4]*event.Field
	texts  [2]*event.Field
	name   uint32 // number of a name that all events of the stream have
	stack  bool
	cgroup bool // its samples have the id of a cgroup
	one    bool // the tracepoint of one system call, not of all
}

// A form is the template of a shape: the kind, and the names of the fields.
type form struct {
	kind   kind
	fields []string
	texts  []string
	stack  bool
}

var forms = map[string]form{
	"sched:sched_switch": {
		kSwitch, []string{"prev_state", "next_pid", "prev_pid"}, []string{"prev_comm", "next_comm"}, true,
	},
	"sched:sched_waking":         {kWaking, []string{"target_cpu", "pid"}, []string{"comm"}, true},
	"sched:sched_wakeup":         {kWakeup, []string{"target_cpu", "pid"}, []string{"comm"}, true},
	"sched:sched_wakeup_new":     {kBorn, []string{"target_cpu", "pid"}, []string{"comm"}, true},
	"sched:sched_migrate_task":   {kMigrate, []string{"orig_cpu", "pid", "dest_cpu"}, nil, false},
	"raw_syscalls:sys_exit":      {kExit, []string{"id"}, nil, false},
	"exceptions:page_fault_user": {kFault, []string{"address"}, nil, false},

	"exceptions:page_fault_kernel": {kFaultIn, []string{"address"}, nil, false},
	"software:page-faults":         {kFault, nil, nil, false},
	"software:minor-faults":        {kFaultDone, nil, nil, false},
	"software:major-faults":        {kFaultDone, nil, nil, false},
	"irq:irq_handler_entry":        {kIRQ, []string{"irq"}, []string{"name"}, false},
	"irq:irq_handler_exit":         {kIRQDone, []string{"irq"}, nil, false},
	"irq:softirq_entry":            {kSoftirq, []string{"vec"}, nil, false},
	"irq:softirq_exit":             {kSoftirqDone, []string{"vec"}, nil, false},
	"block:block_rq_insert":        {kInsert, []string{"dev", "sector"}, []string{"rwbs"}, false},
	"block:block_rq_issue":         {kIssue, []string{"dev", "sector"}, []string{"rwbs"}, false},
	"block:block_rq_complete":      {kComplete, []string{"dev", "sector"}, []string{"rwbs"}, false},
	"lock:contention_begin":        {kLock, []string{"lock_addr", "flags"}, nil, true},
	"lock:contention_end":          {kLockDone, []string{"lock_addr"}, nil, false},
	"net:netif_rx":                 {kRx, nil, []string{"name"}, false},

	"workqueue:workqueue_execute_start": {kWork, []string{"function"}, nil, false},
	"workqueue:workqueue_execute_end":   {kWorkDone, nil, nil, false},
}

// shapeOf returns the shape of a stream. Slow path: it looks the fields up once
// for each stream.
func (x *Explainer) shapeOf(s *event.Stream) *shape {
	if sh := x.shapes[s]; sh != nil {
		return sh
	}
	sh := &shape{}
	x.shapes[s] = sh
	schema := s.Schema
	f, ok := forms[schema.FullName()]
	if !ok {
		f = x.formOf(schema, sh)
	}
	sh.kind = f.kind
	sh.pid = own(schema, "common_pid")
	sh.flags = own(schema, "common_flags")
	if l, ok := s.Members.(interface{ TellsCgroup() bool }); ok && x.cfg.CgroupByID != nil {
		sh.cgroup = l.TellsCgroup() && (f.kind == kSwitch || f.kind == kEnter || f.kind == kExit)
	}
	sh.stack = f.stack && x.cfg.Stacks && s.Members != nil
	for i, n := range f.fields {
		if sh.fields[i] = own(schema, n); sh.fields[i] == nil {
			sh.kind = kNone // an unknown version of the kernel without this field
		}
	}
	for i, n := range f.texts {
		sh.texts[i] = own(schema, n)
	}
	switch schema.FullName() {
	case "raw_syscalls:sys_enter":
		sh.kind = kEnter
		sh.fields[0] = own(schema, "id")
		if args := own(schema, "args"); args != nil {
			sh.fields[1], _ = schema.Element(args, 0)
			sh.fields[2], _ = schema.Element(args, 1)
		}
	case "software:major-faults", "software:page-faults":
		sh.name = 1
	}
	if schema.System == "raw_syscalls" {
		x.allCalls = true
		for _, other := range x.shapes {
			if other.one {
				other.kind = kNone // the tracepoint of all system calls has the same events
			}
		}
	}
	if sh.one && x.allCalls {
		sh.kind = kNone
	}
	if sh.kind != kNone {
		x.observed[sh.kind] = true
	}
	return sh
}

// formOf recognises events whose names vary.
func (x *Explainer) formOf(schema *event.Schema, sh *shape) form {
	switch n := schema.Name; {
	case schema.System == "irq_vectors" && strings.HasSuffix(n, "_entry"):
		sh.name = x.names.of(vectorName(strings.TrimSuffix(n, "_entry")))
		return form{kind: kVector}
	case schema.System == "irq_vectors" && strings.HasSuffix(n, "_exit"):
		sh.name = x.names.of(vectorName(strings.TrimSuffix(n, "_exit")))
		return form{kind: kVectorDone}
	case schema.System == "syscalls" && strings.HasPrefix(n, "sys_enter_"):
		sh.name, sh.one = x.names.of(strings.TrimPrefix(n, "sys_enter_")), true
		f := form{kind: kEnter}
		for i := range schema.Fields {
			if strings.HasPrefix(schema.Fields[i].Name, "common_") || len(f.fields) == 3 {
				continue
			}
			f.fields = append(f.fields, schema.Fields[i].Name)
		}
		return f
	case schema.System == "syscalls" && strings.HasPrefix(n, "sys_exit_"):
		sh.name, sh.one = x.names.of(strings.TrimPrefix(n, "sys_exit_")), true
		return form{kind: kExit}
	case strings.HasPrefix(n, "throttle_cfs_rq"):
		return form{kThrottle, firstArgument(schema), nil, false}
	case strings.HasPrefix(n, "unthrottle_cfs_rq"):
		return form{kUnthrottle, firstArgument(schema), nil, false}
	}
	return form{}
}

// firstArgument returns the field of a probe with the first argument of its
// function.
func firstArgument(schema *event.Schema) []string {
	for i := range schema.Fields {
		switch n := schema.Fields[i].Name; {
		case strings.HasPrefix(n, "common_"), n == "ip", n == "ret_ip", strings.HasPrefix(n, "__probe"):
		default:
			return []string{n}
		}
	}
	return nil
}

// vectorName returns the name of an interrupt vector for people.
func vectorName(n string) string {
	switch n {
	case "local_timer":
		return timerVector
	case "reschedule", "call_function", "call_function_single":
		return n + " IPI"
	}
	return n
}

const timerVector = "local timer"

// own returns a field of the schema by name; nil if there is none.
func own(s *event.Schema, name string) *event.Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// number reads a field; 0 if f is nil.
func number(f *event.Field, e *event.Event) uint64 {
	if f == nil {
		return 0
	}
	n, _ := f.Int(e)
	return uint64(n)
}

// decode makes a record of an event; false if it is too short.
//
// Fast path: it allocates only for new names.
func (x *Explainer) decode(sh *shape, e *event.Event) (record, bool) {
	r := record{at: e.Time, kind: sh.kind, cpu: e.CPU, tid: e.TID, ref: -1, top: -1, name: sh.name}
	// The tid in the event's own fields is from the initial PID namespace; the
	// sample's tid is from our PID namespace.
	if sh.pid != nil {
		if n, ok := sh.pid.Int(e); ok && (n != 0 || e.TID <= 0) {
			r.tid = int32(n)
			x.otherIDs = x.otherIDs || e.TID > 0 && e.TID != r.tid && sh.kind != kSwitch
		}
	}
	x.know(r.tid, e)
	for i, f := range sh.fields {
		if f == nil {
			continue
		}
		n, ok := f.Int(e)
		if !ok {
			return r, false
		}
		switch i {
		case 0:
			r.a = uint64(n)
		case 1:
			r.b = uint64(n)
		case 2:
			r.c = uint64(n)
		}
	}
	if sh.stack {
		n, _ := e.Stream.Members.Member(e, event.MemberCallchain)
		r.stack = stack.ID(n)
	}
	x.finish(&r, sh, e)
	if sh.cgroup {
		x.inCgroup(r.tid, e)
	}
	return r, true
}

// finish sets the members that depend on the kind.
func (x *Explainer) finish(r *record, sh *shape, e *event.Event) {
	switch r.kind {
	case kSwitch:
		r.tid, r.other = int32(r.c), int32(r.b)
		x.quotaAt(r, e)
		x.called(r.tid, sh.texts[0], e)
		x.called(r.other, sh.texts[1], e)
	case kWaking, kWakeup, kBorn:
		r.other = int32(r.b)
		x.called(r.other, sh.texts[0], e)
		flags := number(sh.flags, e)
		r.tells = flags != 0 // at least the flag that interrupts are off is set
		switch {
		case flags&flagHard != 0:
			r.inIRQ = inHard
		case flags&flagSoft != 0:
			r.inIRQ = inSoft
		}
	case kMigrate:
		r.other, r.b = int32(r.b), r.c
	case kEnter, kExit:
		if r.name == 0 {
			r.name = x.syscallName(int64(r.a))
		} else if r.kind == kEnter { // field 0 is its first argument, not its number
			r.a = 0
		}
	case kFault:
		r.b = uint64(sh.name)
	case kFaultDone:
		r.a = uint64(sh.name)
	case kIRQ:
		r.name = x.names.text(sh.texts[0], e)
		if len(x.names.irqs) < maxDisks {
			x.names.irqs[r.a] = r.name
		}
	case kIRQDone:
		r.name = x.names.irqs[r.a]
	case kSoftirq, kSoftirqDone:
		r.name = x.softirqName(r.a)
	case kInsert, kIssue, kComplete:
		r.name = x.diskName(uint32(r.a), sh.texts[0], e)
	case kRx:
		r.name = x.names.text(sh.texts[0], e)
	}
}

// Flags of common_flags: must match enum trace_flag_type in
// include/linux/trace_events.h.
const (
	flagHard = 0x08
	flagSoft = 0x10
)

// know records the process of a thread that has the CPU.
func (x *Explainer) know(tid int32, e *event.Event) {
	if tid <= 0 || e.PID <= 0 || e.TID != tid {
		return
	}
	if t := x.thread(tid); t.pid <= 0 {
		t.pid = e.PID
	}
}

// called records the name of a thread.
func (x *Explainer) called(tid int32, f *event.Field, e *event.Event) {
	if tid <= 0 || f == nil {
		return
	}
	x.thread(tid).name = x.names.text(f, e)
}

// syscallName returns the number in names of a system call's name.
func (x *Explainer) syscallName(nr int64) uint32 {
	if nr < 0 || nr >= int64(len(x.names.syscalls)) {
		return x.names.of("system call " + strconv.FormatInt(nr, 10))
	}
	n := &x.names.syscalls[nr]
	if *n == 0 {
		text := kernel.SyscallName(x.cfg.Arch, nr)
		if text == "" {
			text = "system call " + strconv.FormatInt(nr, 10)
		}
		*n = x.names.of(text)
	}
	return *n
}

// softirqs are the names of the vectors: must match the enum in
// include/linux/interrupt.h.
var softirqs = [...]string{
	"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
}

const (
	softTimer   = 1
	softNetRx   = 3
	softBlock   = 4
	softHrtimer = 8
)

func (x *Explainer) softirqName(vec uint64) uint32 {
	if vec < uint64(len(softirqs)) {
		return x.names.of(softirqs[vec])
	}
	return x.names.of("softirq " + strconv.FormatUint(vec, 10))
}

// diskName returns the number of a request's name, such as "vda read".
func (x *Explainer) diskName(dev uint32, f *event.Field, e *event.Event) uint32 {
	way := "request"
	if f != nil {
		way = direction(f.Text(e))
	}
	key := diskKey{dev, way}
	if n, ok := x.names.disks[key]; ok {
		return n
	}
	name := strconv.Itoa(int(dev>>20)) + ":" + strconv.Itoa(int(dev&(1<<20-1)))
	if x.cfg.Disk != nil {
		if n := x.cfg.Disk(dev); n != "" {
			name = n
		}
	}
	if len(x.names.disks) >= maxDisks {
		clear(x.names.disks)
	}
	n := x.names.of(name + " " + way)
	x.names.disks[key] = n
	return n
}

// direction returns the operation of a request, from the letters of
// blk_fill_rwbs.
func direction(rwbs []byte) string {
	for _, c := range rwbs {
		switch c {
		case 'R':
			return "read"
		case 'W':
			return "write"
		case 'D':
			return "discard"
		case 'F':
			if len(rwbs) > 1 && rwbs[1] == 'W' {
				return "write"
			}
			return "flush"
		}
	}
	return "request"
}
