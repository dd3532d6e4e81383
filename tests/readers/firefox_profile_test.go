package readers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// A firefoxProfile has the data that the viewer would see in a Firefox profile of version
// 48. Reading one fails if a column has another length than its table, or if a number in a
// table refers to nothing.
type firefoxProfile struct {
	Meta struct {
		Version                    int
		PreprocessedProfileVersion int
		StartTime, Interval        float64
		Product, Oscpu             string
		Categories                 []struct{ Subcategories []string }
		MarkerSchema               []struct {
			Name string
			Data []struct{ Key, Format string }
		}
		Extra []struct {
			Label   string
			Entries []struct {
				Label string
				Value float64
			}
		}
	}
	Libs    []struct{ Name, Path, DebugName, CodeID string }
	Threads []firefoxThread
}

type firefoxThread struct {
	Name, Pid    string
	Tid          int
	IsMainThread bool
	StringArray  []string
	Samples      struct {
		Length     int
		WeightType string
		Stack      []*int
		Time       []float64
		Weight     []int64
	}
	Markers struct {
		Length    int
		Name      []int
		StartTime []float64
		EndTime   []*float64
		Phase     []int
		Category  []int
		Data      []map[string]any
	}
	StackTable struct {
		Length                       int
		Prefix                       []*int
		Frame, Category, Subcategory []int
	}
	FrameTable struct {
		Length                                   int
		Address                                  []json.Number
		InlineDepth, Category, Subcategory, Func []int
		InnerWindowID                            []int
		NativeSymbol, Implementation             []any
		Line, Column                             []*int
	}
	FuncTable struct {
		Length                             int
		Name, Resource                     []int
		IsJS, RelevantForJS                []bool
		FileName, LineNumber, ColumnNumber []*int
	}
	ResourceTable struct {
		Length          int
		Lib, Name, Type []int
		Host            []any
	}
	NativeSymbols struct{ Length int }
}

func readFirefox(t *testing.T, path string) *firefoxProfile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &firefoxProfile{}
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if p.Meta.PreprocessedProfileVersion != 48 || p.Meta.Interval <= 0 || p.Meta.Product == "" {
		t.Fatalf("%s: got version %d, interval %v, product %q", path, p.Meta.PreprocessedProfileVersion,
			p.Meta.Interval, p.Meta.Product)
	}
	keys := map[string]map[string]bool{}
	for _, s := range p.Meta.MarkerSchema {
		if keys[s.Name] != nil {
			t.Errorf("%s: two schemas of %s", path, s.Name)
		}
		keys[s.Name] = map[string]bool{"type": true, "cause": true}
		for _, f := range s.Data {
			if keys[s.Name][f.Key] {
				t.Errorf("%s: two fields %s of %s", path, f.Key, s.Name)
			}
			keys[s.Name][f.Key] = true
		}
	}
	for i := range p.Threads {
		th := &p.Threads[i]
		if err := p.check(th, keys); err != nil {
			t.Fatalf("%s: thread %s %d: %v", path, th.Name, th.Tid, err)
		}
	}
	return p
}

