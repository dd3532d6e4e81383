package symbol

import (
	"encoding/binary"
	"errors"
)

// This file computes the lengths of values in debug information from their forms. Package
// debug/dwarf reads values, but does not report their offsets, and cannot read values that are
// relative to another base.

// Forms of values, DW_FORM_ in the standard; those at the end are GNU's.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// sizes are the sizes, in bytes, of the values whose size depends on the unit.
type sizes struct {
	offset, address int
	version         uint16
}

// A length is the length of a value: a number of bytes, or one of the constants
// below.
type length int

const (
	ofLEB     length = -1 - iota // a number of variable length
	ofText                       // up to a 0 byte
	ofBlock                      // preceded by its length, of variable size or of 1, 2 or 4 bytes
	ofBlock1                     //
	ofBlock2                     //
	ofBlock4                     //
	ofOther                      // preceded by its form
	ofUnknown                    // unknown form
)

// length returns the length of the values of a form.
func (s sizes) length(form uint64) length {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return length(s.address)
	case formRefAddr:
		if s.version == 2 {
			return length(s.address)
		}
		return length(s.offset)
	case formStrp, formLineStrp, formStrpSup, formSecOffset, formGNURefAlt, formGNUStrpAlt:
		return length(s.offset)
	case formSdata, formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx,
		formGNUAddrIndex, formGNUStrIndex:
		return ofLEB
	case formString:
		return ofText
	case formBlock, formExprloc:
		return ofBlock
	case formBlock1:
		return ofBlock1
	case formBlock2:
		return ofBlock2
	case formBlock4:
		return ofBlock4
	case formIndirect:
		return ofOther
	}
	return ofUnknown
}

var errForm = errors.New("debug information has a value of an unknown form")

// uleb reads a number of variable length from b, and its length. It panics at the end of b, which
// guard converts to an error.
func uleb(b []byte) (uint64, int) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		panic("a number has no end")
	}
	return v, n
}

// putULEB writes a number into all bytes of b.
func putULEB(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v)&0x7f | 0x80
		v >>= 7
	}
	b[len(b)-1] &= 0x7f
}

// otherForm replaces forms of split units and of dwz by forms that package debug/dwarf reads in the
// same way: for addresses and texts by number, and for references to the supplementary file, which
// is now in the same section.
func otherForm(form uint64) uint64 {
	switch form {
	case formGNUAddrIndex:
		return formAddrx
	case formGNUStrIndex:
		return formStrx
	case formGNURefAlt, formRefSup4, formRefSup8:
		return formRefAddr
	case formGNUStrpAlt, formStrpSup:
		return formStrp
	}
	return form
}

// reform applies otherForm to tables of abbreviations, in place.
func reform(table []byte) error { return eachForm(table, otherForm) }

// eachForm replaces each form in tables of abbreviations by fn of it, in place.
func eachForm(table []byte, fn func(form uint64) uint64) (err error) {
	defer guard(&err)
	for len(table) > 0 {
		code, n := uleb(table)
		table = table[n:]
		if code == 0 {
			continue // the end of a table, or padding
		}
		_, n = uleb(table) // tag
		table = table[n+1:]
		for {
			attr, n := uleb(table)
			table = table[n:]
			form, size := uleb(table)
			if other := fn(form); other != form {
				putULEB(table[:size], other)
			}
			table = table[size:]
			if form == formImplicitConst {
				_, n := uleb(table)
				table = table[n:]
			}
			if attr == 0 && form == 0 {
				break
			}
		}
	}
	return nil
}
