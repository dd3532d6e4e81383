package why

import (
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/kernel"
)

// This file turns events into records: the kinds that the breakdown knows, with the few
// numbers of each that it needs. Which fields these are is settled once for each stream.

type kind uint8

const (
	kNone      kind = iota
	kSwitch         // tid leaves the CPU, a is its state; other comes
	kWaking         // tid wakes other, a is the CPU for which it will wait
	kWakeup         // the same, where the kernel or the recording has no kWaking
	kBorn           // tid made other
	kMigrate        // other waits for CPU b instead of a
	kEnter          // system call a, b and c are its first arguments
	kExit           // of system call a
	kFault          // of the program, at address a; b is 1 if it may be the kernel's, in a call
	kFaultIn        // of the kernel
	kFaultDone      // a is 1 for a major one
	kIRQ            // name
	kIRQDone
	kSoftirq // vector a
	kSoftirqDone
	kVector // name
	kVectorDone
	kInsert // request of device a, sector b; name has device and direction
	kIssue
	kComplete
	kLock // address a, flags b
	kLockDone
	kRx         // a packet for this machine
	kThrottle   // queue a
	kUnthrottle // queue a
	kWork       // a thread of the kernel begins work, by function a
	kWorkDone

	// Made here.
	kOn  // tid has the CPU
	kGap // from here on nothing is known of the CPU
	kEnd // of a gap
)

// A record is an event as the breakdown keeps it. tid is the thread that has the CPU.
type record struct {
	at      event.Time
	a, b, c uint64
	cpu     int32
	tid     int32
	other   int32
	// ref is another record: of a wake-up the completed request or the packet in whose
	// interrupt it happened, of an issued request its insertion, of a completed one its
	// issue, of a lock the one around it. -1 is none.
	ref   int32
	top   int32  // of a wake-up: the interrupt in which it happened; -1 is none
	name  uint32 // of names
	stack stack.ID
	kind  kind
	inIRQ uint8 // of wake-ups: what the event itself says of its context
	tells bool  // of wake-ups: the event itself says what its context is
	quota uint8 // of switches: what they tell of quotas; b and c are then the accounts, see accounted
}

// What inIRQ says.
const (
	inThread uint8 = iota
	inHard
	inSoft
)

// A shape says where the numbers of a stream's events are.
type shape struct {
	kind   kind
	pid    *event.Field // common_pid; nil is not there
	flags  *event.Field // common_flags
	fields [4]*event.Field
	texts  [2]*event.Field
	name   uint32 // fixed by the event itself
	stack  bool
	cgroup bool // its samples say in which cgroup they are
	one    bool // it is of one system call, not of all
}

// A form is what shapes are made of: the kind, and the names of the fields.
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

// shapeOf looks a stream's fields up: Slow path, once for each stream.
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
			sh.kind = kNone // of another version of the kernel, which is not known
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
				other.kind = kNone // it would come twice
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

// firstArgument names the field of a probe that has its function's first argument.
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

// vectorName is what people call an interrupt vector.
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

// own is a field of the record itself; nil if it has none of that name.
func own(s *event.Schema, name string) *event.Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// number reads a field; 0 if it is not there.
func number(f *event.Field, e *event.Event) uint64 {
	if f == nil {
		return 0
	}
	n, _ := f.Int(e)
	return uint64(n)
}

// decode makes a record of an event; false if it is too short.
//
// Fast path: it allocates nothing but names that are new.
func (x *Explainer) decode(sh *shape, e *event.Event) (record, bool) {
	r := record{at: e.Time, kind: sh.kind, cpu: e.CPU, tid: e.TID, ref: -1, top: -1, name: sh.name}
	// The event's own number is the machine's, as in its other fields; the
	// sample's number is of our namespace of processes.
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

// finish fills in what is special to a kind of events.
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
		r.tells = flags != 0 // interrupts are off at least
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
		} else if r.kind == kEnter { // its number is not among the arguments
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

// know notes the process of a thread that has the CPU.
func (x *Explainer) know(tid int32, e *event.Event) {
	if tid <= 0 || e.PID <= 0 || e.TID != tid {
		return
	}
	if t := x.thread(tid); t.pid <= 0 {
		t.pid = e.PID
	}
}

// called notes the name of a thread.
func (x *Explainer) called(tid int32, f *event.Field, e *event.Event) {
	if tid <= 0 || f == nil {
		return
	}
	x.thread(tid).name = x.names.text(f, e)
}

// syscallName is the number of a system call's name among our names.
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

// diskName names a request: "vda read".
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

// direction says what a request does, by the letters of blk_fill_rwbs.
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
