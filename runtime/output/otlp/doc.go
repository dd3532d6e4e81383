// Package otlp sends metrics and profiles to a collector of OpenTelemetry, by OTLP over HTTP
// with protocol buffers. Metrics are cumulative since the start, so that one message that is
// lost takes no event with it; profiles are of one interval each, in the form v1development,
// which may still change.
//
// The messages are written by hand: there are few of them, and the generated code of all
// would be larger than the program's own.
package otlp
