package expr

import (
	"errors"
	"io"

	"ppscript/runtime/event"
)

// Errors of a running Program. Frame.Err has the first one.
var (
	ErrDivide   = errors.New("division by zero")
	ErrOverflow = errors.New("result does not fit 64 bits")
	ErrPointer  = errors.New("address is not inside the event")
	ErrShort    = errors.New("event is shorter than its format")
	ErrMissing  = errors.New("event does not carry this member")
	ErrShift    = errors.New("shift count is negative")
	ErrKind     = errors.New("a text is used as a number")
	ErrWhole    = errors.New("a number that is no integer of 64 bits is used as one")
	ErrNaN      = errors.New("the result is not a number (NaN)")
	ErrIndex    = errors.New("index is out of range")
	ErrTexts    = errors.New("the texts made for one event are larger than 64 MiB")
	ErrLong     = errors.New("a text of the state is longer than 4096 bytes")
)

// MaxStateText bounds a text in a fold's state, in bytes.
const MaxStateText = 4096

// A Frame is the input and the working memory of one evaluation. A consumer
// has one Frame and uses it for all events and Programs:
//
//	frame.Reset(e)
//	ok := program.Bool(frame)
//	if frame.Err != nil { loss.Errors++; continue }
//
// Texts that a Program returns are views: of the event, of a constant, or of
// the Frame's scratch, which the next Reset reuses.
type Frame struct {
	// Event is the event whose fields are read. It may be nil only for
	// programs that read none.
	Event *event.Event
	// Err is the first error since Reset; the value is then meaningless.
	Err error
	// State has the numbers of the fold's state for the event's key, for
	// LoadState, LoadElem and their stores.
	State []int64
	// Texts has the texts of that state. A store copies to the slot's own
	// memory.
	Texts [][]byte
	// Emit receives the records that a fold emits. Args are valid during the
	// call.
	Emit func(f *Frame, id int, args []Arg)
	// LookUp returns the state of another fold for a key; false if there is none. May be
	// nil.
	LookUp func(of any, key Arg) (numbers []int64, texts [][]byte, ok bool)
	// Out receives the output of printf; nil discards it.
	Out io.Writer

	ints      []int64
	strs      [][]byte
	args      []Arg
	scratch   []byte
	keptBytes int // bytes of texts since Reset
	ret       Arg
}

// Reset prepares the Frame for an event.
func (f *Frame) Reset(e *event.Event) {
	f.Event = e
	f.Err = nil
	f.scratch = f.scratch[:0]
	f.keptBytes = 0
}

// Fail records an error of this evaluation; the first one stays.
func (f *Frame) Fail(err error) {
	if f.Err == nil {
		f.Err = err
	}
}

// Scratch returns the free scratch memory, to be appended to; Keep makes
// the result stay valid until Reset.
//
//	buf := strconv.AppendInt(f.Scratch(), x, 10)
//	return f.Keep(buf)
func (f *Frame) Scratch() []byte { return f.scratch[len(f.scratch):] }

// maxKept bounds the texts made for one event, in bytes: a loop that doubles a
// text would use all memory.
const maxKept = 64 << 20

// Keep takes the bytes that were appended to Scratch and returns them as a view.
//
// Slow path: bytes that did not fit were moved to separate memory by append;
// the scratch is replaced by a larger one, so that soon everything fits. Older
// views keep the old memory.
func (f *Frame) Keep(b []byte) []byte {
	if f.keptBytes += len(b); f.keptBytes > maxKept {
		f.Fail(ErrTexts)
		return nil
	}
	if room := cap(f.scratch) - len(f.scratch); cap(b) > room {
		f.scratch = make([]byte, 0, max(256, 2*(cap(f.scratch)+len(b))))
	} else {
		f.scratch = f.scratch[:len(f.scratch)+len(b)]
	}
	return b[:len(b):len(b)]
}

// grow makes room for n local variables.
func (f *Frame) grow(n int) {
	for len(f.ints) < n {
		f.ints = append(f.ints, 0)
		f.strs = append(f.strs, nil)
	}
}

// part returns a part of the event; nil with Err set if there is none.
func (f *Frame) part(p Part) *event.Event {
	e := f.Event
	if p == Self {
		if e == nil {
			f.Fail(ErrMissing)
		}
		return e
	}
	for ; p != Self; p >>= partBits {
		if e == nil || e.Derived == nil || p&partMask > End {
			f.Fail(ErrMissing)
			return nil
		}
		if j := e.Derived; p&partMask == End {
			e = j.End
		} else {
			e = j.Start
		}
	}
	if e == nil {
		f.Fail(ErrMissing)
	}
	return e
}
