package builtins

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A Namespace is a name with members, such as agg and opt.
type Namespace struct {
	name    string
	members starlark.StringDict
}

var _ starlark.HasAttrs = (*Namespace)(nil)

func (n *Namespace) String() string        { return "<namespace " + n.name + ">" }
func (n *Namespace) Type() string          { return n.name }
func (n *Namespace) Freeze()               { n.members.Freeze() }
func (n *Namespace) Truth() starlark.Bool  { return true }
func (n *Namespace) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: %s", n.name) }
func (n *Namespace) AttrNames() []string   { return n.members.Keys() }

func (n *Namespace) Attr(name string) (starlark.Value, error) {
	return n.members[name], nil
}
