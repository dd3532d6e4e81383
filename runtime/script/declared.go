package script

import (
	"ppscript/runtime/script/option"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// DeclaredOptions reads the declared options from a file's text without running
// it, for completion. It finds names, kinds, letters and choices; computed
// options are left out.
func DeclaredOptions(name, text string) *option.Set {
	h := NewHost(HostOptions{})
	tree, err := h.parse(name, text, dialect())
	if err != nil {
		return nil
	}
	var set *option.Set
	for _, st := range tree.Stmts {
		as, ok := st.(*syntax.AssignStmt)
		if !ok {
			continue
		}
		if call, ok := Unparen(as.RHS).(*syntax.CallExpr); ok && calls(call, "options") {
			found := &option.Set{}
			for _, a := range call.Args {
				if kw, ok := a.(*syntax.BinaryExpr); ok && kw.Op == syntax.EQ {
					if o, ok := declaredOption(kw); ok {
						found.Options = append(found.Options, o)
					}
				}
			}
			if id, ok := as.LHS.(*syntax.Ident); ok && (set == nil || id.Name == "opts") {
				set = found
			}
		}
	}
	return set
}

func calls(call *syntax.CallExpr, name string) bool {
	id, ok := call.Fn.(*syntax.Ident)
	return ok && id.Name == name
}

// declaredOption reads one declaration, name = opt.kind(...).
func declaredOption(kw *syntax.BinaryExpr) (o option.Option, ok bool) {
	name, isName := kw.X.(*syntax.Ident)
	call, isCall := Unparen(kw.Y).(*syntax.CallExpr)
	if !isName || !isCall {
		return o, false
	}
	dot, isDot := call.Fn.(*syntax.DotExpr)
	if space, isIdent := dotted(dot, isDot); !isIdent || space != "opt" || dot.Name.Name == "instead" {
		return o, false
	}
	o = option.Option{Name: name.Name, Type: option.Type(dot.Name.Name), Default: starlark.None}
	switch dot.Name.Name {
	case "list", "args", "arg":
		o.Type = option.String
		o.List, o.Positional = dot.Name.Name != "arg", dot.Name.Name != "list"
	}
	for i, a := range call.Args {
		arg, isNamed := a.(*syntax.BinaryExpr)
		if !isNamed || arg.Op != syntax.EQ {
			if i == 0 && o.Type == option.Choice {
				o.Choices = texts(a)
			}
			continue
		}
		switch key, _ := arg.X.(*syntax.Ident); key.Name {
		case "short":
			o.Short = text(arg.Y)
		case "help":
			o.Help = text(arg.Y)
		case "metavar":
			o.Metavar = text(arg.Y)
		case "choices":
			o.Choices = texts(arg.Y)
		}
	}
	return o, true
}

func dotted(dot *syntax.DotExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	id, ok := dot.X.(*syntax.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

// text is the value of a string literal; "" for other expressions.
func text(e syntax.Expr) string {
	lit, ok := Unparen(e).(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return ""
	}
	s, _ := lit.Value.(string)
	return s
}

func texts(e syntax.Expr) []string {
	var list []string
	switch e := Unparen(e).(type) {
	case *syntax.ListExpr:
		for _, x := range e.List {
			list = append(list, text(x))
		}
	case *syntax.TupleExpr:
		for _, x := range e.List {
			list = append(list, text(x))
		}
	}
	return list
}
