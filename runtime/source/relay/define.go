package relay

import "ppscript/runtime/event"

// definitions are the stacks and functions that a sender has defined in the present
// epoch.
type definitions struct {
	id     uint64 // id of an event with stacks
	limit  int    // bytes of an epoch, at which the next begins
	epoch  uint32
	log    []byte // whole records of this epoch
	open   []byte // definitions that are not in a record so far
	texts  map[string]uint64
	places map[string]uint64
	stacks map[string]uint64
	def    []byte // scratch
	key    []byte // scratch
}

func newDefinitions(id uint64, limit int) *definitions {
	d := &definitions{id: id, limit: max(limit, 2*maxRecord)}
	d.begin()
	return d
}

// begin begins the next epoch.
func (d *definitions) begin() {
	d.epoch++
	d.log = nil // chunks of the last epoch still refer to the old log
	d.texts, d.places, d.stacks = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	d.open = appendNumbers(d.open[:0], defBegin, uint64(d.epoch))
}

// full reports that the epoch should end.
func (d *definitions) full() bool { return len(d.log)+len(d.open) >= d.limit }

// knows reports that the number of a stack is valid in this epoch.
func (d *definitions) knows(number uint64) bool { return uint32(number>>32) == d.epoch }

// records returns the definitions of the epoch, in whole records. These bytes
// do not change later.
func (d *definitions) records() []byte {
	if len(d.open) > 0 {
		d.log = appendUpdate(d.log, d.id, d.open)
		d.open = d.open[:0]
	}
	return d.log
}

// add appends a definition.
func (d *definitions) add(def []byte) {
	if recHeader+16+len(d.open)+len(def) > maxRecord-8 {
		d.records()
	}
	d.open = append(d.open, def...)
}

// text returns the number of a text, and defines it if it is new; 0 for the
// empty text.
func (d *definitions) text(s string) uint64 {
	if s == "" {
		return 0
	}
	s = s[:min(len(s), maxText)]
	if n, ok := d.texts[s]; ok {
		return n
	}
	d.texts[s] = uint64(len(d.texts) + 1)
	d.add(append(appendNumbers(nil, defText, uint64(len(s))), s...))
	return d.texts[s]
}

func bit(set bool, flag uint64) uint64 {
	if set {
		return flag
	}
	return 0
}

func (d *definitions) place(p *Place) uint64 {
	fns := p.Functions
	fns = fns[max(0, len(fns)-maxFrames):] // keep the outer functions
	d.def = appendNumbers(d.def[:0], defPlace, uint64(p.In), p.Addr, uint64(len(fns)))
	for i := range fns {
		f := &fns[i]
		d.def = appendNumbers(d.def, d.text(f.Name), f.Offset, d.text(f.File), d.text(f.BuildID),
			d.text(f.Source), uint64(max(f.Line, 0)), bit(f.Inline, flagInline)|bit(f.Kernel, flagKernel))
	}
	n, ok := d.places[string(d.def)]
	if !ok {
		n = uint64(len(d.places) + 1)
		d.places[string(d.def)] = n
		d.add(d.def)
	}
	return n
}

// stack returns the number of a stack in this epoch, and defines it if it is
// new.
func (d *definitions) stack(s *Stack) uint64 {
	places, cut := s.Places, s.Cut
	if len(places) > maxPlaces {
		places, cut = places[:maxPlaces], true
	}
	d.key = appendNumbers(d.key[:0], defStack, bit(cut, flagCut)|bit(s.Unwound, flagUnwound),
		uint64(len(places)))
	for _, p := range places {
		d.key = appendNumbers(d.key, d.place(p))
	}
	n, ok := d.stacks[string(d.key)]
	if !ok {
		n = numberIn(d.epoch, len(d.stacks)+1)
		d.stacks[string(d.key)] = n
		d.add(d.key)
	}
	return n
}

// defsPosition is the position up to which a receiver has the definitions.
type defsPosition struct {
	epoch uint32
	at    int
}

// missing returns the part of a piece's definitions that the receiver does not
// have.
func (k *defsPosition) missing(p *piece) []byte {
	if k.epoch != p.epoch {
		return p.defs
	}
	return p.defs[k.at:]
}

// have records that the receiver got a piece's definitions, except for the last
// but bytes.
func (k *defsPosition) have(p *piece, but int) { k.epoch, k.at = p.epoch, len(p.defs)-but }

// A piece is a part of the stream, of whole records.
type piece struct {
	records []byte
	events  uint64     // in records
	first   event.Time // of them
	// defs are all definitions of the epoch so far.
	defs  []byte
	epoch uint32
}
