package tracefs

import "testing"

func TestArraysAndDumps(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	data := []byte{1, 2, 0xab, 0xcd, 5, 6, 7, 8}
	f(appendHexString(nil, data, 3, false), "01 02 ab")
	f(appendHexString(nil, data, 3, true), "0102ab")
	f(appendHexString(nil, data, 99, true), "0102abcd05060708")
	f(appendHexString(nil, data, -1, true), "")
	f(appendArray(nil, data, 2, 1), "{0x1,0x2}")
	f(appendArray(nil, data, 2, 2), "{0x201,0xcdab}")
	f(appendArray(nil, data, 1, 8), "{0x8070605cdab0201}")
	f(appendArray(nil, data, 0, 4), "{}")
	f(appendArray(nil, data[:1], 1, 3), "{BAD SIZE:3 0x1}")
	f(appendHexDump(nil, "p ", dumpOffset, 16, 4, data, false), "\np 00000000: cdab0201 08070605\n")
	f(appendHexDump(nil, "", 0, 16, 1, []byte("Hi\x00!"), true),
		"\n48 69 00 21                                      Hi.!\n")
}
