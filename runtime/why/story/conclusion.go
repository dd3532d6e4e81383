package story

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/result"
)

// Conclusion returns a sentence with the main cause of slow spans, and whether unknown or
// doubtful time could change it; "" if there were no slow spans.
func Conclusion(w *result.Why) string {
	if w.Slow.Spans == 0 || len(w.Causes) == 0 {
		return ""
	}
	w = people(w)
	whole, of := grown(w), "the slow spans' time"
	if Compared(w) {
		of = "the time over normal"
	}
	groups := grouped(w, w.Causes, 0)
	known := slices.DeleteFunc(slices.Clone(groups), func(g group) bool {
		return g.link.Kind == result.WhyUnknown
	})
	unknown, reason := 0.0, ""
	for _, g := range groups {
		if g.link.Kind != result.WhyUnknown {
			continue
		}
		if reason == "" {
			reason = g.link.What
		}
		for _, c := range g.causes {
			unknown += mean(c.Slow.NS, w.Slow.Spans)
		}
	}
	if reason != "" {
		reason = " (" + reason + ")"
	}
	percent := func(v float64) string { return percentOf(v, whole) }
	slowMean := mean(w.Slow.NS, w.Slow.Spans)
	slowShare := func(v float64) string { return percentOf(v, slowMean) }
	if len(known) == 0 || known[0].over <= 0 {
		return fmt.Sprintf("No cause is known: %s of the slow spans' time is unknown%s.",
			slowShare(unknown), reason)
	}
	best, second := known[0], 0.0
	if len(known) > 1 {
		second = max(0, known[1].over)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s is %s", percent(best.over), of, Doing(best.link))
	chain(&b, w, best, percent)
	if best.over < whole/2 && second > 0 {
		fmt.Fprintf(&b, "; %s is %s", percent(second), Doing(known[1].link))
	}
	doubtful := mean(w.Doubtful.NS, w.Slow.Spans)
	var why []string
	if best.over-doubtful <= second+unknown+doubtful {
		if share(unknown, slowMean) >= 1 || best.over <= second+unknown {
			why = append(why, slowShare(unknown)+" of the slow spans' time is unknown"+reason)
		}
		if w.Doubtful.Spans > 0 {
			why = append(why, fmt.Sprintf("%d of %s %s in doubt", w.Doubtful.Spans,
				count(w.Slow.Spans, "slow span"), isAre(w.Doubtful.Spans)))
		}
	}
	if len(why) > 0 {
		fmt.Fprintf(&b, "; this could be otherwise, since %s", strings.Join(why, " and "))
	}
	return b.String() + "."
}

func percentOf(part, whole float64) string {
	if p := share(part, whole); p >= 0.5 || p <= 0 {
		return fmt.Sprintf("%.0f %%", p)
	}
	return "under 1 %"
}

// chain appends the following links of the path, as long as one of them has
// more than half of the time of the link before.
func chain(b *strings.Builder, w *result.Why, g group, percent func(float64) string) {
	whole, link, more := g.over, g.link, false
	for depth := 1; ; depth++ {
		next := grouped(w, g.causes, depth)
		if len(next) == 0 || next[0].over*2 <= g.over {
			break
		}
		before := link
		g, link, more = next[0], next[0].link, true
		who := "which"
		if link.Task.Comm != before.Whom.Comm {
			who = "while " + Thread(&link.Task)
		}
		fmt.Fprintf(b, ", %s was %s", who, Doing(link))
	}
	if more && share(g.over, whole) < 99 {
		fmt.Fprintf(b, " (%s)", percent(g.over))
	}
}

func isAre(n uint64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// A group has the causes whose paths have the same link at a depth.
type group struct {
	link   *result.WhyLink
	causes []result.WhyCause
	over   float64
}

// grouped groups causes by their link at a depth, the largest Over first.
func grouped(w *result.Why, causes []result.WhyCause, depth int) (list []group) {
	for _, c := range causes {
		if len(c.Path) <= depth {
			continue
		}
		at := slices.IndexFunc(list, func(g group) bool { return *g.link == c.Path[depth] })
		if at < 0 {
			at = len(list)
			list = append(list, group{link: &c.Path[depth]})
		}
		list[at].causes = append(list[at].causes, c)
		list[at].over += Over(w, &c)
	}
	slices.SortStableFunc(list, func(a, b group) int {
		switch {
		case a.over > b.over:
			return -1
		case a.over < b.over:
			return 1
		}
		return strings.Compare(Phrase(a.link), Phrase(b.link))
	})
	return list
}
