package builtins

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A namespace is the value of a name with members, such as agg and opt.
type namespace struct {
	name    string
	members starlark.StringDict
}

var _ starlark.HasAttrs = (*namespace)(nil)

func (n *namespace) String() string        { return "<namespace " + n.name + ">" }
func (n *namespace) Type() string          { return n.name }
func (n *namespace) Freeze()               { n.members.Freeze() }
func (n *namespace) Truth() starlark.Bool  { return true }
func (n *namespace) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: %s", n.name) }
func (n *namespace) AttrNames() []string   { return n.members.Keys() }

func (n *namespace) Attr(name string) (starlark.Value, error) {
	return n.members[name], nil
}
