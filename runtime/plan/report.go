package plan

// A Report is a result of a run: the end of a stream.
type Report interface {
	// Input is the stream that it reads.
	Input() Stream
	// build adds the operator that makes it.
	build(b *builder) error
}
