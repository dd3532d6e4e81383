package expr

// Condition is the condition of a node, as the back end compiles it.
var Condition = condition

// MatchCompiled matches a text with a glob that was compiled.
func MatchCompiled(pattern string, text []byte) bool { return compileGlob(pattern).match(text) }
