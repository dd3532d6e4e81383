package script

import "go.starlark.net/syntax"

// dialect has the options of the language for files and REPL chunks; see the
// package comment.
func dialect() *syntax.FileOptions {
	return &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
}
