package readers

import (
	"encoding/binary"
	"fmt"
)

// A message is a decoded protocol buffer: the values of each field, numbers or bytes.
type message map[int][]any

// parse decodes a message without knowing its fields: bytes stay bytes.
func parse(b []byte) (message, error) {
	m := message{}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 {
			return nil, fmt.Errorf("bad tag in % x", b[:min(len(b), 16)])
		}
		b = b[n:]
		field := int(tag >> 3)
		switch tag & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, fmt.Errorf("field %d: bad number", field)
			}
			b, m[field] = b[n:], append(m[field], v)
		case 1:
			if len(b) < 8 {
				return nil, fmt.Errorf("field %d: cut", field)
			}
			b, m[field] = b[8:], append(m[field], binary.LittleEndian.Uint64(b))
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || uint64(len(b)-n) < size {
				return nil, fmt.Errorf("field %d: cut", field)
			}
			m[field] = append(m[field], b[n:n+int(size)])
			b = b[n+int(size):]
		default:
			return nil, fmt.Errorf("field %d: wire type %d", field, tag&7)
		}
	}
	return m, nil
}

func (m message) num(field int) uint64 {
	if v := m[field]; len(v) > 0 {
		n, _ := v[len(v)-1].(uint64)
		return n
	}
	return 0
}

func (m message) text(field int) string {
	if v := m[field]; len(v) > 0 {
		b, _ := v[len(v)-1].([]byte)
		return string(b)
	}
	return ""
}

// each calls fn for the messages of a field.
func (m message) each(field int, fn func(message) error) error {
	for _, v := range m[field] {
		b, ok := v.([]byte)
		if !ok {
			return fmt.Errorf("field %d: got a number, want a message", field)
		}
		sub, err := parse(b)
		if err != nil {
			return err
		}
		if err := fn(sub); err != nil {
			return err
		}
	}
	return nil
}
