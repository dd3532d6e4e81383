package load

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// A Run is an Image in the kernel. It is used by one goroutine. All of it is
// held by descriptors, so that it is gone when the process is.
type Run struct {
	im    *Image
	maps  map[MapID]*ebpf.Map
	progs []*ebpf.Program
	links []func() error // detach
	cpus  int

	generation   uint64
	before       []uint64 // statistics of all programs at the last read
	passed       passCounts
	missed       uint64 // hits without a program, since another one ran
	missing      missing
	endedThreads map[uint32]bool // threads of the set that had ended
	swept        mapSweep
	state        runState

	// Places are the events as perf opens them: where probes sit.
	Places []perf.EventConfig
	// Detached is told how many programs of all have been detached; nil tells nobody.
	Detached func(done, all uint64)

	send sendStates
	bell bell
}

// A runState is how far a Run is.
type runState struct {
	stopped  bool
	paused   bool
	own      int          // links of programs that keep the target, which come first
	fronts   []int        // see Front
	together map[int]bool // programs that sessions call
	weights  weights
	room     batchRoom
	// missedBefore are hits without a program before the run began; missedBy are those up to its end,
	// once it has ended.
	missedBefore, missedBy uint64
	begun, ended           bool
}

// The sendStates are the states of the buffers through which programs send.
type sendStates struct {
	key   [4]byte
	state [SendSize / 8]uint64 // of one
	mem   []byte               // of all, mapped
	// chains are stacks of what was sent, by their hash.
	chains map[[StackKey]byte][]uint64
	long   longTexts
}

// A Rejected is a program that the verifier refused: a fault of the generator,
// or a kernel that lacks something. Log is the end of the verifier's log.
type Rejected struct {
	Label string
	Log   string
	Err   error
}

func (r *Rejected) Error() string {
	return fmt.Sprintf("load program for %s: %v", r.Label, r.Err)
}

func (r *Rejected) Unwrap() error { return r.Err }

// Open makes the maps and loads the programs; nothing runs yet. On an error
// nothing stays.
func Open(im *Image) (*Run, error) {
	r := &Run{im: im, maps: map[MapID]*ebpf.Map{}, passed: passCounts{rows: map[*Unit]uint64{}}}
	if err := r.load(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Run) load() (err error) {
	if r.cpus, err = possibleCPUs(); err != nil {
		return err
	}
	for _, m := range r.im.Maps {
		spec := m.Spec.Copy()
		switch m.ID.kind {
		case SendMap, BuffersMap, KeptCountMap:
			spec.MaxEntries = uint32(r.cpus)
		case KeptMap:
			spec.MaxEntries *= uint32(r.cpus)
		}
		spec.Name = kernelName(m.ID.String())
		made, err := ebpf.NewMap(spec)
		if err != nil {
			return &diag.Error{Op: "create map", Subject: m.ID.String(), Cause: err, Class: diag.Attach}
		}
		r.maps[m.ID] = made
	}
	r.progs = make([]*ebpf.Program, len(r.im.Programs))
	// All together: the library then reads the kernel's types once.
	set := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{}}
	for i := range r.im.Programs {
		if r.progs[i] = direct(r, &r.im.Programs[i]); r.progs[i] != nil {
			continue
		}
		if set.Programs[strconv.Itoa(i)], err = r.program(&r.im.Programs[i]); err != nil {
			return err
		}
	}
	loaded, err := ebpf.NewCollectionWithOptions(set,
		ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{LogSizeStart: 1 << 20}})
	if err != nil {
		return r.rejected(err)
	}
	for i := range r.im.Programs {
		if r.progs[i] == nil {
			r.progs[i] = loaded.DetachProgram(strconv.Itoa(i))
		}
	}
	return nil
}

// rejected says which program the verifier refused, and why.
func (r *Run) rejected(err error) error {
	label := "the plan"
	for i := range r.im.Programs {
		if strings.HasPrefix(err.Error(), "program "+strconv.Itoa(i)+":") {
			label = r.im.Programs[i].Label
		}
	}
	rejected := &Rejected{Label: label, Err: err}
	var v *ebpf.VerifierError
	if errors.As(err, &v) {
		rejected.Log = useful(v.Log)
	}
	if errors.Is(err, unix.E2BIG) {
		// The verifier follows 1,000,000 instructions; what is computed of long texts takes most of them.
		rejected.Err = &diag.Error{Cause: err, Class: diag.Attach,
			Hint: "leave --engine bpf out: then ppscript does itself what the kernel refuses; or use fewer " +
				"texts in keys, conditions and aggregators"}
	}
	return rejected
}

// kernelName is a name as the kernel takes it: 15 letters, digits, dots and
// underscores.
func kernelName(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, "pps_"+s)
	return s[:min(15, len(s))]
}

