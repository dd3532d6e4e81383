// Slow pairs: a list, and of the chosen one what happened around it, by thread or CPU, on an axis of time.

// Hues of events: neighbours are told apart.
const HUES = [215, 25, 145, 330, 50, 275, 180, 0, 95, 240];
const LANE = 26, MOST_LINES = 400;

class PairsView {
  constructor(id, title) {
    this.panel = panel(id, title);
    this.told = el("span", { class: "note" });
    this.list = new Grid({ pick: (d) => this.choose(d), sort: { name: "delay", down: true } });
    this.list.chosen = (d) => d === this.pair;
    this.list.element.style.maxHeight = "260px";
    this.panel.head.append(this.told, this.list.search);
    this.lanes = new Lanes();
    this.panel.put(this.list.element, this.lanes.element);
    this.pair = null;
  }
  update(pairs, leftOut) {
    const columns = [{ name: "start", title: "start", unit: "s", num: true }, { name: "delay", title: "delay", num: true }, { name: "pair", title: "pair", key: true },
      { name: "comm", title: "comm", key: true }, { name: "tid", title: "tid", num: true }, { name: "cpu", title: "cpu", num: true },
      { name: "text", title: "start event", wide: true }, { name: "events", title: "events", num: true }];
    this.list.update(columns, pairs.map((d) => ({
      of: d, cells: [{ value: d.start.time, text: (d.start.time / 1e9).toFixed(6) }, { value: d.delay, text: amount(d.delay, "ns") + (d.unfinished ? " (no end: " + d.unfinished + ")" : "") },
        { value: d.pair, text: d.pair }, { value: d.start.comm, text: d.start.comm }, { value: d.start.tid, text: String(d.start.tid) }, { value: d.start.cpu, text: String(d.start.cpu) },
        { value: d.start.text, text: d.start.text }, { value: d.events.length, text: count(d.events.length) }],
    })));
    this.told.textContent = `${count(pairs.length)} pair${pairs.length === 1 ? "" : "s"}` + (leftOut ? `, ${count(leftOut)} more are not kept` : "");
    if (!this.pair && pairs.length) this.choose(this.list.shown().rows[0].of);
  }
  choose(d) {
    this.pair = d;
    this.list.draw();
    this.lanes.show(d);
  }
}

