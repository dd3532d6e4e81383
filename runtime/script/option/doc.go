// Package option has the options that scripts declare: their types, how texts
// of the command line become values, and what messages and --help say of them.
//
// builtins/options makes a Set, cmd/ppscript makes flags of it and gives the
// texts back to Set.Values, and script hands the Values to main. The options
// that every script has are cmd/ppscript's own.
package option
