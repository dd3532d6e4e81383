package why

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"ppscript/runtime/result"
)

// A Sum adds explained spans up: what their time went to, by path, and the slowest of them.
// The zero value works. It is bounded: paths beyond MaxCauses go by their last link, then
// by its kind.
type Sum struct {
	// Slowest is how many slow spans are kept whole; 0 is 10, -1 none.
	Slowest int
	// MaxCauses bounds the paths; 0 is 4,096.
	MaxCauses int

	causes   map[string]*result.WhyCause
	slow     result.WhySpans
	normal   result.WhySpans
	doubtful result.WhySpans   // of the slow ones
	slowest  []*result.WhySpan // a heap would be more: they are few
	skipped  uint64
	key      []byte
	counted  map[*result.WhyCause]bool // of the span that is being added
}

const (
	defaultSlowest = 10
	defaultCauses  = 1 << 12
)

// Add adds a span. It keeps slow ones that are among the slowest: they must not change.
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

// slower orders spans, the slowest first; the order does not depend on that of adding.
func slower(a, b *result.WhySpan) int {
	return cmp.Or(cmp.Compare(b.NS(), a.NS()), cmp.Compare(a.From, b.From),
		cmp.Compare(a.Task.TID, b.Task.TID), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Label, b.Label))
}

// cause finds the cause of a path: Fast path, it allocates for new ones only.
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

// bare is a link of which nothing but its kind is told.
func bare(k result.WhyKind) result.WhyLink { return result.WhyLink{Kind: k, What: "others"} }

// General is a path as causes have it.
func General(path []result.WhyLink) []result.WhyLink {
	list := make([]result.WhyLink, len(path))
	for i := range path {
		list[i] = generalLink(&path[i])
	}
	return list
}

// generalLink is a link as causes have it: for spans of all threads of the same name.
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

// fileOfCause is the file that a cause has: that of a disk's requests would be one of very many.
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

// Merge adds all that another Sum was given, which must not be used any more.
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

// Result is what was added so far, the causes that took most of the slow spans first. It
// shares nothing with the Sum but the slowest spans.
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

// Reset forgets all spans, as at the end of an interval.
func (s *Sum) Reset() {
	*s = Sum{Slowest: s.Slowest, MaxCauses: s.MaxCauses, causes: s.causes, counted: s.counted, key: s.key}
	clear(s.causes)
}