// program is p as the library takes it.
func (r *Run) program(p *Program) (*ebpf.ProgramSpec, error) {
	spec, err := codeOf(r.maps, p, p.Ins)
	if err != nil {
		return nil, err
	}
	spec.Type = p.Kind
	if p.many() {
		spec.AttachType = ebpf.AttachTraceKprobeMulti
		if p.User {
			spec.AttachType = ebpf.AttachTraceUprobeMulti
		}
	}
	if p.Kind == ebpf.Tracing {
		spec.AttachType, spec.AttachTo = ebpf.AttachTraceRawTp, p.Attach
	}
	return spec, nil
}

// codeOf is some instructions for a program, with their maps.
func codeOf(maps map[MapID]*ebpf.Map, p *Program, ins asm.Instructions) (*ebpf.ProgramSpec, error) {
	ins = append(asm.Instructions(nil), ins...)
	for id, m := range maps {
		if err := ins.AssociateMap(id.String(), m); err != nil && !errors.Is(err, asm.ErrUnreferencedSymbol) {
			return nil, fmt.Errorf("load program for %s: %w", p.Label, err)
		}
	}
	_, short, _ := strings.Cut(p.Label, ":")
	if short == "" {
		short = p.Label
	}
	return &ebpf.ProgramSpec{Name: kernelName(short), License: "GPL", Instructions: ins}, nil
}

// useful is the end of a verifier's log without its statistics: the reason
// stands there.
func useful(log []string) string {
	var keep []string
	for _, line := range slices.Backward(log) {
		if strings.HasPrefix(line, "processed ") || strings.TrimSpace(line) == "" {
			continue
		}
		keep = append(keep, line)
		if len(keep) == 3 {
			break
		}
	}
	slices.Reverse(keep)
	return strings.Join(keep, "\n")
}

// Attach attaches the programs, those of our own first. Those of events let all pass until the run begins.
// root is the process of a workload target, which must not have executed its command yet.
func (r *Run) Attach(t *Target) error {
	if err := errors.Join(r.setProcesses(t), r.setCgroups(t), r.setThreads(t)); err != nil {
		return err
	}
	if err := attachAll(r, t, func(p *Program) bool { return p.Event < 0 }); err != nil {
		return err
	}
	r.state.own = len(r.links)
	r.state.together = sessions(r, t)
	if err := attachAll(r, t, func(p *Program) bool { return p.Event >= 0 }); err != nil {
		return err
	}
	return r.setThreads(t) // the threads that nobody followed yet
}

// Begin has all programs count from now on. Attaching them takes a while, and causes events itself: the
// kernel changes its code, and tells each CPU so.
func Begin(r *Run) error {
	if r.maps[WeightMap.Of()] == nil {
		return nil // they decide about samples, which perf begins
	}
	r.state.missedBefore = misses(r, func(*Program) bool { return true })
	r.missing.begin()
	m := r.words(WeightMap.Of())
	value := make([]uint64, m.value)
	value[WeightNow/8] = 1
	if err := m.update(make([]byte, 4), value); err != nil {
		return fmt.Errorf("begin to count: %w", err)
	}
	r.state.begun = true
	return nil
}

// End has no program count from now on; Stop detaches them.
func End(r *Run) error {
	if r.state.ended || !r.state.begun {
		return nil
	}
	err := Budget{r}.Weigh(0)
	at := uint64(Now())
	r.state.missedBy, _ = allMisses(r)
	r.missing.end()
	r.state.ended = true
	if len(r.im.Flushes) > 0 {
		r.settle() // a step that is taken is over then
	}
	return errors.Join(err, StatesOf(r).end(at))
}

// attachAll attaches some of the programs, the last first.
func attachAll(r *Run, t *Target, which func(p *Program) bool) error {
	for i := range slices.Backward(r.im.Programs) {
		if r.state.together[i] || !which(&r.im.Programs[i]) {
			continue
		}
		if err := r.attach(i, t); err != nil {
			return (&diag.Error{
				Op: "attach program", Subject: r.im.Programs[i].Attach, Cause: err, Class: diag.Attach,
			}).
				WithHint("use --engine perf")
		}
	}
	return nil
}

func (r *Run) attach(i int, t *Target) error {
	p, prog := &r.im.Programs[i], r.progs[i]
	var l link.Link
	var err error
	if p.calledByUs() {
		return nil
	}
	switch p.Kind {
	case ebpf.PerfEvent:
		if p.Everywhere {
			return everywhere(r, p, prog)
		}
		return nil // the code that opens the event attaches it
	case ebpf.TracePoint:
		return r.tracepoint(p, prog)
	case ebpf.Kprobe:
		if p.Direct != nil && prog.Type() == ebpf.Tracing {
			return attachDirect(r, i, t)
		}
		return r.probe(p, prog, t)
	case ebpf.RawTracepoint:
		l, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: p.Attach, Program: prog})
	default:
		l, err = link.AttachTracing(link.TracingOptions{Program: prog})
	}
	if err != nil {
		return err
	}
	r.links = append(r.links, l.Close)
	return nil
}

