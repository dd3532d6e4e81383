package c

// A Node is one node of a syntax tree.
type Node interface {
	// Pos and End are byte offsets into the source: [Pos, End).
	Pos() int
	End() int
	// String prints the node with all parentheses.
	String() string
}

// Span is the position of a node in the source; every node embeds one.
type Span struct{ Start, Stop int }

func (s Span) Pos() int { return s.Start }
func (s Span) End() int { return s.Stop }

type (
	// An Ident is a name.
	Ident struct {
		Span
		Name string
	}

	// A Number is an integer or character literal; Type is the type that C
	// gives it.
	Number struct {
		Span
		Value uint64
		Type  *Type
		Char  bool
	}

	// A String is a string literal, escapes resolved, neighbours joined.
	String struct {
		Span
		Value string
	}

	// Unary is a prefix operator: + - ! ~ * & ++ --.
	Unary struct {
		Span
		Op string
		X  Node
	}

	// Postfix is ++ or -- after its operand.
	Postfix struct {
		Span
		Op string
		X  Node
	}

	// Binary is an infix operator, including "," and the glob match "~".
	Binary struct {
		Span
		Op    string
		OpPos int
		X, Y  Node
	}

	// Assign is = or, with Op set to the operator, a compound assignment.
	Assign struct {
		Span
		Op    string
		OpPos int
		X, Y  Node
	}

	// Cond is Test ? Then : Else. Then is nil in GNU's a ?: b.
	Cond struct {
		Span
		Test, Then, Else Node
	}

	// Call is a function call.
	Call struct {
		Span
		Fun  Node
		Args []Node
	}

	// Index is X[I].
	Index struct {
		Span
		X, I Node
	}

	// Member is X.Name, or X->Name if Arrow.
	Member struct {
		Span
		X     Node
		Name  string
		Arrow bool
	}

	// Cast is (Type)X.
	Cast struct {
		Span
		Type *Type
		X    Node
	}

	// Sizeof is sizeof(Type) or, with Type nil, sizeof X.
	Sizeof struct {
		Span
		Type *Type
		X    Node
	}

	// Brace is { a, b }: an argument of a helper function in a print fmt, or an
	// initializer.
	Brace struct {
		Span
		List []Node
	}

	// StmtExpr is ({ ...; value; }). The value is the value of the last
	// expression of List.
	StmtExpr struct {
		Span
		List []Node // each is a Decl or an expression
	}

	// Decl declares one variable inside a StmtExpr. Type is nil for
	// __auto_type; Init is nil if there is none.
	Decl struct {
		Span
		Type *Type
		Name string
		Init Node
	}
)
