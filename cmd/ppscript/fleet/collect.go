package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/runtime/text/plain"
)

// A collector merges the frames of a run by window, and shows each window once: when all hosts have
// reported it, or when it has waited for Late. Hosts that did not report are named.
type collector struct {
	q      *Question
	asker  *Asker
	merger *mergeable.Merger
	out    render.Renderer
	hosts  map[string]*source
	roll
	windows    map[int64]*window // by the time of their end, ns
	shownUntil int64             // the end of the newest window that was shown
	seq        int
	recorded   bool           // frames come from files: a window waits for all of them
	until      time.Time      // when the job must have ended on all hosts
	from       map[string]int // with files: the number of the file with a host's frames, from 1
	result     session.Outcome
}

// roll records which hosts are missing, late or not trusted.
type roll struct {
	silent   []string // hosts that the hub lists but that have not answered; sorted
	refused  int
	skewed   map[string]time.Duration
	late     map[string]int // number of frames that came after their window was shown
	heard    time.Time      // when the last frame of any host came
	back     time.Time      // when frames came again after a long time without any
	wrong    map[string]bool
	messages map[string]int // counts of messages about hosts, by their text
}

// A source is the state of a host that runs the job.
type source struct {
	seq     uint64 // number of the newest frame
	until   int64  // the end of the newest window that it reported completely
	ended   bool
	early   bool // it ended with an error
	silent  bool // no frame came from it for a long time
	heard   time.Time
	dropped uint64
	last    int64 // the end of the newest frame that counts
	final   bool
}

// A window collects the results of all hosts for one interval.
type window struct {
	*mergeable.Window
	begin    int64
	whole    map[string]bool  // hosts that reported the whole interval
	saw      map[string]int64 // by host: the time that its frames cover, ns
	final    bool
	wide     []string // hosts whose frames cover more time than this window
	requests int      // number of portions of the hosts that were asked to send their frames again
}

func newCollector(q *Question, a *Asker) (*collector, error) {
	c := &collector{q: q, asker: a, merger: mergeable.NewMerger(q.Reports), hosts: map[string]*source{},
		windows: map[int64]*window{}, from: map[string]int{}}
	c.skewed, c.late, c.wrong = map[string]time.Duration{}, map[string]int{}, map[string]bool{}
	c.merger.ByHost, c.merger.Apart = a.ByHost, a.Outliers
	c.result.Status = -1
	c.heard = time.Now()
	var err error
	c.out, err = q.Config.Output(wall)
	return c, err
}

func (c *collector) expect(host string) {
	if c.hosts[host] == nil {
		c.hosts[host] = &source{heard: time.Now()}
	}
}

// moves calls tell, the watchdog's function, repeatedly until the returned function is called:
// to wait for a host may take longer than the watchdog allows.
func moves(tell func(string), stage string) (over func()) {
	if tell == nil {
		return func() {}
	}
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			tell(stage)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return func() { end(); all.Wait() }
}

// host returns a host that runs the job; nil if it was not asked, or refused. A host that did not
// answer counts from its first frame on: only agents that were asked know the job's number.
func (c *collector) host(name string) *source {
	if i, silent := slices.BinarySearch(c.silent, name); silent {
		c.silent = slices.Delete(c.silent, i, i+1)
		c.expect(name)
	}
	return c.hosts[name]
}

func (c *collector) say(format string, args ...any) {
	c.q.Config.Messages(plain.Line(fmt.Sprintf(format, args...)))
}

// mostSaid bounds the hosts about which the same kind of message is printed. For the others, only
// their number is printed.
const mostSaid = 20

// sayOf prints a message about a host, unless mostSaid messages of the kind what have been printed.
func (c *collector) sayOf(what, format string, args ...any) {
	if c.more(what) {
		c.say(format, args...)
	}
}

// more counts a message of the kind what, and reports that it should be printed.
func (c *collector) more(what string) bool {
	if c.messages == nil {
		c.messages = map[string]int{}
	}
	c.messages[what]++
	return c.messages[what] <= mostSaid
}

// sayMore prints, for each kind of message, how many hosts were left out.
func (c *collector) sayMore() {
	for _, what := range slices.Sorted(maps.Keys(c.messages)) {
		if more := c.messages[what] - mostSaid; more > 0 {
			c.say("%d more %s", more, what)
			c.messages[what] = mostSaid
		}
	}
}

