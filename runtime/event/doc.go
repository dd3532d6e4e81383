// Package event is the waist of the runtime: every source delivers events
// with a schema.
//
// Sources (runtime/source/perf, runtime/source/perfdata, relays and programs of the kernel) deliver them,
// everything above reads them. The package knows neither the kernel nor
// Starlark, and holds no code that runs per event except field access.
//
// Lifetimes: an Event is a view on ring or file memory and dies at Release;
// a Schema and a Stream live as long as their Source.
package event
