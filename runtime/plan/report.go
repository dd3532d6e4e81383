package plan

// A ResultShaper is a report whose result is not lines.
type ResultShaper interface {
	// Shape is the shape of its result, for lists of the results of scripts: table,
	// stacks, files, query.
	Shape() string
}

// A ResultNamer is a report that names its results. If it has several, numbers are appended; a
// database names the answer of its first statement.
type ResultNamer interface{ ResultName() string }

// A Report is a result of a run: the end of a stream.
type Report interface {
	// Input is the stream that it reads.
	Input() Stream
	// build adds the operator that makes the result.
	build(b *builder) error
}