// take processes a message that arrived.
func (c *collector) take(a arrival) error {
	c.hear(time.Now())
	if a.answer != nil {
		return c.takeShares(a)
	}
	s := c.host(a.host)
	switch {
	case s != nil && a.clock != nil:
		c.skew(a.clock, a.askedAt)
		return nil
	case s == nil:
		return nil // from a host that was not asked
	case a.ended != nil:
		if s.ended = true; a.ended.Error != "" {
			s.early = true
			c.sayOf("hosts ended", "%s ended: %s", a.host, a.ended.Error)
		}
		c.gap(a.host, s, a.ended.Frames+1, a.ended.Dropped)
		return nil
	}
	s.heard, s.silent = time.Now(), false
	f, err := mergeable.Decode(a.data)
	if err != nil {
		c.distrust(a.host, err)
		return nil
	}
	f.Host = a.host
	c.gap(a.host, s, f.Seq, a.dropped)
	if f.Seq <= s.seq {
		return nil // sent again, because the confirmation was lost
	}
	s.seq = f.Seq
	own := f.Share()
	if err := c.timely(&own, time.Now()); err != nil {
		c.distrust(a.host, err)
		return nil
	}
	return c.frame(f)
}

// strayTime is how far a frame's time may be from now, in addition to the time for which a host
// keeps its results. Frames of a host whose clock is further off would never be in a window with
// frames of other hosts.
const strayTime = 5 * time.Minute

// timely refuses a frame whose time is too far from now, or less than half an interval after the
// host's last one. Each such frame would begin a window without any other host.
func (c *collector) timely(s *mergeable.Share, now time.Time) error {
	if s.Begin < 0 || s.Begin > s.End {
		return errors.New("it reported an interval that ends before it begins")
	}
	interval := c.q.Config.Options.Interval
	from := c.hosts[s.Host]
	if interval == 0 || from == nil {
		return nil
	}
	kept := max(awayTime, c.asker.Keep) + lastTime + interval
	end := time.Unix(0, s.End)
	if ahead := end.Sub(now); ahead > strayTime+interval || -ahead > strayTime+kept {
		return fmt.Errorf("it reported results of %s, too far from now", end.Format(time.DateTime))
	}
	// All frames but the last end at multiples of the interval.
	if s.End != from.last && s.End-from.last < int64(interval/2) && (!s.Final || from.final) {
		return errors.New("it reported an interval that is too short, or in the past")
	}
	from.last, from.final = s.End, from.final || s.Final
	return nil
}

// gap prints a message if frames are missing before the one with the number
// next.
func (c *collector) gap(host string, s *source, next, dropped uint64) {
	if next > s.seq+1 {
		c.result.Loss.Dropped += next - s.seq - 1
		c.sayOf("times frames are missing",
			"%s: %d frames are missing: it dropped %d that it could not deliver", host,
			next-s.seq-1, dropped-s.dropped)
		s.seq = next - 1
	}
	s.dropped = dropped
}

// distrust prints, once for each host, that its frames are left out because they cannot
// be merged.
func (c *collector) distrust(host string, err error) {
	if !c.wrong[host] && len(c.wrong) < mostHosts {
		c.wrong[host] = true
		c.sayOf("are left out", "%s is left out: %s", host, err)
	}
}

// frame merges a frame into its window.
func (c *collector) frame(f *mergeable.Frame) error {
	shares := f.Shares
	if len(shares) == 0 {
		shares = []mergeable.Share{f.Share()}
	}
	if f.Script != c.q.Script {
		for i := range shares {
			c.distrust(shares[i].Host, errors.New("it runs another version of the script"))
		}
		return nil
	}
	end := f.End
	if c.q.Config.Options.Interval == 0 {
		end = 0 // the whole run is one window
	}
	if c.seq > 0 && end <= c.shownUntil {
		for i := range shares {
			c.tellLate(&shares[i])
		}
		return nil
	}
	w := c.windows[end]
	if w == nil {
		w = &window{Window: c.merger.NewWindow(), begin: f.Begin, whole: map[string]bool{},
			saw: map[string]int64{}}
		c.windows[end] = w
	}
	if err := w.Add(f); err != nil {
		for i := range shares {
			c.distrust(shares[i].Host, err)
		}
		return nil
	}
	for i := range shares {
		c.noteShare(w, &shares[i])
	}
	return nil
}

// tellLate counts a late frame, and prints a message once for each host.
func (c *collector) tellLate(s *mergeable.Share) {
	if c.late[s.Host]++; c.late[s.Host] == 1 {
		c.sayOf("hosts are late",
			"%s is late: its results for %s came after the interval was shown, and are not in it", s.Host,
			time.Unix(0, s.End).Format(time.TimeOnly))
	}
}

