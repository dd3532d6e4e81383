// Package tty talks with a person at a terminal, key by key: it edits statements of several
// lines (Editor), keeps those that were typed (History), and shows long texts (Page).
//
// The prompt calls it. It knows nothing of the language: the maker of an Editor says when a
// statement is whole, how its next line is indented, and how a word goes on.
package tty
