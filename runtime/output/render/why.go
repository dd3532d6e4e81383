package render

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/unit"
	"ppscript/runtime/why/story"
)

// This file writes explanations of slow spans; runtime/why/story makes their texts.

// whySilent reports whether an explanation has no contents, such as of intervals without slow
// spans.
func whySilent(w *result.Why) bool {
	return len(w.Causes) == 0 && len(w.Slowest) == 0 && w.Skipped == 0 && len(w.Notes) == 0 &&
		w.Meta.Silent()
}

// whyUnit returns the unit of the table, which fits the mean length of the slow
// spans.
func whyUnit(w *result.Why) unit.Unit {
	return story.Unit(float64(w.Slow.NS) / float64(max(w.Slow.Spans, 1)))
}

// why writes a table of the causes, the stories of the slowest spans, a sentence with the
// conclusion, and the losses.
func (r *textRenderer) why(w *result.Why) error {
	if whySilent(w) {
		return r.err
	}
	t := story.Causes(w, whyUnit(w), r.cells())
	story.Short(t)
	loss := t.Loss
	t.Loss = event.Loss{} // it is written at the end
	if err := r.table(t); err != nil {
		return err
	}
	if len(w.Causes) > 0 {
		r.buf = append(r.buf, '\n')
	}
	return r.stories(w, loss)
}

// cells returns the width at which text is wrapped.
func (r *textRenderer) cells() int {
	if r.terminal != nil {
		if n := r.terminal(); n > 0 {
			return n
		}
	}
	return r.width
}

// stories writes the text below the table: the slowest spans, the conclusion
// and the losses.
func (r *textRenderer) stories(w *result.Why, loss event.Loss) error {
	r.buf = story.AppendSlowest(r.buf, w, &story.Form{
		Width: r.cells(),
		Moment: func(dst []byte, t event.Time) []byte {
			return r.line.stamp.appendMoment(dst, t, time.Time{}, &r.line)
		},
		Frames: func(dst []byte, s result.CallStack) []byte { return appendFrameLines(dst, s) },
	})
	if len(w.Slowest) > 0 {
		r.buf = append(r.buf, '\n')
	}
	r.buf = story.AppendEnd(r.buf, w, r.cells())
	r.missing(&result.Meta{Loss: loss}, 0, 0, "")
	return r.spill()
}

// why writes a Markdown table of the causes, and all else as code.
func (r *markdownRenderer) why(w *result.Why) error {
	if whySilent(w) {
		return r.err
	}
	t := story.Causes(w, whyUnit(w), 0)
	story.Short(t)
	loss := t.Loss
	t.Loss = event.Loss{}
	if err := r.table(t); err != nil {
		return err
	}
	return r.asCode(r.text.stories(w, loss), true)
}

// why writes the tables of Walk, and the notes as comments.
func (r *csvRenderer) why(w *result.Why) error {
	if err := Walk(w, r.Show); err != nil {
		return err
	}
	for _, n := range story.Notes(w) {
		if err := r.note("# ", csvEOL, appendNote(nil, w.Name,
			[]NoteField{{"note", event.StrOf(n)}})); err != nil {
			return err
		}
	}
	return r.err
}

// why writes a record of type why.
func (r *jsonRenderer) why(w *result.Why) error {
	if whySilent(w) {
		return r.err
	}
	r.begin("why")
	m := story.Meta(w)
	r.meta(&m)
	if c := story.Conclusion(w); c != "" {
		r.buf = appendJSONString(append(r.buf, `,"conclusion":`...), c)
	}
	r.whySpans(`,"slow":`, w.Slow)
	r.whySpans(`,"normal":`, w.Normal)
	r.whySpans(`,"doubtful":`, w.Doubtful)
	r.buf = append(r.buf, `,"causes":[`...)
	for i, c := range story.Sorted(w) {
		r.comma(i)
		r.buf = appendJSONString(append(r.buf, `{"text":`...), story.Path(c.Path))
		r.buf = append(r.buf, `,"path":[`...)
		r.whyPath(c.Path, nil)
		r.whySpans(`],"slow":`, c.Slow)
		r.whySpans(`,"normal":`, c.Normal)
		r.buf = append(r.buf, '}')
	}
	ids, numbers := whyStacks(w)
	r.buf = append(r.buf, `],"slowest":[`...)
	for i, s := range w.Slowest {
		r.comma(i)
		r.whySpan(s, numbers)
		if err := r.spill(); err != nil {
			return err
		}
	}
	r.buf = append(r.buf, `],"stacks":[`...)
	for i, id := range ids {
		r.comma(i)
		s := w.Stacks[id]
		r.buf = append(r.buf, `{"id":`...)
		r.buf = strconv.AppendInt(r.buf, int64(i), 10)
		r.frames(s)
		r.buf = append(r.buf, '}')
	}
	r.buf = strconv.AppendUint(append(r.buf, `],"skipped":`...), w.Skipped, 10)
	r.buf = append(r.buf, `,"notes":[`...)
	for i, n := range w.Notes {
		r.comma(i)
		r.buf = appendJSONString(r.buf, n)
	}
	r.buf = append(r.buf, ']')
	return r.end()
}

