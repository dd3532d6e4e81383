package join

// A Tree has a node for each path of nested calls that was seen: a function
// with two callers has two nodes. Nodes never move. A function that calls
// itself, directly or through others, stays at the node where it was entered
// first, which is marked; so the depth of a tree is at most the number of
// functions.
type Tree struct {
	// Names are the function names, by function number.
	Names []string

	nodes []treeNode // 0 is the root
}

type treeNode struct {
	parent    int32
	stage     int32
	recursive bool
	children  []int32 // by function; 0 is none
	order     []int32 // children in the order of their first call
}

// MaxNodes bounds a tree; calls that would need more stay with their caller.
const MaxNodes = 1 << 16

// NewTree returns an empty tree over some functions.
func NewTree(names []string) *Tree {
	return &Tree{
		Names: names, nodes: []treeNode{{parent: -1, stage: -1, children: make([]int32, len(names))}},
	}
}

// child returns the node of a call of stage under parent.
//
// Fast path: this runs for every call.
func (t *Tree) child(parent, stage int32) int32 {
	if c := t.nodes[parent].children[stage]; c != 0 {
		return c
	}
	return t.add(parent, stage)
}

// add makes the node, or finds the one where the recursion began.
//
// Slow path: once for each path.
func (t *Tree) add(parent, stage int32) int32 {
	for n := parent; n > 0; n = t.nodes[n].parent {
		if t.nodes[n].stage == stage {
			t.nodes[n].recursive = true
			t.nodes[parent].children[stage] = n
			return n
		}
	}
	if len(t.nodes) >= MaxNodes {
		return parent
	}
	c := int32(len(t.nodes))
	t.nodes = append(t.nodes, treeNode{parent: parent, stage: stage, children: make([]int32, len(t.Names))})
	t.nodes[parent].children[stage] = c
	t.nodes[parent].order = append(t.nodes[parent].order, c)
	return c
}

// A Call is a node of a tree that programs of the kernel make.
type Call struct {
	Parent, Stage   int32
	Made, Recursive bool
}

// Adopt replaces the tree by the programs' calls, keeping their numbers. The first
// call is the root. Siblings are in the order of their numbers.
func (t *Tree) Adopt(calls []Call) {
	*t = *NewTree(t.Names)
	for _, c := range calls[1:] {
		n := int32(len(t.nodes))
		t.nodes = append(t.nodes, treeNode{
			parent: c.Parent, stage: c.Stage, recursive: c.Recursive, children: make([]int32, len(t.Names)),
		})
		if !c.Made || c.Parent >= n {
			continue // the number is taken, but the program has not written the call yet
		}
		t.nodes[c.Parent].children[c.Stage] = n
		t.nodes[c.Parent].order = append(t.nodes[c.Parent].order, n)
	}
}

// Walk calls fn for every node below the root, callers before callees, siblings
// in the order of their first call. Depth is 0 for outermost functions.
func (t *Tree) Walk(fn func(node int32, depth int)) { t.walk(0, 0, fn) }

func (t *Tree) walk(n int32, depth int, fn func(int32, int)) {
	for _, c := range t.nodes[n].order {
		fn(c, depth)
		t.walk(c, depth+1, fn)
	}
}

// Name is the function of a node.
func (t *Tree) Name(node int32) string {
	if node <= 0 || int(node) >= len(t.nodes) {
		return ""
	}
	return t.Names[t.nodes[node].stage]
}

// Recursive reports that the function was called again before it returned.
func (t *Tree) Recursive(node int32) bool { return t.nodes[node].recursive }

// Path is the names from the outermost caller to the node.
func (t *Tree) Path(node int32) []string {
	if node <= 0 {
		return nil
	}
	return append(t.Path(t.nodes[node].parent), t.Name(node))
}

// Parent is the caller of a node; 0 is the root, which is no function.
func (t *Tree) Parent(node int32) int32 { return t.nodes[node].parent }
