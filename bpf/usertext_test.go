package bpf

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/source/perf"
)

// openMode tells the calls of these tests from all others.
const openMode = 0x1b67

// userTexts are texts that a process can have, and the texts that a program reads of them.
var userTexts = map[string]string{
	"":                        "",
	"a":                       "a",
	"/no/such \"file\" 'x'\n": "/no/such \"file\" 'x'\n",
	"/\xc3\xa9\xff\x01/$(x)":  "/\xc3\xa9\xff\x01/$(x)",
	strings.Repeat("b", 7):    strings.Repeat("b", 7),
	strings.Repeat("c", 8):    strings.Repeat("c", 8),
	strings.Repeat("d", 254):  strings.Repeat("d", 254),
	strings.Repeat("e", 255):  strings.Repeat("e", 255),
	strings.Repeat("f", 256):  strings.Repeat("f", 252) + "...",
	strings.Repeat("g", 999):  strings.Repeat("g", 252) + "...",
}

// openThem asks the kernel to open each of userTexts once, and files at addresses
// where no text is. It returns what programs shall have read.
func openThem(t *testing.T) map[string]int {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mapped := func(size int) []byte {
		m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Munmap(m); err != nil {
				t.Error(err)
			}
		})
		return m
	}
	none := ^uintptr(0) // no descriptor
	open := func(addr uintptr) { unix.RawSyscall6(unix.SYS_OPENAT, none, addr, 0, openMode, 0, 0) }
	want := map[string]int{}
	memory := mapped(4096)
	at := uintptr(unsafe.Pointer(&memory[0]))
	for text, read := range userTexts {
		copy(memory, text+"\x00")
		open(at)
		want[read]++
	}
	// The end of a text at the end of memory.
	copy(memory[4093:], "hi\x00")
	open(at + 4093)
	want["hi"]++
	open(16)
	open(1 << 62)
	// A page that nobody has touched is not there; then the kernel has.
	untouched := mapped(4096)
	open(uintptr(unsafe.Pointer(&untouched[0])))
	open(uintptr(unsafe.Pointer(&untouched[0])))
	open(0)
	want[event.UserTextFault] += 3
	want[""] += 2
	return want
}

func sameTexts(t *testing.T, got, want map[string]int) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for s := range want {
		if got[s] != want[s] {
			t.Errorf("%.300q: got %d, want %d", s, got[s], want[s])
		}
	}
	for s := range got {
		if want[s] == 0 {
			t.Errorf("%.300q: got %d, want none", s, got[s])
		}
	}
}

// TestUserTextIsKey checks that texts are keys, and predicates work on them.
func TestUserTextIsKey(t *testing.T) {
	h, fs := live(t)
	call := schemaOf(t, fs, "syscalls", "sys_enter_openat")
	// Texts of calls are read again at their end, which a key cannot wait for; those of
	// other events are not.
	enter := &event.Schema{
		System: call.System, Name: "openat", ID: call.ID, Type: call.Type, Size: call.Size,
		Fields: call.Fields,
	}
	if err := Can(node(t, call, "user_string(filename)"), &Event{Schema: call}, h); err == nil {
		t.Error("a text of the begin of a call is a key, want a refusal")
	}
	key := node(t, enter, "user_string(filename)")
	all, few := counted(key), counted(key)
	ours := node(t, enter, fmt.Sprintf("mode == %d", openMode))
	some := node(t, enter,
		`user_string(filename) ~ "/*" || user_string(filename) == "<fault>" || user_string(filename) ~ "*h?"`)
	r := start(t, h, partOf([]*Event{{Schema: enter, Label: "enter", Filter: ours}}, &Edge{Group: all}, &Edge{
		Preds: predsOf(some), Group: few,
	}))
	want := openThem(t)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	wantFew := map[string]int{}
	for s, n := range want {
		if strings.HasPrefix(s, "/") || s == event.UserTextFault || s == "hi" {
			wantFew[s] = n
		}
	}
	got := map[*agg.Spec]map[string]int{all: {}, few: {}}
	groups := map[*agg.Spec]*agg.Group{all: agg.New(*all), few: agg.New(*few)}
	if err := r.Rows(nil, func(of *agg.Spec, p *agg.Partial) { groups[of].AddPartial(p) }); err != nil {
		t.Fatal(err)
	}
	for of, g := range groups {
		for _, row := range g.Rows() {
			got[of][row[0].String()] += int(row[1].Int())
		}
	}
	sameTexts(t, got[all], want)
	sameTexts(t, got[few], wantFew)
}

