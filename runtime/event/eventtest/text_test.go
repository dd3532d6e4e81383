package eventtest

import (
	"strings"
	"testing"

	"ppscript/runtime/event"
)

func TestParseText(t *testing.T) {
	c, err := ParseText(`
# two events
sched:switch pid:s32 took:ns comm:str addr:u64
irq:raise vec:u8
1.5us 2 10 switch pid=-3 took=2ms comm=bash addr=0xffffffffffffffff
2us 0 11 raise vec=255
3us 1 lost 7
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Events) != 3 || len(c.Schemas) != 2 {
		t.Fatalf("got %d events, %d schemas", len(c.Events), len(c.Schemas))
	}
	e := &c.Events[0]
	var got []string
	for i := range e.Stream.Schema.Fields {
		got = append(got, e.Stream.Schema.Fields[i].Value(e).String())
	}
	if s := strings.Join(got, " "); s != "-3 2000000 bash 18446744073709551615" || e.Time != 1500 ||
		e.CPU != 2 || e.TID != 10 {
		t.Errorf("got %s at %d on %d of %d", s, e.Time, e.CPU, e.TID)
	}
	if l := &c.Events[2]; l.Kind != event.Lost || l.Count != 7 || l.Ring != 1 {
		t.Errorf("got %+v, want 7 lost in ring 1", l)
	}
	f := func(text, want string) {
		t.Helper()
		if _, err := ParseText(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	f("a:b x", "no type")
	f("a:b x:s7", "want s8 to s64")
	f("a:b x:s8\n1us 0 1 x=200", "line 2: x: 200 does not fit")
	f("a:b x:s8\n1us 0 1 y=2", "want field=value")
	f("a:b x:s8\n1us 0", "want time, cpu, tid")
	f("a:b\na:c\n1us 0 1", "name one")
	f("a:b\n1us 0 1 d", "not declared")
	f("a:b\nxx 0 1", "xx")
}

func FuzzParseText(f *testing.F) {
	f.Add("a:b x:s8 y:str z:ns\n1us 0 1 x=2 y=ab z=3us\n2us 0 lost 4")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseText(text)
		if err != nil {
			return
		}
		for i := range c.Events {
			if e := &c.Events[i]; e.Kind == event.Sample && len(e.Raw) != e.Stream.Schema.Size {
				t.Errorf("event %d: got %d bytes, want %d", i, len(e.Raw), e.Stream.Schema.Size)
			}
		}
	})
}
