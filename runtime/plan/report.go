package plan

// A Report is what a run delivers: the end of a stream.
type Report interface {
	// Input is the stream that it reads.
	Input() Stream
	// build adds the operator that makes it.
	build(b *builder) error
}
