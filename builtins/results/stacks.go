package results

import (
	"errors"
	"strings"
	"sync"

	b "ppscript/builtins"
	"ppscript/runtime/plan"

	"go.starlark.net/starlark"
)

// Stacks is the result of stream.stacks(...): counts by call stack that a run
// will fill.
type Stacks struct{ Report *plan.Stacks }

var (
	_ Reporter          = (*Stacks)(nil)
	_ starlark.HasAttrs = (*Stacks)(nil)
)

// Plan returns the report to run.
func (s *Stacks) Plan() plan.Report { return s.Report }

func (s *Stacks) String() string {
	names := []string{"comm"}
	if s.Report.By != nil {
		names = nil
		for _, v := range s.Report.By {
			names = append(names, v.Name)
		}
	}
	text := "<stacks"
	if s.Report.Code != nil {
		return "<annotated code>"
	}
	if s.Report.Flat != nil {
		return "<flat profile by " + strings.Join(s.Report.Flat, ", ") + ">"
	}
	if len(names) > 0 {
		text += " by " + strings.Join(names, ", ")
	}
	if s.Report.Value != nil {
		text += ", adding up " + s.Report.Name
	}
	return text + ">"
}
func (s *Stacks) Type() string          { return "stacks" }
func (s *Stacks) Freeze()               {} // methods copy
func (s *Stacks) Truth() starlark.Bool  { return true }
func (s *Stacks) Hash() (uint32, error) { return 0, errors.New("unhashable: stacks") }

// StackMethods has the methods of stacks. It is filled at first use.
var StackMethods = sync.OnceValue(func() *b.MethodSet { return b.Methods("stacks", StackBuiltins()) })

// Attr returns a method.
func (s *Stacks) Attr(name string) (starlark.Value, error) { return StackMethods().Attr(s, name) }

// AttrNames lists the methods.
func (s *Stacks) AttrNames() []string { return StackMethods().Names() }

const stackDemo = `t = sample(freq = 99).stack().stacks()`

// StackBuiltins declares the methods of stacks.
func StackBuiltins() []*b.Builtin {
	return []*b.Builtin{{
		Name:     "top",
		Type:     "stacks",
		Group:    b.Results,
		Summary:  "Shows the largest stacks only; files get all of them.",
		Params:   []b.Param{{Name: "n", Type: b.Int, Required: true, Doc: "how many stacks"}},
		Returns:  "stacks",
		Result:   "at most n stacks; the number of the others is shown",
		Errors:   "n is less than 1",
		Source:   computed,
		Cost:     perRow,
		Examples: []b.Example{{Code: stackDemo + "\nt.top(10)", Output: "<stacks by comm>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if c.Int("n") < 1 {
				return nil, c.Errorf("n", "got %d, want at least 1", c.Int("n"))
			}
			s := *c.Receiver.(*Stacks).Report
			s.Top = int(c.Int("n"))
			return &Stacks{&s}, nil
		},
	}, {
		Name:    "title",
		Type:    "stacks",
		Group:   b.Results,
		Summary: "Sets the title of the stacks, shown beside their date and in flame graphs.",
		Params:  []b.Param{{Name: "text", Type: b.String, Required: true, Doc: "the title"}},
		Returns: "stacks",
		Result:  "the stacks with the title",
		Errors:  "none",
		Source:  computed,
		Cost:    perRow,
		Examples: []b.Example{
			{Code: stackDemo + "\nt.title(\"where the CPUs are\")", Output: "<stacks by comm>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := *c.Receiver.(*Stacks).Report
			s.Title = c.String("text")
			return &Stacks{&s}, nil
		},
	}, {
		Name:     "totals",
		Type:     "stacks",
		Group:    b.Results,
		Summary:  "Shows the total of all stacks above them.",
		Returns:  "stacks",
		Result:   "the stacks with a line of totals in text; JSON has them anyway",
		Errors:   "none",
		Source:   computed,
		Cost:     perRow,
		Examples: []b.Example{{Code: stackDemo + "\nt.top(10).totals()", Output: "<stacks by comm>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := *c.Receiver.(*Stacks).Report
			s.Totals = true
			return &Stacks{&s}, nil
		},
	}, annotate(), flat()}
}
