// Package script is the Starlark host: it loads script files and their
// modules, runs them under limits, and makes every error point at the
// script's own line.
//
// A Host is made by cmd/ppscript with the names that scripts see (builtins) and
// the embedded stdlib. The package does not open or depend on events;
// runtime/script/frontend compiles functions of scripts to per-event functions,
// from the syntax trees that the Host keeps.
//
// # The dialect
//
// Scripts are Starlark with if, for and while at top level, reassignment of
// globals while the file loads, and sets. Recursion is rejected, since a
// recursive function can be neither inlined nor lowered; while loops replace
// it. A file's globals are frozen when it has been loaded; values that change
// later live in state().
//
// # Threads
//
// A Host loads and calls from one goroutine at a time. A function that is
// called per event has a thread of its own (EventThread), so that different
// ones may run on different goroutines. Cancel may be called from any
// goroutine.
package script