// noteShare records that a host reported its part of a window.
func (c *collector) noteShare(w *window, s *mergeable.Share) {
	interval := c.q.Config.Options.Interval.Nanoseconds()
	if interval > 0 && s.End-s.Begin > interval {
		w.wide = append(w.wide, s.Host)
	}
	w.begin = max(w.begin, min(s.Begin, s.End-interval))
	if s.More {
		return
	}
	w.whole[s.Host] = true
	w.saw[s.Host] += s.End - s.Begin
	w.final = w.final || s.Final
	if from := c.hosts[s.Host]; from != nil {
		from.until = max(from.until, s.End)
	}
}

// tickTime is how often the asker checks for windows that can be shown.
const tickTime = 100 * time.Millisecond

// collect merges arriving frames, and shows each window when it is complete, or has waited for Late.
// When ctx ends, it stops the job on all hosts, and waits for their last results. again, unless it is
// nil, asks hosts to send missing frames again.
func (c *collector) collect(ctx context.Context, arrivals <-chan arrival, stop func() error,
	again func(a Again)) error {
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	defer moves(c.q.Config.Stage, session.Observing)()
	done := ctx.Done()
	var deadline <-chan time.Time
	for {
		select {
		case a := <-arrivals:
			if err := c.take(a); err != nil {
				return err
			}
		case <-tick.C:
			if err := c.show(time.Now(), false); err != nil {
				return err
			}
			if again != nil && len(arrivals) == 0 { // else frames may be waiting in this process
				if a, some := c.lacks(time.Now()); some {
					again(a)
				}
			}
		case <-done:
			done = nil
			if err := stop(); err != nil {
				return err
			}
			deadline = time.After(grace)
		case <-deadline:
			return c.show(time.Now(), true)
		}
		if c.over(time.Now()) {
			return c.show(time.Now(), true)
		}
	}
}

// over reports that no more frames will come.
func (c *collector) over(now time.Time) bool {
	if !c.until.IsZero() && now.After(c.until) {
		return true
	}
	for name, s := range c.hosts {
		if !s.ended && !c.lost(name, s, now) {
			return false
		}
	}
	return true
}

// silence is how long a host may send nothing, in addition to its interval, until the asker stops
// waiting for it. An agent goes on for as long without the hub, so a host that lost its connection
// can come back in time.
const silence = awayTime + lostTime

// lost reports that a host has sent nothing for too long.
func (c *collector) lost(name string, s *source, now time.Time) bool {
	interval := c.q.Config.Options.Interval
	most := silence + interval
	if c.asker != nil && c.asker.Keep > lostTime { // it may be the asker that has no connection
		most += c.asker.Keep - lostTime
	}
	since := s.heard
	if since.Before(c.back) {
		since = c.back
	}
	if interval > 0 && !s.silent && now.Sub(since) > most {
		s.silent = true
		c.sayOf("hosts were not heard of", "%s: nothing was heard of it for %s", name,
			most.Round(time.Second))
	}
	return s.silent
}

// show shows the windows that are complete or have waited for Late; with all, every window.
func (c *collector) show(now time.Time, all bool) error {
	for _, end := range slices.Sorted(maps.Keys(c.windows)) {
		w := c.windows[end]
		if !all && !c.whole(w, end) && !c.expired(now, end) {
			return nil
		}
		delete(c.windows, end)
		if err := c.showOne(w, end, all && len(c.windows) == 0); err != nil {
			return err
		}
	}
	return nil
}

// whole reports that all running hosts have reported a window.
func (c *collector) whole(w *window, end int64) bool {
	for name, s := range c.hosts {
		if !w.whole[name] && !s.ended && (end == 0 || s.until < end) {
			return false
		}
	}
	return true
}

func (c *collector) expired(now time.Time, end int64) bool {
	since := time.Unix(0, end)
	if since.Before(c.back) {
		since = c.back
	}
	return end != 0 && !c.recorded && now.After(since.Add(c.lateTime()))
}

// hear records that a message came. If no host had sent anything for a long time, the asker
// itself had no connection, and hosts that now send kept results do not count as late.
func (c *collector) hear(now time.Time) {
	interval := c.q.Config.Options.Interval
	if interval > 0 && now.Sub(c.heard) > interval+c.lateTime()/2 {
		c.back = now
	}
	c.heard = now
}

