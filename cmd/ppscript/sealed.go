package main

import (
	"os"
	"path/filepath"
	"strings"

	"ppscript/cmd/ppscript/fleet/journal"
	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/permit/sealed"
	"ppscript/scripts"
	"ppscript/stdlib"

	"github.com/spf13/cobra"
)

// This file has the command sealed, by which users run scripts with root's rights if
// root's rules permit it.

func sealedCommand(a *app) *cobra.Command {
	var check string
	var list bool
	c := &cobra.Command{
		Use:   "sealed SCRIPT [options] | sealed --list | sealed --check FILE",
		Short: "Run what root's rules let users of sudo run", Long: sealed.Help,
		Example: "    sudo ppscript sealed syscalls -p 4711 --than 1ms\n    sudo ppscript sealed --list\n" +
			"    ppscript sealed --check /etc/ppscript/sealed",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				return a.sealed(args)
			}
			if err := c.Flags().Parse(args); err != nil {
				return flagError(err, c.Flags(), c.CommandPath())
			}
			switch rest := c.Flags().Args(); {
			case len(rest) > 0:
				return usagef("sealed", rest[0], "an option stands before it").
					WithHint("write: ppscript sealed SCRIPT [options]")
			case check != "":
				return sealed.CheckFile(a.Text(), check, ours, a.lacksOption)
			case list:
				return sealed.List(a.Text(), ours)
			}
			return c.Help()
		},
	}
	c.Flags().StringVar(&check, "check", "", "find mistakes in a file of rules")
	c.Flags().BoolVar(&list, "list", false, "show what you may run")
	c.Flags().BoolP("help", "h", false, "show this help")
	return c
}

// ours returns the name by which the script host finds a script that comes with the program; ""
// for other scripts.
func ours(name string) string {
	if file, ok := stdlib.Find(name); ok {
		return "@stdlib//" + file
	}
	if file, ok := scripts.Find(name); ok {
		return "@stdlib//scripts/" + file
	}
	return ""
}

// sealed runs a script if a rule permits it.
func (a *app) sealed(args []string) error {
	err := a.unseal(args[0])
	if err == nil {
		err = a.script(append([]string{a.vetting.gate.Script}, args[1:]...))
	}
	if g := a.vetting.gate; err != nil && (g == nil || g.Rule == nil) {
		a.tellRefused(err)
	}
	return err
}

// unseal finds the rules for a script before the script is read.
func (a *app) unseal(name string) error {
	p, err := sealed.Read(sealed.File, ours)
	if err != nil {
		return err
	}
	script := ours(name)
	if script == "" {
		if script, err = filepath.Abs(name); err != nil {
			return err
		}
	}
	a.vetting.gate, err = sealed.NewGate(p, sealed.Caller(), script)
	return err
}

// tellRefused writes an entry about a refused request to the journal.
func (a *app) tellRefused(why error) {
	e := journal.New(buildVersion(), os.Args[1:], nil)
	e.Type, e.Error = "refused", why.Error()
	if err := journal.Open(journal.Socket).Tell(e); err != nil {
		a.Say("no entry was written to the journal: " + err.Error())
	}
}

// openGate looks for a rule that permits the command line, before any of its options takes effect.
func (inv *invocation) openGate(g *sealed.Gate, words []string) error {
	q := sealed.Request{Args: words, Command: inv.workload}
	for _, f := range inv.flags.list {
		if len(f.texts) > 0 {
			q.Options = append(q.Options, sealed.OptionValues{Name: f.name, Values: f.texts,
				Bare: f.metavar == "",
				File: f.kind == aPath, Writes: permit.Writes(f.name)})
		}
	}
	return g.Open(q)
}

// lacksOption reports that a rule names an option which the script does not have.
func (a *app) lacksOption(script, option string) (bool, error) {
	host, _, err := a.newHost()
	if err != nil {
		return false, err
	}
	m, err := a.load(host, script)
	if err != nil {
		return false, err
	}
	return newFlags(m.Options).find(option) == nil, nil
}
