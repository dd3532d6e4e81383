// Package tty reads keys from a terminal. It has an editor for statements of several lines
// (Editor), a history of statements (History), and a pager for long texts (Page).
//
// The prompt and the console call it. It does not depend on the language: functions in the
// Editor decide when a statement is complete, how the next line is indented, and how a word
// can be completed.
package tty
