package walk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"ppscript/bpf/load"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
)

// A Loader reads unwind tables into the maps of the programs.
type Loader struct {
	maps   map[load.MapKind]*ebpf.Map
	files  *dso.Store
	tables tables
	ranges ranges
	procs  map[int32]*process
	reader *ringbuf.Reader
	serves sync.WaitGroup
	read   atomic.Int64 // processes that were read
	full   atomic.Int64 // files and processes that found no room
}

// process describes the ranges of a process in the maps.
type process struct {
	at, count uint32
	sum       uint64 // of its ranges, to see whether they changed
	backoff   time.Duration
}

// openLoader makes a Loader for programs that walk stacks by tables; nil if none do.
func openLoader(r *load.Run, of *Observed) (*Loader, error) {
	maps := load.Walks(r)
	if maps == nil {
		return nil, nil
	}
	files := dso.NewStore(dso.Options{MaxOpen: 32, Expired: of.Scarce, Fits: of.Fits})
	l := &Loader{maps: maps, files: files, procs: map[int32]*process{}}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, l.files.Close())
	}
	return l, nil
}

func (l *Loader) begin() (err error) {
	if err = l.tables.open(l.maps); err != nil {
		return err
	}
	if l.ranges.memory, err = l.maps[load.WalkRangesMap].Memory(); err != nil {
		return err
	}
	l.reader, err = ringbuf.NewReader(l.maps[load.WalkAskMap])
	return err
}

// Observed says which processes will have their stacks walked, as far as that
// is known.
type Observed struct {
	PIDs []int
	// Command is the program that will be started; All says that all processes are observed.
	Command string
	All     bool
	// Scarce reports that there is no memory for further tables, Fits that there is memory for so
	// many bytes; nil if there always is.
	Scarce func() bool
	Fits   func(bytes int64) bool
}

// Bounds on the time for reading tables before the events come. The rest is read during the run.
const (
	processesTime = 2 * time.Second
	commandTime   = 500 * time.Millisecond
	allTime       = time.Second
)

// Preload makes a Loader, reads the tables of the observed processes, and starts it; nil if no
// program walks stacks by tables.
func Preload(r *load.Run, of Observed) (*Loader, error) {
	l, err := openLoader(r, &of)
	if l == nil {
		return nil, err
	}
	pids, patience := of.PIDs, processesTime
	if of.All {
		pids, patience = busiest(), allTime
	}
	for end := time.Now().Add(patience); len(pids) > 0 && time.Now().Before(end); pids = pids[1:] {
		if err := l.process(int32(pids[0]), 0); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	if of.Command != "" {
		l.program(of.Command, time.Now().Add(commandTime))
	}
	l.start(pids)
	return l, nil
}

// sayPointers is the share of stacks walked without tables above which End reports them.
const sayPointers = 0.01

// End closes the Loader and returns messages to the user about failed walks; with all also the
// statistics.
func (l *Loader) End(all bool) (told []string, err error) {
	if l == nil {
		return nil, nil
	}
	s, err := l.Stats()
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	if all {
		told = append(told, "unwind: "+s.String())
	}
	if float64(s.Pointers) > sayPointers*float64(s.Stacks) {
		told = append(told, fmt.Sprintf("%d of %d user stacks came before the unwind tables of their "+
			"process: there, frame pointers were followed", s.Pointers, s.Stacks))
	}
	if s.Full > 0 {
		told = append(told, fmt.Sprintf("unwind tables: there was no room for those of %d files or "+
			"processes: there, frame pointers were followed", s.Full))
	}
	return told, nil
}

// sweepTime is the time between two sweeps.
const sweepTime = 5 * time.Second

// start begins to answer the requests of programs. Between the answers the Loader reads the
// tables of further processes, for furtherTime.
func (l *Loader) start(further []int) {
	if l != nil {
		l.serves.Go(func() { l.serve(further) })
	}
}

// furtherTime bounds the time for reading tables for which no program has
// asked.
const furtherTime = 3 * time.Second

// serve answers requests until the Loader is closed.
func (l *Loader) serve(further []int) {
	var record ringbuf.Record
	swept := time.Now()
	for spent := time.Duration(0); ; {
		if len(further) > 0 && spent < furtherTime {
			l.reader.SetDeadline(time.Now())
		}
		err := l.reader.ReadInto(&record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if spent += l.ahead(further[0]); spent >= furtherTime {
				further = nil
			} else {
				further = further[1:]
			}
			if len(further) == 0 {
				l.reader.SetDeadline(time.Time{})
			}
			continue
		}
		if err != nil {
			return // closed, or an error that would stay
		}
		if len(record.RawSample) < 8 {
			continue
		}
		pid := binary.LittleEndian.Uint32(record.RawSample)
		exec := binary.LittleEndian.Uint32(record.RawSample[4:])
		if l.process(int32(pid), exec+1) != nil {
			l.full.Add(1)
		}
		if time.Since(swept) > sweepTime {
			swept = time.Now()
			l.sweep()
		}
	}
}

// ahead reads the tables of a process for which no program has asked, and returns how long that
// took.
func (l *Loader) ahead(pid int) time.Duration {
	begin := time.Now()
	if l.procs[int32(pid)] == nil {
		if l.process(int32(pid), 0) != nil {
			l.full.Add(1)
		}
	}
	return time.Since(begin)
}

// busiest lists the processes of this machine by CPU time, the largest first, without threads of
// the kernel.
func busiest() []int {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	type proc struct {
		pid   int
		ticks uint64
	}
	var list []proc
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", d.Name(), "stat"))
		if err != nil {
			continue
		}
		// Behind the name: state, parent, and so on; utime and stime are numbers 14 and 15, the
		// size of the memory is 23, which is 0 for threads of the kernel.
		words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(words) < 21 || words[20] == "0" {
			continue
		}
		user, _ := strconv.ParseUint(words[11], 10, 64)
		system, _ := strconv.ParseUint(words[12], 10, 64)
		list = append(list, proc{pid, user + system})
	}
	slices.SortStableFunc(list, func(a, b proc) int { return cmp.Compare(b.ticks, a.ticks) })
	pids := make([]int, len(list))
	for i, p := range list {
		pids[i] = p.pid
	}
	return pids
}

