// Package otlp sends metrics and profiles to a collector of OpenTelemetry, by OTLP over HTTP
// with protocol buffers. Metrics are cumulative since the start, so a lost message loses no
// events. Profiles are of one interval each, in the version v1development, which may still
// change.
//
// The messages are encoded by hand: there are few of them, and generated code for all of
// OTLP would be larger than the whole program.
package otlp
