package main

import (
	"strings"
	"testing"
)

// A user who asks for help hears of each subcommand.
func TestHelpHasEachCommand(t *testing.T) {
	said := map[string]bool{"repl": true, "help": true} // ppscript alone is the prompt
	for _, group := range tasks {
		for _, task := range group.list {
			name, _, _ := strings.Cut(task[0], " ")
			said[name] = true
		}
	}
	a := &app{}
	for _, c := range a.root().Commands() {
		if !c.Hidden && !said[c.Name()] {
			t.Errorf("%s: the table tasks does not have it", c.Name())
		}
	}
}