// Lanes is the time axis of a pair.
class Lanes {
  constructor() {
    this.by = "tid";
    this.hues = new Map();
    this.title = el("strong", { class: "mono" });
    this.where = el("span", { class: "note" });
    const zoom = (f) => () => this.scale(f);
    this.mode = el("button", { onclick: () => { this.by = this.by === "tid" ? "cpu" : "tid"; this.draw(); } });
    this.bar = el("header", {}, this.title, this.where, el("button", { onclick: zoom(.5), title: "Zoom in (+)" }, "+"), el("button", { onclick: zoom(2), title: "Zoom out (-)" }, "\u2212"),
      el("button", { onclick: () => this.all(), title: "Show all (0)" }, "All"), this.mode);
    this.picture = el("div", { class: "lanes", tabindex: 0, role: "group", "aria-label": "Time axis: drag to zoom, arrows to move" });
    this.legend = el("div", { class: "legend" });
    this.grid = new Grid({ pick: (e) => this.mark(e) });
    this.grid.chosen = (e) => e === this.marked;
    this.grid.element.style.maxHeight = "300px";
    this.bar.append(this.grid.search);
    this.element = el("div", { class: "timeline", hidden: "" }, this.bar, this.picture, this.legend, this.grid.element);
    this.picture.addEventListener("keydown", (e) => this.key(e));
    this.picture.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.shiftKey) return; // the page scrolls
      e.preventDefault();
      this.scale((e.deltaY || e.deltaX) > 0 ? 1.25 : .8, this.time(e));
    }, { passive: false });
    this.picture.addEventListener("pointerdown", (e) => this.drag(e));
    this.picture.addEventListener("dblclick", () => this.all());
    this.picture.addEventListener("mousemove", (e) => { const t = e.target.item; t ? tip.show(this.about(t), e) : tip.hide(); });
    this.picture.addEventListener("mouseleave", tip.hide);
    new ResizeObserver(() => { if (this.d && this.picture.clientWidth !== this.width) this.draw(); }).observe(this.picture);
  }
  show(d) {
    this.d = d;
    this.marked = null;
    this.element.hidden = false;
    const items = d.events.filter((e) => e.hidden === undefined).map((e) => ({ ...e, at: e.since }));
    items.push({ ...d.start, at: 0, edge: "start" });
    if (d.end) items.push({ ...d.end, at: d.end.time - d.start.time, edge: "end" });
    items.sort((a, b) => a.at - b.at);
    this.items = items;
    // The same event has the same colour in all pairs of a run.
    for (const i of items) if (!this.hues.has(i.event)) this.hues.set(i.event, HUES[this.hues.size % HUES.length]);
    this.hidden = d.events.reduce((n, e) => n + (e.hidden || 0), 0);
    let lo = 0, hi = d.delay;
    for (const i of items) { lo = Math.min(lo, i.at); hi = Math.max(hi, i.at); }
    const pad = (hi - lo || 1) * .02;
    this.full = [lo - pad, hi + pad];
    this.title.textContent = `${d.pair} ${amount(d.delay, "ns")}`;
    this.all();
  }
  all() { this.range = this.full.slice(); this.draw(); }
  scale(by, around) {
    const [lo, hi] = this.range, at = around === undefined ? (lo + hi) / 2 : around;
    this.set(at - (at - lo) * by, at + (hi - at) * by);
  }
  set(lo, hi) {
    const least = 100;
    if (hi - lo < least) { const mid = (lo + hi) / 2; lo = mid - least / 2; hi = mid + least / 2; }
    this.range = [Math.max(lo, this.full[0]), Math.min(hi, this.full[1])];
    if (this.range[0] >= this.range[1]) this.range = this.full.slice();
    this.draw();
  }
  key(e) {
    const [lo, hi] = this.range, step = (hi - lo) / 5;
    const act = {
      "+": () => this.scale(.5), "=": () => this.scale(.5), "-": () => this.scale(2), "0": () => this.all(),
      ArrowLeft: () => lo > this.full[0] && this.set(Math.max(lo - step, this.full[0]), Math.max(lo - step, this.full[0]) + hi - lo),
      ArrowRight: () => hi < this.full[1] && this.set(Math.min(hi + step, this.full[1]) - (hi - lo), Math.min(hi + step, this.full[1])),
    }[e.key];
    if (!act) return;
    act();
    e.preventDefault();
    e.stopPropagation();
  }
  time(e) {
    const box = this.picture.getBoundingClientRect(), [lo, hi] = this.range;
    return lo + Math.max(0, Math.min(1, (e.clientX - box.left - this.left) / (this.width - this.left))) * (hi - lo);
  }
  drag(e) {
    if (e.button !== 0 || e.pointerType === "touch") return;
    const from = this.time(e), x = e.clientX;
    const box = svg("rect", { class: "select", y: 0, height: this.tall });
    const move = (m) => {
      if (!box.isConnected) this.svg.append(box);
      const a = this.x(Math.min(from, this.time(m))), b = this.x(Math.max(from, this.time(m)));
      box.setAttribute("x", a);
      box.setAttribute("width", b - a);
    };
    const up = (u) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      box.remove();
      const to = this.time(u);
      if (Math.abs(u.clientX - x) > 5) this.set(Math.min(from, to), Math.max(from, to));
      else if (u.target.item) this.mark(u.target.item);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  }
  mark(item) {
    this.marked = this.marked === item ? null : item;
    this.draw();
  }
  x(at) { return this.left + (at - this.range[0]) / (this.range[1] - this.range[0]) * (this.width - this.left - 6); }
  laneOf(i) { return this.by === "cpu" ? "CPU " + i.cpu : `${i.comm} ${i.tid}`; }
  about(i) {
    const lines = [`${amount(i.at, "ns")} after the start, CPU ${i.cpu}`, `${i.comm} ${i.tid}`, `${i.event}: ${i.text}`];
    if (i.state) lines.push("the thread: " + i.state);
    if (i.ran !== undefined) lines.push(`${i.ran_comm} had run for ${amount(i.ran, "ns")}`);
    if (i.stack) lines.push(...i.stack.slice(0, 12).map((f) => "  " + (f.symbol || f.dso || f.addr)));
    return lines.join("\n");
  }
  draw() {
    const d = this.d;
    this.mode.textContent = this.by === "tid" ? "By CPU" : "By thread";
    const width = this.width = this.picture.clientWidth || 900;
    const names = [];
    for (const i of this.items) if (!names.includes(this.laneOf(i))) names.push(this.laneOf(i));
    const own = this.laneOf(this.items.find((i) => i.edge === "start"));
    names.sort((a, b) => (b === own) - (a === own) || a.localeCompare(b, "en", { numeric: true }));
    const lanes = names.slice(0, 40), most = Math.max(...lanes.map((n) => n.length));
    const left = this.left = Math.min(width * .32, most * 7 + 14), tall = this.tall = lanes.length * LANE + 24;
    const [lo, hi] = this.range, out = svg("svg", { height: tall, viewBox: `0 0 ${width} ${tall}` });
    this.svg = out;
    const clip = (v) => Math.max(left, Math.min(width - 6, v));
    const a = clip(this.x(0)), b = clip(this.x(d.delay));
    out.append(svg("rect", { class: "pair", x: a, y: 0, width: Math.max(b - a, 1), height: tall - 22 }));
    lanes.forEach((name, n) => {
      const y = n * LANE + LANE / 2, fits = Math.max(3, Math.floor((left - 10) / 7));
      out.append(svg("line", { class: "lane", x1: left, x2: width - 6, y1: y, y2: y }),
        svg("text", { x: 0, y: y + 4, class: name === own ? "" : "soft" }, name.length > fits ? name.slice(0, fits - 1) + "\u2026" : name));
    });
    for (let n = 0, step = nice((hi - lo) / Math.max(3, Math.floor((width - left) / 110))), t = Math.ceil(lo / step) * step; t <= hi && n < 40; t += step, n++) {
      const x = this.x(t);
      out.append(svg("line", { class: "lane", x1: x, x2: x, y1: tall - 22, y2: tall - 17 }),
        svg("text", { x, y: tall - 4, class: "soft", "text-anchor": x > width - 40 ? "end" : "middle" }, tick(t, step)));
    }
    const kinds = new Map(), inside = [];
    for (const i of this.items) {
      const n = lanes.indexOf(this.laneOf(i)), hue = this.hues.get(i.event);
      if (i.ran !== undefined && n >= 0) {
        const x1 = clip(this.x(i.at - i.ran)), x2 = clip(this.x(i.at));
        if (x2 > x1) {
          const r = svg("rect", { x: x1, y: n * LANE + 7, width: x2 - x1, height: LANE - 14, rx: 2, fill: `hsl(${hueOf(i.ran_comm)}, 45%, 60%)`, opacity: .55 });
          r.item = i;
          out.append(r);
        }
      }
      if (i.at < lo || i.at > hi) continue;
      inside.push(i);
      if (n < 0) continue;
      const x = this.x(i.at), y = n * LANE + LANE / 2, colour = `hsl(${hue}, 65%, ${dark() ? 65 : 45}%)`;
      kinds.set(i.event, colour);
      if (i.edge) out.append(svg("line", { class: "edge", x1: x, x2: x, y1: n * LANE + 3, y2: (n + 1) * LANE - 3 }));
      const c = svg("circle", { class: "event" + (i === this.marked ? " chosen" : ""), cx: x, cy: y, r: i.edge ? 6 : 4.5, fill: colour });
      c.item = i;
      out.append(c);
    }
    this.picture.replaceChildren(out);
    this.legend.replaceChildren(...[...kinds].map(([name, colour]) => { const dot = el("i"); dot.style.background = colour; return el("span", {}, dot, name); }));
    const notes = [`${amount(Math.round(hi - lo), "ns")} shown`];
    if (names.length > lanes.length) notes.push(`${names.length - lanes.length} more lanes`);
    if (this.hidden) notes.push(`${count(this.hidden)} events hidden by the script`);
    if (d.incomplete) notes.push("complete only from " + amount(d.complete_since, "ns"));
    this.where.textContent = notes.join(", ");
    this.grid.update([{ name: "since", title: "since start", unit: "us", num: true }, { name: "comm", title: "comm", key: true }, { name: "tid", title: "tid", num: true }, { name: "cpu", title: "cpu", num: true },
      { name: "event", title: "event", key: true }, { name: "state", title: "state" }, { name: "text", title: "", wide: true }],
      inside.slice(0, MOST_LINES).map((i) => ({
        of: i, cells: [{ value: i.at, text: (i.at / 1000).toFixed(3) }, { value: i.comm, text: i.comm }, { value: i.tid, text: String(i.tid) }, { value: i.cpu, text: String(i.cpu) },
          { value: i.event, text: i.event }, { value: i.state || null, text: i.state || "" }, { value: i.text, text: i.text }],
      })));
  }
}
function nice(step) {
  const by = Math.pow(10, Math.floor(Math.log10(Math.max(step, 1))));
  return [1, 2, 5, 10].map((n) => n * by).find((n) => n >= step);
}
function tick(t, step) {
  const [name, by] = NS.slice().reverse().find((s) => step >= s[1]) || NS[0];
  return t === 0 ? "0" : +(t / by).toFixed(3) + " " + name;
}
