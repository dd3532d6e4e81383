package main

import (
	"encoding/binary"
	"fmt"
)

// serialPort is the port to which the guest writes; there is no device.
const serialPort = 0x3f8

// clockPage is the address at which the guest gets its kvmclock.
const clockPage = 0x800

// guestCode is the program of every vCPU, real mode, loaded at address 0. It
// never ends: the monitor stops after the wanted number of port writes.
func guestCode(j job) []byte {
	var code []byte
	loop := len(code)
	if j.spin > 0 {
		code = binary.LittleEndian.AppendUint32(append(code, 0x66, 0xb9), uint32(j.spin)) // mov ecx, spin
		code = append(code, 0x67, 0xe2, 0xfd)                                             // loop, to itself
	}
	if j.clock {
		code = append(code,
			0x66, 0xb9, 0x01, 0x4d, 0x56, 0x4b, // mov ecx, MSR_KVM_SYSTEM_TIME_NEW
			0x66, 0xb8, clockPage&0xff|1, clockPage>>8, 0, 0, // mov eax, address | 1
			0x66, 0x31, 0xd2, // xor edx, edx
			0x0f, 0x30, // wrmsr
		)
	}
	code = append(code, 0xba, serialPort&0xff, serialPort>>8, // mov dx, 0x3f8
		0xee) // out dx, al
	if j.mix {
		code = append(code,
			0xa2, 0x00, 0xf0, // mov [0xf000], al: above the only page
			0xf4, // hlt
		)
	}
	code = append(code, 0x0f, 0xa2) // cpuid
	back := loop - (len(code) + 2)
	return append(code, 0xeb, byte(back)) // jmp loop
}

// counts has the exits that reach the monitor.
type counts struct{ io, mmio, hlt, other int }

func (c counts) String() string {
	s := fmt.Sprintf("io=%d", c.io)
	for _, more := range []struct {
		name string
		n    int
	}{{"mmio", c.mmio}, {"hlt", c.hlt}, {"other", c.other}} {
		if more.n > 0 {
			s += fmt.Sprintf(" %s=%d", more.name, more.n)
		}
	}
	return s
}
