// The tree of stacks that a flame graph shows. A node is {name, about, kids, self, total, depth, parent};
// before is its total in the interval that it is compared with.

function treeOf(d, callers) {
  const root = node("all", null, "");
  const weigh = d.value ? (s) => s.value : (s) => s.count;
  for (const s of d.stacks) {
    const w = weigh(s);
    if (!(w > 0)) continue;
    const key = d.keys.length ? cellsOf(d.keys, s.key).map((c) => c.text).join(" ") : "";
    let names = s.stack.map((i) => d.frames[i]);
    if (s.stack_cut) names = names.concat({ name: "[cut]" });
    if (!callers) names = names.slice().reverse();
    let at = root;
    at.total += w;
    if (key && !callers) at = down(at, { name: key, key: true }, w);
    for (const f of names) at = down(at, f, w);
    if (key && callers) at = down(at, { name: key, key: true }, w);
    at.self += w;
  }
  return root;
}
function node(name, parent, about) {
  return { name, about, parent, kids: new Map(), self: 0, total: 0, before: 0, depth: parent ? parent.depth + 1 : 0, kind: "" };
}
function down(at, f, w) {
  let kid = at.kids.get(f.name);
  if (!kid) {
    kid = node(f.name, at, f.dso || "");
    kid.kind = f.key ? "key" : f.kernel ? "kernel" : f.inline ? "inline" : f.dso ? "user" : "unknown";
    if (f.file) kid.about += "\n" + f.file + ":" + f.line;
    at.kids.set(f.name, kid);
  }
  kid.total += w;
  return kid;
}
// compare adds the totals of an earlier tree. Frames that only that has come too, without width.
function compare(now, before) {
  now.before = before.total;
  for (const [name, b] of before.kids) {
    let kid = now.kids.get(name);
    if (!kid) {
      kid = node(name, now, b.about);
      kid.kind = b.kind;
      now.kids.set(name, kid);
    }
    compare(kid, b);
  }
}
function ordered(n) {
  if (!n.list) n.list = [...n.kids.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return n.list;
}
// pathOf are the names from the root to a node.
function pathOf(n) {
  const path = [];
  for (; n && n.parent; n = n.parent) path.unshift(n.name);
  return path;
}
function follow(root, path) {
  let at = root;
  for (const name of path) {
    const next = at.kids.get(name);
    if (!next) return null;
    at = next;
  }
  return at;
}
