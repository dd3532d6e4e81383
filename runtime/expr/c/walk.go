package c

// Walk calls visit for n and every node below it, parents first.
func Walk(n Node, visit func(Node)) {
	if n == nil {
		return
	}
	visit(n)
	switch n := n.(type) {
	case *Unary:
		Walk(n.X, visit)
	case *Postfix:
		Walk(n.X, visit)
	case *Binary:
		Walk(n.X, visit)
		Walk(n.Y, visit)
	case *Assign:
		Walk(n.X, visit)
		Walk(n.Y, visit)
	case *Cond:
		Walk(n.Test, visit)
		Walk(n.Then, visit)
		Walk(n.Else, visit)
	case *Call:
		Walk(n.Fun, visit)
		walkAll(n.Args, visit)
	case *Index:
		Walk(n.X, visit)
		Walk(n.I, visit)
	case *Member:
		Walk(n.X, visit)
	case *Cast:
		Walk(n.X, visit)
	case *Sizeof:
		Walk(n.X, visit)
	case *Brace:
		walkAll(n.List, visit)
	case *StmtExpr:
		walkAll(n.List, visit)
	case *Decl:
		Walk(n.Init, visit)
	}
}

func walkAll(list []Node, visit func(Node)) {
	for _, n := range list {
		Walk(n, visit)
	}
}
