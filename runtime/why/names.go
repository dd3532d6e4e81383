package why

import "ppscript/runtime/event"

// names assigns numbers to texts, so that records are small and cheap to compare.
type names struct {
	numbers  map[string]uint32
	texts    []string
	syscalls []uint32 // by number of the system call; 0 if it was not looked up yet
	disks    map[diskKey]uint32
	irqs     map[uint64]uint32 // handlers by the interrupt's number
	works    map[uint64]uint32 // works by the address of their function
}

type diskKey struct {
	dev uint32
	way string
}

const (
	maxNames    = 1 << 16 // threads with new names come and go
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

// of returns the number of a text. When there are too many, all further texts
// share a number.
func (n *names) of(text string) uint32 {
	if i, ok := n.numbers[text]; ok {
		return i
	}
	if len(n.texts) > maxNames {
		return n.others()
	}
	return n.add(text)
}

// text returns the number of a field's text. Fast path: it copies only new
// texts.
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
