// Package value has the quantities that scripts compute with, a Duration, a
// Time and a Size, and converts the runtime's values to Starlark's and back.
//
// builtins, runtime/script/option and runtime/script/frontend use it. It does not print more
// than a value's own text; package unit knows how quantities are written.
package value