// process reads the mappings of a process and the tables of the mapped files. exec is 1 plus
// the number of programs that the process had executed at the time of the request; 0 if not
// known.
func (l *Loader) process(pid int32, exec uint32) error {
	maps := task.NewMappings(task.MappingsOptions{Files: l.files})
	var list []load.WalkRange
	if space := maps.Space(pid, 0); space != nil {
		list = l.tables.rangesOf(l.files, space.Regions(), &l.full)
	}
	if l.tables.ending.Load() {
		return nil
	}
	p := l.procs[pid]
	if p == nil {
		if len(l.procs) >= load.MostWalkProcs {
			l.sweep()
		}
		if len(l.procs) >= load.MostWalkProcs {
			l.full.Add(1)
			return l.later(pid, maxBackoff)
		}
		p = &process{}
		l.procs[pid] = p
	}
	l.read.Add(1)
	if sum := sumOf(list, exec); sum == p.sum {
		// Nothing is new: the request was for an address that is no code.
		p.backoff = min(max(2*p.backoff, minBackoff), maxBackoff)
		return l.later(pid, p.backoff)
	} else {
		p.sum, p.backoff = sum, 0
	}
	at, ok := l.ranges.take(uint32(len(list)))
	if !ok {
		l.full.Add(1)
		return l.later(pid, maxBackoff)
	}
	if err := l.ranges.write(at, list); err != nil {
		return err
	}
	l.ranges.give(p.at, p.count)
	p.at, p.count = at, uint32(len(list))
	return l.maps[load.WalkProcsMap].Put(uint32(pid), load.WalkProc{At: at, Count: p.count, Exec: exec})
}

// Bounds on the time in which programs do not ask again for a process of which nothing
// new was found.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// later makes programs not ask for a process for the time d.
func (l *Loader) later(pid int32, d time.Duration) error {
	until := uint64(load.Now()) + uint64(d)
	return l.maps[load.WalkAskedMap].Put(uint32(pid), until)
}

// sweep removes processes that have ended, with their ranges.
func (l *Loader) sweep() {
	for pid, p := range l.procs {
		_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(int(pid))))
		if !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := l.maps[load.WalkProcsMap].Delete(uint32(pid)); err != nil &&
			!errors.Is(err, ebpf.ErrKeyNotExist) {
			continue
		}
		l.ranges.give(p.at, p.count)
		delete(l.procs, pid)
	}
}

// Close ends the Loader. The tables stay in the maps as long as the programs.
func (l *Loader) Close() error {
	if l == nil {
		return nil
	}
	l.tables.ending.Store(true)
	err := l.reader.Close()
	l.serves.Wait()
	return errors.Join(err, l.tables.close(), l.files.Close())
}

// LoaderStats counts the walks of programs, and the reads of the Loader.
type LoaderStats struct {
	// Stacks counts the walks, Pointers the walks that found no tables of their process.
	Stacks, Pointers uint64
	Stops            [load.WalkStops]uint64 // by load.WalkStop
	Processes, Full  int64
}

func (s LoaderStats) String() string {
	return fmt.Sprintf("%d walks, %d frames (%d by frame pointer); %d whole, %d outside of known code, "+
		"%d without tables, %d damaged, %d too deep, %d beyond the tables' form, %d before the tables; "+
		"%d times the mappings of a process were read", s.Stacks, s.Stops[load.WalkFrames],
		s.Stops[load.WalkPointers], s.Stops[load.WalkEnd], s.Stops[load.WalkNoCode],
		s.Stops[load.WalkNoTable], s.Stops[load.WalkBad], s.Stops[load.WalkDeep], s.Stops[load.WalkComplex],
		s.Pointers, s.Processes)
}

// Stats returns the counts so far.
func (l *Loader) Stats() (s LoaderStats, err error) {
	if l == nil {
		return s, nil
	}
	var each [][load.WalkStops]uint64
	if err := l.maps[load.WalkStatsMap].Lookup(uint32(0), &each); err != nil {
		return s, err
	}
	for _, cpu := range each {
		for i, n := range cpu {
			s.Stops[i] += n
		}
	}
	for stop := load.WalkEnd; stop <= load.WalkUnknown; stop++ {
		s.Stacks += s.Stops[stop]
	}
	s.Pointers = s.Stops[load.WalkUnknown]
	s.Processes, s.Full = l.read.Load(), l.full.Load()
	return s, nil
}
