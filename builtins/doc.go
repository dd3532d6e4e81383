// Package builtins defines the words of the script language. A builtin is a
// function, method or constant that scripts can use. The package has the type
// for the declaration of a builtin, and the registry that makes predeclared
// names, argument checks, help and REFERENCE.md from all declarations.
//
// A declaration (Builtin) holds everything about a builtin: nothing is written
// twice. The packages below this directory have the declarations, one group
// each. Package all collects them for cmd/ppscript and for the generator.
//
//	go generate ./builtins     write REFERENCE.md again
package builtins

//go:generate go run ./gen
