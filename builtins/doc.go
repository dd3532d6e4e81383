// Package builtins is the vocabulary of scripts: the form in which every
// builtin is declared, and the registry that turns the declarations into
// predeclared names, argument checks, help and REFERENCE.md.
//
// A declaration (Builtin) is all there is: nothing about a builtin is written
// twice. The packages below this folder hold the declarations, one group
// each; package all puts them together for cmd/ppscript and for the
// generator.
//
//	go generate ./builtins     write REFERENCE.md again
package builtins

//go:generate go run ./gen
