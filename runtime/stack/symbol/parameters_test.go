package symbol

import (
	"debug/dwarf"
	"testing"
)

// TestTypeText checks that types are written as in C, also those that are damaged.
func TestTypeText(t *testing.T) {
	common := dwarf.CommonType{Name: "char", ByteSize: 1}
	char := &dwarf.CharType{BasicType: dwarf.BasicType{CommonType: common}}
	point := &dwarf.StructType{Kind: "struct", StructName: "point"}
	circle := &dwarf.TypedefType{CommonType: dwarf.CommonType{Name: "again"}}
	circle.Type = &dwarf.QualType{Qual: "const", Type: circle}
	for _, x := range []struct {
		t     dwarf.Type
		want  string
		plain bool
	}{
		{&dwarf.PtrType{Type: &dwarf.QualType{Qual: "const", Type: char}}, "const char *", true},
		{&dwarf.PtrType{Type: &dwarf.PtrType{Type: point}}, "struct point **", true},
		{&dwarf.EnumType{EnumName: "color"}, "enum color", true},
		{circle, "again", false},
		{nil, "?", true},
	} {
		if got := typeText(x.t, 0); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
		if x.t != nil && (plainType(x.t) != nil) != x.plain {
			t.Errorf("%s: got %v", x.want, plainType(x.t))
		}
	}
}