func (r *jsonRenderer) comma(i int) {
	if i > 0 {
		r.buf = append(r.buf, ',')
	}
}

func (r *jsonRenderer) whySpans(member string, s result.WhySpans) {
	r.buf = strconv.AppendUint(append(append(r.buf, member...), `{"spans":`...), s.Spans, 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"ns":`...), s.NS, 10)
	r.buf = append(r.buf, '}')
}

func (r *jsonRenderer) whySpan(s *result.WhySpan, numbers map[stack.ID]int) {
	r.buf = appendJSONString(append(r.buf, `{"label":`...), s.Label)
	if s.Key != "" {
		r.buf = appendJSONString(append(r.buf, `,"key":`...), s.Key)
	}
	r.whyTask(`,"thread":`, &s.Task)
	r.buf = strconv.AppendInt(append(r.buf, `,"begin":`...), int64(s.From), 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"end":`...), int64(s.To), 10)
	if s.Doubt != "" {
		r.buf = appendJSONString(append(r.buf, `,"doubt":`...), s.Doubt)
	}
	if s.Merged {
		r.buf = append(r.buf, `,"merged":true`...)
	}
	r.buf = append(r.buf, `,"parts":[`...)
	for i := range s.Parts {
		p := &s.Parts[i]
		r.comma(i)
		r.buf = strconv.AppendInt(append(r.buf, `{"since":`...), int64(p.From-s.From), 10)
		r.buf = strconv.AppendInt(append(r.buf, `,"ns":`...), p.NS(), 10)
		r.buf = append(r.buf, `,"path":[`...)
		r.whyPath(p.Path, numbers)
		r.buf = append(r.buf, `]}`...)
	}
	r.buf = append(r.buf, `]}`...)
}

// whyPath writes the links of a path. numbers has the numbers of stacks in the record;
// nil if links have no stacks.
func (r *jsonRenderer) whyPath(path []result.WhyLink, numbers map[stack.ID]int) {
	for i := range path {
		l := &path[i]
		r.comma(i)
		r.buf = appendJSONString(append(r.buf, `{"kind":`...), l.Kind.String())
		if l.What != "" {
			r.buf = appendJSONString(append(r.buf, `,"what":`...), l.What)
		}
		if l.File != "" {
			r.buf = appendJSONString(append(r.buf, `,"file":`...), l.File)
		}
		r.whyTask(`,"thread":`, &l.Task)
		r.whyTask(`,"whom":`, &l.Whom)
		if l.Foreign {
			r.buf = append(r.buf, `,"foreign":true`...)
		}
		if l.Kernel {
			r.buf = append(r.buf, `,"kernel":true`...)
		}
		if l.Cgroup != "" {
			r.buf = appendJSONString(append(r.buf, `,"cgroup":`...), l.Cgroup)
		}
		for _, s := range [...]struct {
			member string
			id     stack.ID
		}{{`,"stack":`, l.Stack}, {`,"waker_stack":`, l.WakerStack}} {
			if n, ok := numbers[s.id]; ok {
				r.buf = strconv.AppendInt(append(r.buf, s.member...), int64(n), 10)
			}
		}
		r.buf = append(r.buf, '}')
	}
}

// whyTask writes a thread, unless it is unknown.
func (r *jsonRenderer) whyTask(member string, t *result.WhyTask) {
	if *t == (result.WhyTask{}) {
		return
	}
	r.buf = appendJSONString(append(append(r.buf, member...), `{"comm":`...), t.Comm)
	if t.TID != 0 {
		r.buf = strconv.AppendInt(append(r.buf, `,"tid":`...), int64(t.TID), 10)
		r.buf = strconv.AppendInt(append(r.buf, `,"pid":`...), int64(t.PID), 10)
	}
	r.buf = append(r.buf, '}')
}

// whyStacks returns the sorted ids of the stacks with names, and the index of each.
func whyStacks(w *result.Why) (ids []stack.ID, numbers map[stack.ID]int) {
	ids, numbers = slices.Sorted(maps.Keys(w.Stacks)), map[stack.ID]int{}
	for i, id := range ids {
		numbers[id] = i
	}
	return ids, numbers
}
