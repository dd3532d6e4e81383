package main

import (
	"context"
	"time"

	"ppscript/cmd/ppscript/editor/langserver"
)

// editTime is how long a script in an editor may take to load.
const editTime = 2 * time.Second

// editing gives the language server the functions of the command that it needs.
func (a *app) editing() (langserver.Options, error) {
	c, err := readCommon(newFlags(nil), nil)
	if err != nil {
		return langserver.Options{}, err
	}
	a.scriptTime = editTime
	a.libs.Offline = true
	return langserver.Options{
		Version: buildVersion(), Program: "/proc/self/exe",
		Host: a.newHost, Bench: newWorkbench(a, c, context.Background),
		Resolve: a.libs.Resolve, Scripts: shipped(),
	}, nil
}
