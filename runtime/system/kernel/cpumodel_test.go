package kernel

import "testing"

func TestParseCPUModel(t *testing.T) {
	f := func(text string, want CPUModel) {
		t.Helper()
		if got := parseCPUModel(text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	f(
		"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: x\n\nprocessor\t: 1\nmodel\t: 7\n",
		CPUModel{"GenuineIntel", 6, 143})
	f("processor\t: 0\nBogoMIPS\t: 50.00\n\n", CPUModel{})
	f("", CPUModel{})
}
