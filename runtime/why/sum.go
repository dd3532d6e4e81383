package why

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"ppscript/runtime/result"
)

// A Sum adds up explained spans: their time by path of causes, and the slowest spans. The
// zero value works. Its memory is bounded: beyond MaxCauses, paths are counted by only
// their last link, then by only its kind.
type Sum struct {
	// Slowest is the number of slow spans that are kept with their parts; 0 is
	// 10, -1 none.
	Slowest int
	// MaxCauses bounds the paths; 0 is 4,096.
	MaxCauses int

	causes   map[string]*result.WhyCause
	slow     result.WhySpans
	normal   result.WhySpans
	doubtful result.WhySpans   // slow spans with a Doubt
	slowest  []*result.WhySpan // sorted; there are too few for a heap to be worth it
	skipped  uint64
	key      []byte
	counted  map[*result.WhyCause]bool // causes already counted for the span that is being added
}

const (
	defaultSlowest = 10
	defaultCauses  = 1 << 12
)

// Add adds a span. It may keep a slow span, which must not be changed later.
func (s *Sum) Add(span *result.WhySpan, slow bool) {
	if s.causes == nil {
		s.causes, s.counted = map[string]*result.WhyCause{}, map[*result.WhyCause]bool{}
	}
	all := &s.normal
	if slow {
		all = &s.slow
		s.keep(span)
		if span.Doubt != "" {
			addSpans(&s.doubtful, result.WhySpans{Spans: 1, NS: span.NS()})
		}
	}
	all.Spans++
	all.NS += span.NS()
	clear(s.counted)
	for i := range span.Parts {
		p := &span.Parts[i]
		c := s.cause(p.Path)
		of := &c.Normal
		if slow {
			of = &c.Slow
		}
		of.NS += p.NS()
		if !s.counted[c] {
			s.counted[c] = true
			of.Spans++
		}
	}
}

// Skip counts slow spans that were not explained.
func (s *Sum) Skip(n uint64) { s.skipped += n }

// keep keeps a span if it is among the slowest.
func (s *Sum) keep(span *result.WhySpan) {
	most := s.Slowest
	if most == 0 {
		most = defaultSlowest
	}
	if most < 0 {
		return
	}
	i := sort.Search(len(s.slowest), func(i int) bool { return slower(span, s.slowest[i]) < 0 })
	if i >= most {
		return
	}
	s.slowest = slices.Insert(s.slowest, i, span)
	if len(s.slowest) > most {
		s.slowest = s.slowest[:most]
	}
}

// slower orders spans, the slowest first. The order does not depend on the order of
// adding.
func slower(a, b *result.WhySpan) int {
	return cmp.Or(cmp.Compare(b.NS(), a.NS()), cmp.Compare(a.From, b.From),
		cmp.Compare(a.Task.TID, b.Task.TID), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Label, b.Label))
}

// cause returns the cause of a path, and makes it if it is new. Fast path: it
// allocates only for new causes.
func (s *Sum) cause(path []result.WhyLink) *result.WhyCause {
	s.key = appendKey(s.key[:0], path)
	if c := s.causes[string(s.key)]; c != nil {
		return c
	}
	most := s.MaxCauses
	if most <= 0 {
		most = defaultCauses
	}
	if len(s.causes) >= most && len(path) > 1 {
		return s.cause(path[len(path)-1:])
	}
	if len(s.causes) >= most+most/4 && path[0] != bare(path[0].Kind) {
		return s.cause([]result.WhyLink{bare(path[0].Kind)})
	}
	c := &result.WhyCause{Path: General(path)}
	s.causes[string(s.key)] = c
	return c
}

// bare returns a link with only a kind.
func bare(k result.WhyKind) result.WhyLink { return result.WhyLink{Kind: k, What: "others"} }

// General returns a path in the general form of causes.
func General(path []result.WhyLink) []result.WhyLink {
	list := make([]result.WhyLink, len(path))
	for i := range path {
		list[i] = generalLink(&path[i])
	}
	return list
}

// generalLink returns a link in the general form of causes, which holds for spans of
// all threads with the same name.
func generalLink(l *result.WhyLink) result.WhyLink {
	return result.WhyLink{
		Task:    result.WhyTask{Comm: l.Task.Comm},
		Kind:    l.Kind,
		What:    general(l.What),
		Whom:    result.WhyTask{Comm: l.Whom.Comm},
		Foreign: l.Foreign,
		Kernel:  l.Kernel,
		Cgroup:  l.Cgroup,
		File:    fileOfCause(l),
	}
}

// fileOfCause returns the file for a cause; "" for disk requests, which have too many different
// files.
func fileOfCause(l *result.WhyLink) string {
	if l.Kind == result.WhyDisk {
		return ""
	}
	return GeneralFile(l.File)
}

func appendKey(b []byte, path []result.WhyLink) []byte {
	for i := range path {
		l := &path[i]
		b = append(b, byte(l.Kind), byte(b2i(l.Foreign)+2*b2i(l.Kernel)))
		b = appendText(b, l.Task.Comm)
		b = appendText(b, general(l.What))
		b = appendText(b, l.Whom.Comm)
		b = appendText(b, l.Cgroup)
		b = appendText(b, fileOfCause(l))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Merge adds another Sum, which must not be used any more.
func (s *Sum) Merge(o *Sum) { s.MergeResult(o.Result("")) }

// MergeResult adds a result, of another Sum or of another run.
func (s *Sum) MergeResult(r *result.Why) {
	if s.causes == nil {
		s.causes, s.counted = map[string]*result.WhyCause{}, map[*result.WhyCause]bool{}
	}
	addSpans(&s.slow, r.Slow)
	addSpans(&s.normal, r.Normal)
	addSpans(&s.doubtful, r.Doubtful)
	s.skipped += r.Skipped
	for i := range r.Causes {
		c := s.cause(r.Causes[i].Path)
		addSpans(&c.Slow, r.Causes[i].Slow)
		addSpans(&c.Normal, r.Causes[i].Normal)
	}
	for _, span := range r.Slowest {
		s.keep(span)
	}
}

func addSpans(to *result.WhySpans, n result.WhySpans) {
	to.Spans += n.Spans
	to.NS += n.NS
}

// Result returns the sums so far, the causes with the most time in slow spans first. It
// shares only the slowest spans with the Sum.
func (s *Sum) Result(name string) *result.Why {
	w := &result.Why{Name: name, Slow: s.slow, Normal: s.normal, Doubtful: s.doubtful, Skipped: s.skipped}
	keys := make([]string, 0, len(s.causes))
	for k := range s.causes {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, y := s.causes[a], s.causes[b]
		return cmp.Or(cmp.Compare(y.Slow.NS, x.Slow.NS), cmp.Compare(y.Normal.NS, x.Normal.NS),
			cmp.Compare(a, b))
	})
	for _, k := range keys {
		w.Causes = append(w.Causes, *s.causes[k])
	}
	w.Slowest = slices.Clone(s.slowest)
	return w
}

// Reset forgets all spans, for the next interval.
func (s *Sum) Reset() {
	*s = Sum{Slowest: s.Slowest, MaxCauses: s.MaxCauses, causes: s.causes, counted: s.counted, key: s.key}
	clear(s.causes)
}
