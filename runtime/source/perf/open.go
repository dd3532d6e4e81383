package perf

import (
	"context"
	"errors"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/poll"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// An opener opens each event on each place. If one fails, it closes all
// descriptors that it has opened, the last first.
type opener struct {
	cfg   *Config
	att   *attachment
	fds   []eventFD
	rings []*ring // by index in attachment.rings; nil if no event was opened there
	owner []int   // for each ring, the descriptor with which it was mapped
	page  int
	warn  func(error)
	lacks
	dead map[int]bool
	// leaders are the descriptors of events that lead groups.
	leaders []int
	text    []byte // config1 of the event being opened points to it
	hooked  bool   // programs handle the samples
	plug    *plug  // the state of the CPUs before opening
}

// lacks are the features that this kernel lacks, as found by probe.
type lacks struct {
	noLost bool // no PERF_FORMAT_LOST (before 6.0)
	noTid  bool // no inherit_thread (before 5.13)
	noKsym bool // no records about kernel code (before 5.1)
	noPoke bool // no records about changes of kernel code (before 5.8)
}

// member is one event of the Config, or the dummy, that is being opened.
type member struct {
	index int // in Config.Events, -1 for the dummy
	ev    *EventConfig
	attr  unix.PerfEventAttr
}

func (o *opener) close() error {
	var errs []error
	for _, r := range slices.Backward(o.rings) {
		if r != nil {
			errs = append(errs, r.unmap())
		}
	}
	for i, f := range slices.Backward(o.fds) {
		errs = append(errs, unix.Close(f.fd))
		if o.cfg.Closed != nil {
			o.cfg.Closed(uint64(len(o.fds)-i), uint64(len(o.fds)))
		}
	}
	for _, fd := range o.leaders {
		errs = append(errs, unix.Close(fd))
	}
	o.fds, o.rings, o.leaders = nil, nil, nil
	return errors.Join(errs...)
}

// members returns the events to open, with their attrs.
func (o *opener) members(counting bool) []member {
	c := o.cfg
	n := len(c.Events)
	dummy := c.SideBand.any() && !counting
	if dummy {
		n++
	}
	withID := n > 1 || slices.Contains(c.Members, event.MemberID)
	ringCPU := o.att.rings[0].cpu >= 0
	var ms []member
	if dummy {
		// The dummy is first, so that FORK records precede the events of new
		// tasks.
		ms = append(ms, member{-1, &EventConfig{Label: "dummy"}, c.dummy(withID, ringCPU)})
	}
	for i := range c.Events {
		ev := &c.Events[i]
		switch {
		case o.hooked:
			ms = append(ms, member{i, ev, c.hooked(ev)})
		case counting:
			ms = append(ms, member{i, ev, c.counting(ev)})
		default:
			ms = append(ms, member{i, ev, c.sampling(ev, withID, ringCPU)})
		}
	}
	for i := range ms {
		a := &ms[i].attr
		if o.att.inherit {
			a.Bits |= unix.PerfBitInherit
			if o.att.thread {
				a.Bits |= bitInheritThread
			}
		}
		if (o.strays() || o.att.family != nil) && !counting {
			a.Sample_type |= unix.PERF_SAMPLE_TID // needed to drop samples of other tasks
		}
		if c.Target.Workload != nil && !c.Target.System && o.att.family == nil && !c.projected() {
			a.Bits |= unix.PerfBitEnableOnExec
		}
	}
	return ms
}

// openAll opens all members on all places.
func (o *opener) openAll(ctx context.Context, counting bool) error {
	o.page = os.Getpagesize()
	o.rings = make([]*ring, len(o.att.rings))
	o.owner = make([]int, len(o.att.rings))
	o.dead = map[int]bool{}
	o.probe()
	ms := o.members(counting)
	if err := o.checkCPUs(ms); err != nil {
		return err
	}
	if err := refuseSilent(ms, kernel.TryBreakpoint); err != nil {
		return err
	}
	if !counting && !o.hooked {
		if v, err := kernel.ReadVersion(kernel.Roots{}); err == nil {
			if err := refuseAlike(ms, v); err != nil {
				return err
			}
		}
	}
	var left []*LeftOut
	for i := range ms {
		if ms[i].ev.Projection != nil {
			continue // a program sends its samples
		}
		from := len(o.fds)
		for _, p := range o.att.places {
			if err := ctx.Err(); err != nil {
				return err
			}
			if o.dead[p.pid] && p.pid > 0 || ms[i].ev.CPUs != nil && !slices.Contains(ms[i].ev.CPUs, p.cpu) {
				continue
			}
			err := o.openOne(&ms[i], p, counting)
			if errors.Is(err, unix.ESRCH) && p.flags == 0 && p.pid > 0 {
				o.dead[p.pid] = true
				continue
			}
			if err == nil {
				continue
			}
			switch {
			case o.wentOffline(p, err):
				return &goneCPU{p.cpu, err}
			case ms[i].ev.Optional:
				if !ms[i].ev.Quiet {
					o.warn(err)
				}
			case ms[i].ev.Pattern != "" && isNobodys(ms[i].ev, err):
				left = append(left, &LeftOut{Pattern: ms[i].ev.Pattern, Err: err})
			default:
				return err
			}
			o.drop(from)
			break
		}
	}
	if err := o.leaveOut(ms, left); err != nil {
		return err
	}
	return o.checkAlive()
}

// drop closes the descriptors from index from on, for an optional event that
// opened only on some places. It keeps rings that other events may use.
func (o *opener) drop(from int) {
	for _, f := range o.fds[from:] {
		if o.rings[f.ring] != nil && o.owner[f.ring] == f.fd {
			o.rings[f.ring].unmap()
			o.rings[f.ring] = nil
		}
		unix.Close(f.fd)
	}
	o.fds = o.fds[:from]
}

// checkCPUs refuses events that are restricted to CPUs outside of the target,
// since they would never have samples.
func (o *opener) checkCPUs(ms []member) error {
	for _, m := range ms {
		if m.ev.CPUs == nil {
			continue
		}
		hit := false
		for _, p := range o.att.places {
			if p.cpu < 0 {
				return diag.Errorf(diag.Usage, "open event", m.ev.name(),
					"cpus=: the target is threads, whose events follow them over all CPUs").
					WithHint("restrict the target with -C as well")
			}
			hit = hit || slices.Contains(m.ev.CPUs, p.cpu)
		}
		if !hit {
			return diag.Errorf(diag.Usage, "open event", m.ev.name(),
				"cpus=: none of them is among the CPUs of the target").
				WithHint("leave out cpus= or name CPUs that -C includes")
		}
	}
	return nil
}

// checkAlive warns about tasks that have ended; it is an error if all have
// ended.
func (o *opener) checkAlive() error {
	what := "thread"
	var gone []error
	for _, id := range sortedKeys(o.dead) {
		gone = append(gone, noSuchTask(id, what))
	}
	if len(o.fds) == 0 && len(gone) > 0 {
		return errors.Join(gone...)
	}
	for _, err := range gone {
		o.warn(err)
	}
	return nil
}

func sortedKeys(m map[int]bool) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// openOne opens m on p and directs its records to the place's ring.
func (o *opener) openOne(m *member, p place, counting bool) error {
	if m.ev.Config1Text != "" {
		// The text is in o, on the heap, since memory of the stack could move.
		o.text = append([]byte(m.ev.Config1Text), 0)
		m.attr.Ext1 = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(o.text))))
	}
	leader, err := o.lead(m, p)
	if err != nil {
		return o.explainOpen(m, p, err)
	}
	fd, err := o.perfEventOpen(&m.attr, p, leader)
	if err != nil {
		return o.explainOpen(m, p, err)
	}
	f := eventFD{fd: fd, stream: m.index, ring: p.ring, place: p}
	f.counts = m.attr.Read_format&unix.PERF_FORMAT_LOST != 0
	o.fds = append(o.fds, f)
	if m.ev.Filter != "" {
		if err := poll.SetFilter(fd, m.ev.Filter); err != nil {
			return &FilterError{Label: m.ev.name(), Filter: m.ev.Filter, Err: o.explainFilter(m, err)}
		}
	}
	if m.ev.Program != 0 {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, m.ev.Program); err != nil {
			return &diag.Error{Op: "attach program", Subject: m.ev.name(), Cause: err, Class: diag.Attach}
		}
	}
	if m.ev.Observer != 0 && m.ev.Program == 0 {
		_ = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, m.ev.Observer)
	}
	if counting {
		return nil
	}
	id, err := ioctlID(fd)
	if err != nil {
		return o.explainOpen(m, p, err)
	}
	o.fds[len(o.fds)-1].id = id
	if o.rings[p.ring] != nil {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, o.owner[p.ring]); err != nil {
			return o.explainOpen(m, p, err)
		}
		return nil
	}
	r, err := mapRing(fd, o.cfg.dataSize(), o.page, !o.cfg.Overwrite)
	if err != nil {
		return o.explainMap(err)
	}
	key := o.att.rings[p.ring]
	r.cpu, r.backward = int32(key.cpu), o.cfg.Overwrite
	r.stat.CPU, r.stat.TID = key.cpu, key.tid
	o.rings[p.ring], o.owner[p.ring] = r, fd
	return nil
}

