package expr

// LabelOf reads the label of the stream of a span's part, if that part may be one of
// several events.
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

// Ends reports that a field belongs to the end of a pair.
func (n *Field) Ends() bool { return n.Part&partMask == End }