// tracepoint hangs a program on an event. The event itself stays disabled:
// the program runs all the same, for every task on every CPU, and the kernel
// spends no time on counting a hit for us.
func (r *Run) tracepoint(p *Program, prog *ebpf.Program) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: p.ID,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled}
	fd, err := kernel.OnACPU(func(cpu int) (int, error) {
		return unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	})
	if err != nil {
		return err
	}
	r.links = append(r.links, func() error { return unix.Close(fd) })
	return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, prog.FD())
}

// Sampled is the descriptor of the program for an event that is sampled; -1 if
// it is not.
func (r *Run) Sampled(event int) int {
	for i := range r.im.Programs {
		if p := &r.im.Programs[i]; p.Event == event && p.Kind == ebpf.PerfEvent && !p.Everywhere {
			if i < len(r.state.fronts) && r.state.fronts[i] > 0 {
				return r.state.fronts[i]
			}
			return r.progs[i].FD()
		}
	}
	return -1
}

// Front has another program be called first for samples whose stacks have a user part. It is made for
// the program that it calls in turn, and for the map in which that one looks for what it found
// (InterpretedMap); its maker keeps it, and gives away its descriptor. It comes before events are opened.
func Front(r *Run, program func(next *ebpf.Program, found *ebpf.Map) (fd int, err error)) error {
	found := r.maps[InterpretedMap.Of()]
	if found == nil {
		return nil
	}
	fronts := make([]int, len(r.progs))
	for i := range r.im.Programs {
		p := &r.im.Programs[i]
		if p.Kind != ebpf.PerfEvent || p.Everywhere || p.Event < 0 {
			continue
		}
		fd, err := program(r.progs[i], found)
		if err != nil {
			return err
		}
		fronts[i] = fd
	}
	r.state.fronts = fronts
	return nil
}

// Stop has programs count and send nothing any more. Their counts stay to be read. Close detaches them,
// since the kernel may take a tenth of a second for each; at once where one still brings on what came before
// the end: texts that are read when a call ends, and all that is sent.
func (r *Run) Stop() error {
	if r.state.stopped {
		return nil
	}
	r.state.stopped = true
	errs := []error{End(r)}
	r.missing.end()
	late := slices.ContainsFunc(r.im.Maps, func(m Map) bool {
		return m.ID.kind == SendMap || m.ID.kind == CallTextMap || m.ID.kind == LateMap
	})
	if late || !r.state.begun {
		errs = append(errs, r.detach())
	}
	if r.state.begun {
		r.settle() // all that they counted, or sent, is there then
	}
	errs = append(errs, waiters{r}.even())
	return errors.Join(errs...)
}

func (r *Run) detach() error {
	var errs []error
	all := len(r.links)
	for i, detach := range slices.Backward(r.links) {
		errs = append(errs, detach())
		if r.Detached != nil {
			r.Detached(uint64(all-i), uint64(all))
		}
	}
	r.links = nil
	return errors.Join(errs...)
}

// Close ends and frees everything.
func (r *Run) Close() error {
	errs := []error{r.Stop(), r.detach()}
	for _, p := range slices.Backward(r.progs) {
		errs = append(errs, p.Close())
	}
	r.progs = nil
	errs = append(errs, StatesOf(r).unmap(), r.bell.Unmap())
	if r.send.mem != nil {
		errs = append(errs, unix.Munmap(r.send.mem))
		r.send.mem = nil
	}
	for _, m := range r.maps {
		errs = append(errs, m.Close())
	}
	r.maps = nil
	return errors.Join(errs...)
}

// words is a map, to be read.
func (r *Run) words(id MapID) *words64 {
	m := r.maps[id]
	w := &words64{
		fd:      m.FD(),
		key:     int(m.KeySize()),
		value:   int(m.ValueSize()) / 8,
		cpus:    1,
		entries: int(m.MaxEntries()),
		room:    &r.state.room,
	}
	if t := m.Type(); t == ebpf.PerCPUArray || t == ebpf.PerCPUHash {
		w.cpus = r.cpus
	}
	return w
}

// Describe lists the programs and their hooks, one a line.
func (r *Run) Describe() []string {
	var lines []string
	for i := range r.im.Programs {
		p := r.im.Programs[i]
		if !r.state.together[i] {
			p.Session, p.Returns = nil, false // refused
		}
		if p.Direct != nil {
			if r.progs[i].Type() == ebpf.Tracing {
				p.Ins = p.Direct.Ins
			} else {
				p.Direct = nil // refused
			}
		}
		lines = append(lines, fmt.Sprintf("bpf: %s, %s, %d instructions", p.Label, p.Where(), len(p.Ins)))
	}
	return append(lines, fmt.Sprintf("bpf: %d programs attached, no open events", len(r.progs)))
}

// FD is the descriptor of a program, for attaching it.
func (r *Run) FD(program int) int { return r.progs[program].FD() }