// lead opens the leader of m's group; -1 if m needs none. As in perf, only the
// leader is opened disabled: on some kernels, a member that is opened disabled
// stays disabled if its leader is of another PMU.
func (o *opener) lead(m *member, p place) (int, error) {
	if m.ev.Leader == 0 {
		return -1, nil
	}
	a := unix.PerfEventAttr{Type: m.attr.Type, Size: m.attr.Size, Config: m.ev.Leader,
		Bits: unix.PerfBitDisabled |
			m.attr.Bits&(unix.PerfBitEnableOnExec|unix.PerfBitInherit|bitInheritThread|
				unix.PerfBitExcludeUser|unix.PerfBitExcludeKernel|unix.PerfBitExcludeHv|
				unix.PerfBitExcludeHost|unix.PerfBitExcludeGuest)}
	fd, err := o.perfEventOpen(&a, p, -1)
	if err == nil {
		o.leaders = append(o.leaders, fd)
		m.attr.Bits &^= unix.PerfBitDisabled
	}
	return fd, err
}

// perfEventOpen makes the system call, without flags that this kernel lacks.
func (o *opener) perfEventOpen(a *unix.PerfEventAttr, p place, leader int) (int, error) {
	o.strip(a)
	for {
		var fd int
		var err error
		// Before Linux 5.8, observing a task of another user needs the right to
		// ptrace it.
		privilege.Raise(privilege.Processes, func() {
			fd, err = unix.PerfEventOpen(a, p.pid, p.cpu, leader, p.flags|unix.PERF_FLAG_FD_CLOEXEC)
		})
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// strip removes the bits of attr that this kernel lacks.
func (o *opener) strip(a *unix.PerfEventAttr) {
	if o.noLost {
		a.Read_format &^= unix.PERF_FORMAT_LOST
	}
	if o.noTid {
		a.Bits &^= bitInheritThread
	}
	if o.noKsym {
		a.Bits &^= bitKsymbol
	}
	if o.noPoke {
		a.Bits &^= bitTextPoke
	}
}

// probe finds the bits that this kernel lacks, by opening a dummy event on this
// thread. Only EINVAL means that a bit is missing.
func (o *opener) probe() {
	refused := func(readFormat, bits uint64) bool {
		fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
			Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Read_format: readFormat,
			Bits: bits | unix.PerfBitDisabled | unix.PerfBitExcludeKernel,
		}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err == unix.EINVAL
	}
	o.noLost = refused(unix.PERF_FORMAT_LOST, 0)
	o.noKsym = o.cfg.SideBand.Ksymbol && refused(0, bitKsymbol)
	o.noPoke = o.cfg.SideBand.TextPoke && refused(0, bitTextPoke)
	o.noTid = o.att.inherit && o.att.thread && refused(0, unix.PerfBitInherit|bitInheritThread)
}

// strays reports that the events follow child processes although only threads
// are wanted, since the kernel lacks inherit_thread.
func (o *opener) strays() bool { return o.att.inherit && o.att.thread && o.noTid }

// enable starts all events, each separately, and their leaders.
func (o *opener) enable() error {
	for _, fd := range o.leaders {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return &diag.Error{Op: "enable", Subject: "leader of a group", Cause: err, Class: diag.Attach}
		}
	}
	for _, f := range o.fds {
		if err := unix.IoctlSetInt(f.fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return &diag.Error{Op: "enable", Subject: o.nameOf(f.stream), Cause: err, Class: diag.Attach}
		}
	}
	return nil
}

