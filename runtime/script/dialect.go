package script

import "go.starlark.net/syntax"

// dialect is the language that every file and REPL chunk is written in; the
// package comment says why.
func dialect() *syntax.FileOptions {
	return &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
}
