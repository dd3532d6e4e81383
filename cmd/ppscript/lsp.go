package main

import (
	"context"
	"time"

	"ppscript/cmd/ppscript/editor/langserver"
)

// editTime bounds the time for loading what somebody is writing.
const editTime = 2 * time.Second

// editing is what the server for editors needs of the program.
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