// begin sets one moment from which samples of all events count. The kernel enables the events one
// after another; samples before all are enabled would be ends without begins, or too many samples
// of the events that were enabled first. Backward rings are left out: they soon overwrite such
// samples, and their positions go backward.
func (o *opener) begin() {
	for _, r := range o.rings {
		if r != nil && !r.backward {
			r.from = r.written()
		}
	}
}

// disable stops all events and their inherited copies. The kernel stops one after another, which
// causes interrupts; the events that are still enabled would record incomplete pairs of them. So
// samples after the begin of disable are left out.
func (o *opener) disable() error {
	for _, r := range o.rings {
		if r != nil && !r.backward {
			r.to = r.written()
		}
	}
	var errs []error
	for _, f := range o.fds {
		if err := unix.IoctlSetInt(f.fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
			errs = append(errs, &diag.Error{Op: "disable", Subject: o.nameOf(f.stream), Cause: err})
		}
	}
	return errors.Join(errs...)
}

// turn starts or stops the events, except the dummy.
func (o *opener) turn(on bool) error {
	how := uint(unix.PERF_EVENT_IOC_DISABLE)
	if on {
		how = unix.PERF_EVENT_IOC_ENABLE
	}
	var errs []error
	for _, f := range o.fds {
		if f.stream < 0 {
			continue
		}
		if err := unix.IoctlSetInt(f.fd, how, 0); err != nil {
			errs = append(errs, &diag.Error{Op: "switch", Subject: o.nameOf(f.stream), Cause: err})
		}
	}
	return errors.Join(errs...)
}

func (o *opener) nameOf(stream int) string {
	if stream < 0 {
		return "dummy"
	}
	return o.cfg.Events[stream].name()
}
