package why

import "ppscript/runtime/event"

// names gives texts numbers, so that records are small and comparing them is cheap.
type names struct {
	numbers  map[string]uint32
	texts    []string
	syscalls []uint32 // by number; 0 is not asked for yet
	disks    map[diskKey]uint32
	irqs     map[uint64]uint32 // of handlers by number
	works    map[uint64]uint32 // by the address of their function
}

type diskKey struct {
	dev uint32
	way string
}

const (
	maxNames    = 1 << 16 // names of threads come and go
	maxDisks    = 1 << 10
	maxSyscalls = 512
)

func (n *names) init() {
	n.numbers = map[string]uint32{"": 0}
	n.texts = append(n.texts[:0], "")
	n.syscalls = make([]uint32, maxSyscalls)
	n.disks = map[diskKey]uint32{}
	n.irqs, n.works = map[uint64]uint32{}, map[uint64]uint32{}
}

// of is the number of a text. When there are too many, all later ones are one.
func (n *names) of(text string) uint32 {
	if i, ok := n.numbers[text]; ok {
		return i
	}
	if len(n.texts) > maxNames {
		return n.others()
	}
	return n.add(text)
}

// text is the number of a field's text: Fast path, the text is copied once.
func (n *names) text(f *event.Field, e *event.Event) uint32 {
	if f == nil {
		return 0
	}
	b := f.Text(e)
	if i, ok := n.numbers[string(b)]; ok {
		return i
	}
	if len(n.texts) > maxNames {
		return n.others()
	}
	return n.add(string(b))
}

func (n *names) others() uint32 {
	if i, ok := n.numbers["..."]; ok {
		return i
	}
	return n.add("...")
}

func (n *names) add(text string) uint32 {
	i := uint32(len(n.texts))
	n.texts = append(n.texts, text)
	n.numbers[text] = i
	return i
}
