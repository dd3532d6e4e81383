// Package option has the options that scripts declare: their types, the
// conversion of texts from the command line to values, and the texts for
// messages and --help.
//
// builtins/options makes a Set. cmd/ppscript makes flags from it and passes the
// texts to Set.Values, and script passes the Values to main. The options that
// every script has belong to cmd/ppscript.
package option
