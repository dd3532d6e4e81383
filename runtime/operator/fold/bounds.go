package fold

import "ppscript/runtime/system/memory"

// Bounds limit the keys of a Fold. At a bound the state of another key goes.
type Bounds struct {
	// Limit is the largest number of keys; 0 is key.DefaultLimit.
	Limit int
	// Memory is the part of the run's memory for the states; nil sets no bound.
	Memory *memory.Budget
}

// bound makes the table of keys ask for memory for its states.
func (f *Fold) bound(part *memory.Part) {
	row := f.state.stride*8*3/2 + len(f.spec.Texts)*64
	if f.spec.Begin > 0 {
		row += 256 // a whole event
	}
	switch {
	case part == nil:
	case f.keys.ints != nil:
		f.keys.ints.Bound(part, row)
	default:
		f.keys.texts.Bound(part, row)
	}
}