// TestUserTextIsSent checks that texts are sent with fields, and behind whole records; several of
// one event.
func TestUserTextIsSent(t *testing.T) {
	h, fs := live(t)
	enter, raw := schemaOf(t, fs, "syscalls", "sys_enter_openat"),
		schemaOf(t, fs, "raw_syscalls", "sys_enter")
	ours, called := node(t, enter, fmt.Sprintf("mode == %d", openMode)),
		node(t, raw, fmt.Sprintf("id == %d && args[3] == %d", unix.SYS_OPENAT, openMode))
	addr := []expr.Node{node(t, enter, "filename")}
	several := []expr.Node{
		node(t, raw, "args[2] + 16"), node(t, raw, "args[1]"), node(t, raw, "args[2]"),
		node(t, raw, fmt.Sprintf("id == %d ? args[1] : 0", unix.SYS_OPENAT)),
	}
	events := []struct {
		label, text string
		record      *Record
		e           *Event
	}{
		{"fields", "user_string(filename)", &Record{Fields: fieldsOf(t, enter, "dfd", "filename", "nr_running"), Texts: addr}, &Event{Schema: enter, Filter: ours}},
		{"whole", "user_string(filename)", &Record{Whole: true, Texts: addr}, &Event{Schema: enter, Filter: ours}},
		{"several", fmt.Sprintf("user_string(id == %d ? args[1] : 0)", unix.SYS_OPENAT), &Record{Whole: true, Fields: fieldsOf(t, raw, "nr_running"), Texts: several}, &Event{Schema: raw, Filter: called}},
	}
	var all []*Event
	var records []*Record
	programs := map[string]*expr.Program{}
	for _, x := range events {
		x.e.Label = x.label
		all, records = append(all, x.e), append(records, x.record)
		programs[x.label] = expr.Build(node(t, x.e.Schema, x.text))
	}
	src, _ := sending(t, h, recordsOf(all, records), perf.Config{Pages: 64})
	want := openThem(t)
	got := map[string]map[string]int{"fields": {}, "whole": {}, "several": {}}
	var frame expr.Frame
	bad := expr.Build(node(t, raw, "user_string(args[2] + 16)"))
	stopped(t, src, func(e *event.Event) {
		label := e.Stream.Label
		var kept event.Event
		e.Keep(&kept)
		for _, e := range []*event.Event{e, &kept} {
			frame.Reset(e)
			text := string(programs[label].Str(&frame))
			if frame.Err != nil {
				t.Errorf("%s: %v", label, frame.Err)
			}
			got[label][text]++
			if label == "several" {
				frame.Reset(e)
				if text := string(bad.Str(&frame)); text != event.UserTextFault || frame.Err != nil {
					t.Errorf("got %q %v at a wrong address, want a fault", text, frame.Err)
				}
			}
		}
		// Behind it is a mark for texts that the kernel reads for perf alone.
		want := e.Stream.Schema.Size
		if f, has := e.Stream.Schema.Field("__filename_val"); has && label == "whole" {
			want = (want+7)&^7 + 8
			frame.Reset(e)
			if text := string(expr.Build(expr.NewField(f, expr.Self)).Str(&frame)); text != "?" {
				t.Errorf("got %q as a text that programs do not see, want ?", text)
			}
		}
		if label != "fields" && len(e.Raw) != want {
			t.Errorf("%s: got %d bytes, want %d", label, len(e.Raw), want)
		}
	})
	// The page that nobody had touched is there when the call ends.
	want[event.UserTextFault]--
	want[""]++
	for s := range want {
		want[s] *= 2 // of the event, and of its kept copy
	}
	for label, texts := range got {
		t.Run(label, func(t *testing.T) { sameTexts(t, texts, want) })
	}
}

// A text that was not sent, and has nothing instead, is an error.
func TestUserTextIsMissing(t *testing.T) {
	_, fs := live(t)
	enter := schemaOf(t, fs, "syscalls", "sys_enter_openat")
	raw := make([]byte, enter.Size)
	f, _ := enter.Field("filename")
	raw[f.Offset] = 1
	e := &event.Event{Kind: event.Sample, Raw: raw, Stream: &event.Stream{Schema: enter}}
	var frame expr.Frame
	frame.Reset(e)
	if p := expr.Build(node(t, enter, "user_string(filename)")); len(p.Str(&frame)) != 0 ||
		frame.Err != expr.ErrMissing {
		t.Errorf("got %v, want %v", frame.Err, expr.ErrMissing)
	}
	frame.Reset(e)
	if got := string(expr.Build(node(t, enter, `user_string(filename, "-")`)).Str(&frame)); got != "-" ||
		frame.Err != nil {
		t.Errorf("got %q %v, want what it is instead", got, frame.Err)
	}
}
