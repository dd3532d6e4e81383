package symbol

import (
	"debug/dwarf"
	"sort"
)

// This file finds inlined functions. A unit's entries are a tree: functions,
// and in them the inlined functions, nested like the calls. The tree of a unit
// is read when the first of its addresses is named; only the spans of code and
// the positions of the calls are kept.

// A function is a function that is not inlined.
type function struct {
	lo, hi  uint64
	inlines []inlined // inlined functions in the order of the tree: outer ones first
}

// inlined is a span of code of an inlined function.
type inlined struct {
	lo, hi   uint64
	depth    int32
	callLine int32
	callFile int32        // index into the files of the unit's line table
	origin   dwarf.Offset // offset of the entry with the name
}

// inlined puts the functions inlined at addr before f. file and line are the
// position of addr itself, which belongs to the innermost function.
func (s *Symbolizer) inlined(f Frame, l *lineInfo, u *unit, addr uint64, file string, line int) []Frame {
	if !u.read {
		u.read = true
		if err := l.readFunctions(u); err != nil {
			u.subs = nil
		}
	}
	i := sort.Search(len(u.subs), func(i int) bool { return u.subs[i].lo > addr }) - 1
	if i < 0 || addr >= u.subs[i].hi {
		f.File, f.Line = file, line
		return []Frame{f}
	}
	var at []*inlined
	for j := range u.subs[i].inlines {
		if in := &u.subs[i].inlines[j]; addr >= in.lo && addr < in.hi {
			at = append(at, in)
		}
	}
	frames := make([]Frame, 0, len(at)+1)
	for j := len(at) - 1; j >= 0; j-- {
		in := f
		in.Symbol, in.Inline, in.Offset = s.inlineName(l.tree(u.first), at[j].origin), true, addr-at[j].lo
		in.File, in.Line = file, line
		frames = append(frames, in)
		file, line = u.calledFrom(at[j])
	}
	f.File, f.Line = file, line
	return append(frames, f)
}

func (u *unit) calledFrom(in *inlined) (string, int) {
	if in.callFile >= 0 && int(in.callFile) < len(u.table) {
		return u.table[in.callFile], int(in.callLine)
	}
	return "", int(in.callLine)
}

// readFunctions reads the tree of a unit.
func (l *lineInfo) readFunctions(u *unit) (err error) {
	defer guard(&err)
	t := l.tree(u.first)
	r := t.data.Reader()
	r.Seek(t.root)
	root, err := r.Next()
	if err != nil || root == nil {
		return err
	}
	w := treeWalk{l: l, tree: t, r: r}
	w.children(root, -1, 0)
	l.remaining -= w.count
	for k := range w.subs {
		if n := w.subs[k].inlines; len(n) > 0 {
			// Outer ones first, also if a span was split.
			sort.SliceStable(n, func(a, b int) bool { return n[a].depth < n[b].depth })
		}
	}
	sort.Slice(w.subs, func(a, b int) bool { return w.subs[a].lo < w.subs[b].lo })
	u.subs = w.subs
	return nil
}

// treeWalk reads entries.
type treeWalk struct {
	l     *lineInfo
	tree  *tree
	r     *dwarf.Reader
	subs  []function
	count int // functions and inlined functions so far
	work  int // spans since the last check of the time
}

// maxNesting bounds the depth of the tree, maxParts the spans of code of one entry. Compilers split
// a function into a few spans, but in a malicious file many small entries could all name one list
// with millions.
const (
	maxNesting = 256
	maxParts   = 1 << 10
)

// maxWork is the number of spans between two checks of the time.
const maxWork = 1 << 16

// spans returns the spans of an entry.
func (w *treeWalk) spans(e *dwarf.Entry) [][2]uint64 {
	list, err := w.tree.ranges(e)
	if err != nil {
		return nil
	}
	w.work += len(list)
	return list[:min(len(list), maxParts)]
}

// children reads the entries below e. They belong to parts functions, from
// index first on, and depth is their depth of inlining.
func (w *treeWalk) children(e *dwarf.Entry, sub int, depth int32) {
	if !e.Children {
		return
	}
	type level struct {
		sub   int
		depth int32
	}
	levels := []level{{sub, depth}}
	for len(levels) > 0 {
		if w.work++; w.work > maxWork {
			if w.work = 0; w.l.expired() {
				return
			}
		}
		c, err := w.r.Next()
		if err != nil || c == nil || w.count >= w.l.remaining {
			return
		}
		top := levels[len(levels)-1]
		switch c.Tag {
		case 0:
			levels = levels[:len(levels)-1]
			continue
		case dwarf.TagSubprogram:
			top.sub, top.depth = w.function(c), 0
		case dwarf.TagInlinedSubroutine:
			top.depth++
			w.inline(c, top.sub, top.depth)
		case dwarf.TagLexDwarfBlock, dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructType,
			dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
		default:
			if c.Children {
				w.r.SkipChildren()
			}
			continue
		}
		if c.Children {
			if len(levels) >= maxNesting || c.Tag == dwarf.TagSubprogram && top.sub < 0 && !declares(c) {
				w.r.SkipChildren()
				continue
			}
			levels = append(levels, top)
		}
	}
}

// declares reports whether a function without code may contain functions with
// code.
func declares(e *dwarf.Entry) bool { return e.Val(dwarf.AttrInline) == nil }

// function adds a function with code, and returns the index of its first span,
// -1 if there is none. Separate parts of a function, hot and cold, share their
// inlined functions.
func (w *treeWalk) function(e *dwarf.Entry) int {
	first := -1
	for _, g := range w.spans(e) {
		if g[0] < g[1] && g[0] != 0 {
			if first < 0 {
				first = len(w.subs)
			}
			w.subs = append(w.subs, function{lo: g[0], hi: g[1]})
			w.count++
		}
	}
	return first
}

func (w *treeWalk) inline(e *dwarf.Entry, sub int, depth int32) {
	origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if sub < 0 || !ok {
		return
	}
	line, _ := e.Val(dwarf.AttrCallLine).(int64)
	file, okFile := e.Val(dwarf.AttrCallFile).(int64)
	if !okFile {
		file = -1
	}
	for _, g := range w.spans(e) {
		if g[0] >= g[1] {
			continue
		}
		// Find the span of the function that contains it.
		for k := sub; k < min(len(w.subs), sub+maxParts); k++ {
			w.work++
			if g[0] >= w.subs[k].lo && g[0] < w.subs[k].hi {
				w.subs[k].inlines = append(w.subs[k].inlines,
					inlined{g[0], g[1], depth, int32(line), int32(file), origin})
				w.count++
				break
			}
		}
	}
}

// inlineName is the name of an inlined function, from the entry that describes
// it or from the declaration to which that entry refers.
func (s *Symbolizer) inlineName(t *tree, origin dwarf.Offset) (name string) {
	defer func() {
		if recover() != nil {
			name = Unknown
		}
	}()
	r := t.data.Reader()
	for range 8 {
		r.Seek(origin)
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if linkage, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			return s.plain(linkage)
		}
		plain, named := e.Val(dwarf.AttrName).(string)
		next, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		}
		if !ok {
			if named {
				return plain
			}
			break
		}
		if named {
			name = plain
		}
		origin = next
	}
	if name != "" {
		return name
	}
	return Unknown
}
