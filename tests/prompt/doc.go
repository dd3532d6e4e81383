// Package prompt types at ppscript's prompt in tmux, as a person would, and looks at the screen.
package prompt
