// Package editors has what editors need to know scripts: an extension for VS Code
// and files for Vim. Their grammars are made from the declarations of the
// language's words; all else that editors show comes from ppscript lsp.
package editors

//go:generate go run ./gen
