package parquet

import "encoding/binary"

// This file encodes messages in Thrift's compact form: fields in the order of their numbers,
// each with the difference to the previous number.

// Types of fields and elements.
const (
	isTrue   = 1
	isFalse  = 2
	isByte   = 3
	isInt32  = 5
	isInt64  = 6
	isBytes  = 8
	isList   = 9
	isStruct = 12
)

// A message encodes a message. Fields of nested messages are between open and shut.
type message struct {
	buf  []byte
	last int
	up   []int // the last fields of the enclosing messages
}

func (m *message) reset() { m.buf, m.last, m.up = m.buf[:0], 0, m.up[:0] }

func (m *message) field(id, kind int) {
	m.buf = append(m.buf, byte((id-m.last)<<4|kind))
	m.last = id
}

func (m *message) int32(id int, v int) {
	m.field(id, isInt32)
	m.buf = appendZigzag(m.buf, int64(v))
}

func (m *message) int64(id int, v int64) {
	m.field(id, isInt64)
	m.buf = appendZigzag(m.buf, v)
}

func (m *message) byte(id int, v byte) {
	m.field(id, isByte)
	m.buf = append(m.buf, v)
}

func (m *message) bool(id int, v bool) {
	if v {
		m.field(id, isTrue)
	} else {
		m.field(id, isFalse)
	}
}

func (m *message) text(id int, s string) {
	m.field(id, isBytes)
	m.element(s)
}

// element appends a text in a list.
func (m *message) element(s string) {
	m.buf = append(binary.AppendUvarint(m.buf, uint64(len(s))), s...)
}

func (m *message) list(id, kind, n int) {
	m.field(id, isList)
	if n < 15 {
		m.buf = append(m.buf, byte(n<<4|kind))
		return
	}
	m.buf = binary.AppendUvarint(append(m.buf, byte(15<<4|kind)), uint64(n))
}

// open begins a message in a field; inside begins a message in a list.
func (m *message) open(id int) {
	m.field(id, isStruct)
	m.inside()
}

func (m *message) inside() {
	m.up = append(m.up, m.last)
	m.last = 0
}

func (m *message) shut() {
	m.buf = append(m.buf, 0)
	m.last, m.up = m.up[len(m.up)-1], m.up[:len(m.up)-1]
}

// empty adds a message without fields.
func (m *message) empty(id int) {
	m.open(id)
	m.shut()
}

// end ends the outermost message and returns it.
func (m *message) end() []byte {
	m.buf = append(m.buf, 0)
	return m.buf
}
