// Flame graphs: zoom by click, search, who calls (turned round), differences to an earlier interval.

const ROW = 19;

class FlameView {
  constructor(id, title) {
    this.panel = panel(id, title);
    this.zoom = [];
    this.find = "";
    this.callers = false;
    this.base = 0; // number of the interval to compare with; 0 for none
    this.told = el("span", { class: "note" });
    this.turn = el("button", { "aria-pressed": "false", title: "Begin with the innermost functions", onclick: () => { this.callers = !this.callers; this.zoom = []; this.again(); } }, "Callers");
    this.reset = el("button", { onclick: () => { this.zoom = []; this.draw(); }, disabled: "" }, "Reset zoom");
    this.with = el("select", { "aria-label": "Compare with an earlier interval", onchange: (e) => { this.base = +e.target.value; this.again(); } });
    this.search = search("Search functions", (text) => { this.find = text; this.draw(); });
    this.panel.head.append(this.told, this.with, this.turn, this.reset, this.search);
    this.element = el("div", { class: "flame", role: "tree", "aria-label": title });
    this.panel.put(this.element);
    new ResizeObserver(() => { if (this.root && this.element.clientWidth !== this.width) this.draw(); }).observe(this.element);
    this.element.addEventListener("click", (e) => this.click(e.target));
    this.element.addEventListener("keydown", (e) => this.key(e));
    this.element.addEventListener("mousemove", (e) => e.target.node ? tip.show(this.about(e.target.node), e) : tip.hide());
    this.element.addEventListener("mouseleave", tip.hide);
    this.element.addEventListener("focusin", (e) => {
      if (!e.target.node || !e.target.matches(":focus-visible")) return;
      const box = e.target.getBoundingClientRect();
      tip.show(this.about(e.target.node), { x: box.left, y: box.bottom - 10 });
    });
    this.element.addEventListener("focusout", tip.hide);
  }
  update(d, context) {
    this.d = d;
    this.context = context;
    this.again();
  }
  again() {
    const d = this.d, others = this.context.history.filter((h) => h.number !== this.context.number);
    if (!others.some((h) => h.number === this.base)) this.base = 0;
    this.with.replaceChildren(el("option", { value: 0 }, "Compare with\u2026"), ...others.slice().reverse().map((h) =>
      el("option", { value: h.number, selected: h.number === this.base ? "" : null }, `interval ${h.number} ${clock(h.data, true)}`)));
    this.with.hidden = !others.length;
    this.turn.setAttribute("aria-pressed", this.callers);
    this.root = treeOf(d, this.callers);
    const base = others.find((h) => h.number === this.base);
    this.diff = !!base;
    if (base) compare(this.root, treeOf(base.data, this.callers));
    this.draw();
    const foot = [];
    if (this.diff) foot.push("red grew, blue shrank since interval " + this.base + ", as shares of all");
    if (d.cut) foot.push(`${count(d.cut)} samples lack outer frames`);
    foot.push(footText(d));
    this.panel.foot.textContent = foot.filter((t) => t).join("; ");
  }
  unit(n) { return this.d.value ? amount(n, this.d.unit) : `${count(n)} sample${n === 1 ? "" : "s"}`; }
  about(n) {
    const lines = [n.name, `${this.unit(n.total)}, ${percent(n.total, this.root.total)} of all`];
    if (n.self) lines.push(`${this.unit(n.self)} in the function itself`);
    if (this.diff) {
      const d = this.change(n);
      lines.push(`before ${percent(n.before, this.root.before)} (${d < 0 ? "" : "+"}${(100 * d).toFixed(1)})`);
    }
    if (n.about) lines.push(n.about.trim());
    return lines.join("\n");
  }
  change(n) { return n.total / (this.root.total || 1) - n.before / (this.root.before || 1); }
  fill(n) {
    if (this.diff) {
      const d = this.change(n), most = Math.max(n.total / (this.root.total || 1), n.before / (this.root.before || 1));
      const part = most ? Math.abs(d) / most : 0;
      return `hsl(${d >= 0 ? css("--grow") : css("--shrink")}, ${Math.round(85 * part)}%, ${88 - Math.round(26 * part)}%)`;
    }
    const v = hueOf(n.name);
    const [hue, range, full] = { kernel: [18, 24, 82], inline: [260, 30, 55], user: [40, 22, 85], key: [210, 20, 50], unknown: [90, 30, 40] }[n.kind] || [215, 10, 30];
    return `hsl(${hue + v % range}, ${full}%, ${66 + v % 9}%)`;
  }
  draw() {
    const width = this.width = this.element.clientWidth || 900, zoom = follow(this.root, this.zoom);
    if (!zoom) { this.zoom.pop(); return this.draw(); }
    const span = zoom.total || 1, match = matcher(this.find), out = [];
    let deepest = 0, hits = 0, functions = new Set();
    const put = (n, x, w, outer) => {
      deepest = Math.max(deepest, n.depth);
      const hit = match && n.parent && match(n.name);
      const text = w > 26 ? n.name : "";
      const e = el("div", { class: "frame" + (outer ? " outer" : "") + (hit ? " hit" : "") + (w < 12 ? " thin" : ""), tabindex: n === zoom ? 0 : -1, role: "treeitem", "aria-label": `${n.name}, ${percent(n.total, this.root.total)}` }, text);
      e.style.left = x.toFixed(2) + "px";
      e.style.width = Math.max(w - (w > 3 ? 1 : 0), .5).toFixed(2) + "px";
      e.style.top = n.depth * ROW + "px";
      e.style.background = this.fill(n);
      e.node = n;
      n.drawn = e;
      out.push(e);
    };
    const line = [];
    for (let n = zoom.parent; n; n = n.parent) line.unshift(n);
    for (const n of line) put(n, 0, width, true);
    const visit = (n, x, inside) => {
      const w = n.total / span * width;
      const hit = match && n.parent && match(n.name);
      if (hit) functions.add(n.name);
      if (hit && !inside) hits += n.total;
      if (w >= .5) put(n, x, w, false);
      let at = x;
      for (const kid of ordered(n)) { visit(kid, at, inside || hit); at += kid.total / span * width; }
    };
    visit(zoom, 0, false);
    const had = this.element.contains(document.activeElement) && document.activeElement.node;
    this.element.replaceChildren(...out);
    this.element.style.height = (deepest + 1) * ROW + 2 + "px";
    this.reset.disabled = !this.zoom.length;
    this.told.textContent = match ? `${functions.size} function${functions.size === 1 ? "" : "s"}: ${percent(hits, zoom.total)}` : this.unit(this.root.total);
    if (had) {
      const again = follow(this.root, pathOf(had));
      (again && again.drawn && again.drawn.isConnected ? again.drawn : zoom.drawn).focus({ preventScroll: true });
    }
  }
  click(e) {
    if (!e.node) return;
    this.zoom = pathOf(e.node);
    tip.hide();
    this.draw();
  }
  key(e) {
    const n = e.target.node;
    if (!n) return;
    const drawn = (k) => k && k.drawn && k.drawn.isConnected;
    const kids = ordered(n).filter(drawn), around = n.parent ? ordered(n.parent).filter(drawn) : [n];
    const to = {
      ArrowUp: n.parent, ArrowDown: kids.sort((a, b) => b.total - a.total)[0],
      ArrowLeft: around[around.indexOf(n) - 1], ArrowRight: around[around.indexOf(n) + 1],
    }[e.key];
    if (e.key === "Enter") this.click(e.target);
    else if (e.key === "Escape" && this.zoom.length) { this.zoom = []; this.draw(); }
    else if (drawn(to)) to.drawn.focus();
    else if (!e.key.startsWith("Arrow")) return;
    e.preventDefault();
    e.stopPropagation();
  }
}
