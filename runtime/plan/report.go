package plan

// A Shaped report makes something else than lines.
type Shaped interface {
	// Shape is what it makes, for those who list the results of scripts: table,
	// stacks, files, query.
	Shape() string
}

// A Named report says what its results are called, but for the number; a database that
// of the answer of its first statement.
type Named interface{ ResultName() string }

// A Report is a result of a run: the end of a stream.
type Report interface {
	// Input is the stream that it reads.
	Input() Stream
	// build adds the operator that makes it.
	build(b *builder) error
}
