package expr_test

import (
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
)

func TestUses(t *testing.T) {
	pid := &event.Field{Name: "pid", Kind: event.Int, Size: 4, Signed: true}
	stack := &event.Field{
		Name: "_stack", Kind: event.Int, Size: 8, Place: event.InMember, Member: event.MemberCallchain,
	}
	own, ofStart := NewField(pid, Self), NewField(pid, Start)
	asks := must(NewNative(Native{Name: "traced", T: TBool, Traits: AsksThreads,
		Kernel: InTarget{}, Args: []Node{ofStart},
		Int: func(*Frame, []Arg) int64 { return 0 }}))
	sum := must(PyBinary("+", own, must(PyBinary("+", own, NewField(stack, Self)))))
	n := must(NewTuple(asks, sum))

	u := Build(n).Uses
	if len(u.Fields) != 3 || u.Fields[0].Part != Start || u.Fields[1].F != pid || u.Fields[2].F != stack {
		t.Errorf("got fields %v, want pid of the start, pid, _stack", u.Fields)
	}
	if !u.Any(AsksThreads) || u.Any(ReadsProcess) {
		t.Errorf("got natives %v, want one that asks for threads", u.Natives)
	}
	if !u.Member(event.MemberCallchain) || u.Member(event.MemberTime) || u.Memory || u.State {
		t.Errorf("got %+v, want the call chain and nothing of memory or state", u)
	}
	if u := UsesOf(must(PyBinary("+", NewInt(1), must(NewLoadState(0, TInt))))); !u.State ||
		len(u.Fields) > 0 {
		t.Errorf("got %+v, want the state only", u)
	}
}