func (c *collector) lateTime() time.Duration {
	if c.asker == nil {
		return defaultLate
	}
	return cmp.Or(c.asker.Late, defaultLate)
}

func (c *collector) showOne(w *window, end int64, final bool) error {
	c.seq++
	c.shownUntil = end
	if end == 0 {
		end = time.Now().UnixNano()
		for _, s := range c.hosts {
			if s.until > 0 && c.recorded {
				end = s.until
			}
		}
	}
	about := mergeable.About{Begin: time.Unix(0, w.begin), End: time.Unix(0, end), Final: final,
		Keep: c.q.Config.Options.Show.Whole, Cost: c.q.Config.Options.Cost.Show}
	if c.q.Config.Options.Interval > 0 {
		about.Seq = c.seq
	}
	samples, loss, err := w.Show(c.out, about)
	if err != nil {
		return err
	}
	c.result.Samples += samples
	c.result.Loss.Add(loss)
	c.result.Observed = true
	if c.asker.Outliers {
		if err := c.tellOutliers(w, about); err != nil {
			return err
		}
	}
	if err := c.tellHosts(w, final); err != nil {
		return err
	}
	return c.out.Flush()
}

// tellHosts prints how many hosts' results a window has, and which hosts are
// missing.
func (c *collector) tellHosts(w *window, final bool) error {
	c.sayMore()
	missing := slices.Clone(c.silent)
	for name := range c.hosts {
		if !w.whole[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	of := len(c.hosts) + len(c.silent) + c.refused
	told := len(c.hosts) + len(c.silent) - len(missing)
	if c.q.JSON {
		fields := []render.NoteField{{Name: "told", Value: event.IntOf(int64(told))},
			{Name: "of", Value: event.IntOf(int64(of))}}
		fields = append(fields, hostList("missing", missing)...)
		if len(c.skewed) > 0 {
			fields = append(fields, hostList("skewed", slices.Sorted(maps.Keys(c.skewed)))...)
		}
		if len(w.wide) > 0 {
			fields = append(fields, hostList("wide", w.wide)...)
		}
		if n := w.Sampled(); n > 0 {
			fields = append(fields, render.NoteField{Name: "sampled", Value: event.IntOf(int64(n))})
		}
		if early := c.early(w); len(early) > 0 {
			fields = append(fields, hostList("ended", early)...)
		}
		if len(c.late) > 0 {
			fields = append(fields, hostList("late", slices.Sorted(maps.Keys(c.late)))...)
		}
		return c.out.Note("hosts", fields...)
	}
	sampled := w.Sampled()
	if told == of && !final && len(c.skewed)+len(w.wide) == 0 && sampled == 0 {
		return nil
	}
	line := strconv.Itoa(told) + " of " + strconv.Itoa(of) + " hosts"
	for _, x := range []struct {
		what string
		who  []string
	}{{"missing", missing}, {"off by their clocks", slices.Collect(maps.Keys(c.skewed))},
		{"reported a longer time", w.wide}, {"ended early", c.early(w)}} {
		if len(x.who) > 0 {
			line += "; " + x.what + ": " + names(x.who)
		}
	}
	if sampled > 0 {
		line += "; events left out for a budget on " + strconv.FormatUint(sampled, 10)
	}
	if c.refused > 0 {
		line += "; refused by " + strconv.Itoa(c.refused)
	}
	return c.out.Show(result.TextOf(line + "\n"))
}

// mostNamed bounds the hosts that a JSON record names, since hostile clients can
// invent names.
const mostNamed = 200

// hostList returns fields of a record: one with the names of at most mostNamed hosts, and
// one with the number of the others.
func hostList(name string, list []string) []render.NoteField {
	more := len(list) - mostNamed
	values := make([]event.Value, min(len(list), mostNamed))
	for i := range values {
		values[i] = event.StrOf(list[i])
	}
	fields := []render.NoteField{{Name: name, Value: event.ListOf(values...)}}
	if more > 0 {
		fields = append(fields, render.NoteField{Name: name + "_more", Value: event.IntOf(int64(more))})
	}
	return fields
}

// early returns the hosts that ended early, so that a result of the whole run has only a
// part of their events.
func (c *collector) early(w *window) (list []string) {
	for name, s := range c.hosts {
		if s.early && w.whole[name] && c.q.Config.Options.Interval == 0 {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// outcome returns the outcome of the run.
func (c *collector) outcome() session.Outcome { return c.result }

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
