package session

import (
	"slices"

	"ppscript/runtime/plan"
)

// This file asks for permission before the run writes files, talks to other machines
// or starts programs. A script can name any of these, and the run may have root's
// rights.

// permit asks for the permission of one use; without Config.Permit all is
// permitted.
func (c *Config) permit(u plan.Use) error {
	if c.Permit == nil {
		return nil
	}
	return c.Permit(u)
}

// permitAll asks for all uses that are known before anything is opened, so that nothing happens
// if one is refused. Each is asked for again when it is opened, with its complete name.
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
