package session

import (
	"slices"

	"ppscript/runtime/plan"
)

// This file asks the user who started the run before it reaches beyond the kernel and
// the output: a script names files to write and machines to talk to as freely as
// events, and the run may be root's.

// permit asks for a Use; without a Permit all is permitted.
func (c *Config) permit(u plan.Use) error {
	if c.Permit == nil {
		return nil
	}
	return c.Permit(u)
}

// permitAll asks for all that is known before anything is opened, so that nothing happens
// of a request of which a part is refused. Each is asked for once more where it is opened: there
// its name is whole.
func (c *Config) permitAll() error {
	uses := plan.Uses(c.Reports)
	if w := c.Target.Workload; w != nil && len(w.Args) > 0 {
		uses = append(uses, plan.Use{Kind: plan.Starts, Name: w.Args[0], ScriptText: w.Args[0],
			Args: slices.Clone(w.Args[1:])})
	}
	for _, u := range uses {
		if err := c.permit(u); err != nil {
			return err
		}
	}
	return nil
}

func writing(path, given string) plan.Use {
	return plan.Use{Kind: plan.Writes, Name: path, ScriptText: given}
}
