//go:build ignore

// The routine that adds a path of calls to the tree; callstack.go tells how programs call it. It gets its maps
// as arguments, since each join has maps of its own. Numbers in capitals are constants of Go.

#include "kernel.h"

// A node of the tree.
struct node {
	u64 parent, function, state;
};

_Static_assert(sizeof(struct node) == NODE_SIZE && offset(struct node, parent) == NODE_PARENT &&
	offset(struct node, function) == NODE_STAGE && offset(struct node, state) == NODE_STATE, "load/calls.go");

// new_child returns the child of a node for a function, which the tree does not have under its path: the node,
// and the function in the low 32 bits. A function that is among its callers stays where it was entered first.
// If the tree is full, the child is the node itself.
routine u64 new_child(const void *tree, const void *nodes, u64 *count, const u64 *path, u64 functions)
{
	u64 node = *path >> 32, at = node, *known;
	u32 function = *path, key;
	struct node *n;
	for (u64 turn = 0; at && turn <= functions; turn++) {
		key = at;
		n = map_lookup(nodes, &key);
		if (!n)
			break;
		if (n->function == function) {
			n->state = NODE_MADE | NODE_RECURSIVE;
			goto found;
		}
		at = n->parent;
	}
	at = __sync_add_and_fetch(count, 1);
	key = at;
	if (at >= MAX_NODES || !(n = map_lookup(nodes, &key)))
		return node;
	n->parent = node;
	n->function = function;
	n->state = NODE_MADE;
found:
	if (!map_update(tree, path, &at, UPDATE_NOEXIST))
		return at;
	known = map_lookup(tree, path); // another CPU was faster
	return known ? *known : at;
}
