package expr

// LabelOf is what the event that is a part of a span is called, where it may be one of
// several: that of its stream.
func LabelOf(p Part) Node {
	return &Native{Name: "event of " + p.Name(), T: TStr, HostOnly: NamesHere,
		Str: func(f *Frame, _ []Arg) []byte {
			e := f.part(p)
			if e == nil || e.Stream == nil {
				return nil
			}
			return f.Keep(append(f.Scratch(), e.Stream.Label...))
		}}
}

// Ends reports that a field is of the end of a pair.
func (n *Field) Ends() bool { return n.Part&partMask == End }