// check reports inconsistent tables of a thread.
func (p *firefoxProfile) check(th *firefoxThread, keys map[string]map[string]bool) error {
	s, m, st, fr := &th.Samples, &th.Markers, &th.StackTable, &th.FrameTable
	fn, re := &th.FuncTable, &th.ResourceTable
	for name, lengths := range map[string][]int{
		"samples": {s.Length, len(s.Stack), len(s.Time), len(s.Weight)},
		"markers": {m.Length, len(m.Name), len(m.StartTime), len(m.EndTime), len(m.Phase), len(m.Category),
			len(m.Data)},
		"stacks": {st.Length, len(st.Prefix), len(st.Frame), len(st.Category), len(st.Subcategory)},
		"frames": {fr.Length, len(fr.Address), len(fr.InlineDepth), len(fr.Category), len(fr.Subcategory),
			len(fr.Func), len(fr.InnerWindowID), len(fr.NativeSymbol), len(fr.Implementation), len(fr.Line),
			len(fr.Column)},
		"functions": {fn.Length, len(fn.Name), len(fn.Resource), len(fn.IsJS), len(fn.RelevantForJS),
			len(fn.FileName), len(fn.LineNumber), len(fn.ColumnNumber)},
		"resources": {re.Length, len(re.Lib), len(re.Name), len(re.Type), len(re.Host)},
	} {
		for _, n := range lengths {
			if n != lengths[0] {
				return fmt.Errorf("columns of %s have lengths %v", name, lengths)
			}
		}
	}
	var err error
	in := func(what string, n, length int) {
		if err == nil && (n < 0 || n >= length) {
			err = fmt.Errorf("%s %d of %d", what, n, length)
		}
	}
	category := func(n, sub int) {
		if in("category", n, len(p.Meta.Categories)); err == nil {
			in("subcategory", sub, len(p.Meta.Categories[n].Subcategories))
		}
	}
	optional := func(what string, n *int, length int) {
		if n != nil {
			in(what, *n, length)
		}
	}
	last := 0.0
	for i, at := range s.Time {
		if optional("stack", s.Stack[i], st.Length); at < last {
			return fmt.Errorf("sample at %v comes behind %v", at, last)
		}
		last = at
	}
	for i, name := range m.Name {
		in("name", name, len(th.StringArray))
		category(m.Category[i], 0)
		if err != nil {
			return err
		}
		data, end := m.Data[i], m.EndTime[i]
		if data["type"] != th.StringArray[name] {
			return fmt.Errorf("marker %s has type %v", th.StringArray[name], data["type"])
		}
		for key := range data {
			if !keys[th.StringArray[name]][key] {
				return fmt.Errorf("marker %s has a field %s that its schema lacks", th.StringArray[name], key)
			}
		}
		if cause, has := data["cause"].(map[string]any); has {
			in("stack", int(cause["stack"].(float64)), st.Length)
		}
		if m.StartTime[i] < 0 || (end == nil) != (m.Phase[i] == 0) || end != nil && *end < m.StartTime[i] ||
			m.Phase[i] > 1 {
			return fmt.Errorf("marker %s of phase %d is from %v to %v", th.StringArray[name], m.Phase[i],
				m.StartTime[i], end)
		}
	}
	for i, frame := range st.Frame {
		in("frame", frame, fr.Length)
		optional("prefix", st.Prefix[i], i) // a prefix must come before the stack that uses it
		category(st.Category[i], st.Subcategory[i])
	}
	for i, f := range fr.Func {
		in("function", f, fn.Length)
		category(fr.Category[i], fr.Subcategory[i])
	}
	for i, name := range fn.Name {
		in("name", name, len(th.StringArray))
		optional("file", fn.FileName[i], len(th.StringArray))
		if fn.Resource[i] != -1 {
			in("resource", fn.Resource[i], re.Length)
		}
	}
	for i, lib := range re.Lib {
		in("lib", lib, len(p.Libs))
		in("name", re.Name[i], len(th.StringArray))
	}
	return err
}

// stack returns the functions of a stack, outermost first, separated by ; or ""
// if there is no stack.
func (th *firefoxThread) stack(n *int) string {
	var names []string
	for ; n != nil; n = th.StackTable.Prefix[*n] {
		f := th.FrameTable.Func[th.StackTable.Frame[*n]]
		names = append([]string{th.StringArray[th.FuncTable.Name[f]]}, names...)
	}
	return strings.Join(names, ";")
}

// A mark is a marker of a thread.
type mark struct {
	name       string
	thread     *firefoxThread
	begin, end int64 // ns since the profile's begin; end is -1 for an instant
	data       map[string]any
	stack      string
}

func (p *firefoxProfile) marks() (list []mark) {
	ns := func(ms float64) int64 { return int64(math.Round(ms * 1e6)) }
	for i := range p.Threads {
		th := &p.Threads[i]
		for j, name := range th.Markers.Name {
			x := mark{name: th.StringArray[name], thread: th, begin: ns(th.Markers.StartTime[j]), end: -1,
				data: th.Markers.Data[j]}
			if end := th.Markers.EndTime[j]; end != nil {
				x.end = ns(*end)
			}
			if cause, has := x.data["cause"].(map[string]any); has {
				at := int(cause["stack"].(float64))
				x.stack = th.stack(&at)
			}
			list = append(list, x)
		}
	}
	return list
}
