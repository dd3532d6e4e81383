// Histograms: bars of an interval, and a heat map of all that are here; heat maps of the script.

const HEAT_LIGHT = ["#f6d77a", "#f6c063", "#f5a552", "#f18a47", "#e86f44", "#db5547", "#c93d4f", "#b02a59", "#931f62", "#731b68", "#521a68"];
const HEAT_DARK = ["#7a52ab", "#8c52a6", "#a04fa0", "#b54e96", "#cb5086", "#de5772", "#ed6560", "#f57c54", "#f89650", "#f8b65a", "#fbe08a"];

// A Heat draws cells: columns of time, rows of values upwards. map is {columns, rows: [{lo, hi}],
// cells: [[column, row, count]], x: column -> text, y: row -> text, axis: row -> a shorter one}.
class Heat {
  constructor(tall) {
    this.tall = tall;
    this.canvas = el("canvas", { role: "img", onmousemove: (e) => this.point(e), onmouseleave: tip.hide });
    this.element = el("div", { class: "heat" }, this.canvas);
    this.map = null;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }
  show(map) {
    this.map = map;
    this.draw();
  }
  draw() {
    const m = this.map, wide = this.canvas.clientWidth;
    if (!m || !wide || !m.rows.length) return;
    const ratio = devicePixelRatio || 1, to = this.canvas.getContext("2d");
    const tall = this.tall || Math.max(120, Math.min(420, m.rows.length * 14 + 30));
    this.canvas.width = wide * ratio;
    this.canvas.height = tall * ratio;
    this.canvas.style.height = tall + "px";
    to.scale(ratio, ratio);
    to.font = "11.5px system-ui, sans-serif";
    const labels = m.rows.map((r, i) => (m.axis || m.y)(i));
    const left = Math.ceil(Math.max(...labels.map((t) => to.measureText(t).width))) + 8, foot = 22;
    const w = (wide - left - 4) / m.columns, h = (tall - foot - 4) / m.rows.length;
    this.at = { left, w, h, tall: tall - foot };
    const ink = css("--soft"), line = css("--line"), colours = dark() ? HEAT_DARK : HEAT_LIGHT;
    to.fillStyle = line;
    to.fillRect(left, tall - foot, wide - left, 1);
    let most = 1;
    for (const c of m.cells) most = Math.max(most, c[2]);
    for (const [x, y, n] of m.cells) {
      const level = most > 1 ? Math.min(colours.length - 1, Math.floor(Math.log(n) / Math.log(most) * colours.length)) : colours.length >> 1;
      to.fillStyle = colours[level];
      to.fillRect(left + x * w, tall - foot - (y + 1) * h, Math.max(w - (w > 4 ? 1 : 0), .8), Math.max(h - (h > 4 ? 1 : 0), .8));
    }
    to.fillStyle = ink;
    to.textAlign = "right";
    to.textBaseline = "middle";
    const each = Math.max(1, Math.ceil(14 / h));
    for (let i = 0; i < m.rows.length; i += each) to.fillText(labels[i], left - 6, tall - foot - (i + .5) * h);
    to.textBaseline = "top";
    let room = -1;
    for (let i = 0; i < m.columns; i++) {
      const text = m.x(i), size = to.measureText(text).width, x = left + i * w;
      if (x < room || x + size > wide) continue;
      to.textAlign = "left";
      to.fillText(text, x, tall - foot + 6);
      room = x + size + 40;
    }
    this.canvas.setAttribute("aria-label", `Heat map: ${m.columns} columns of time, ${m.rows.length} ranges, at most ${count(most)} in one`);
  }
  point(e) {
    const m = this.map, a = this.at;
    if (!m || !a) return;
    const x = Math.floor((e.offsetX - a.left) / a.w), y = Math.floor((a.tall - e.offsetY) / a.h);
    const cell = m.cells.find((c) => c[0] === x && c[1] === y);
    if (x < 0 || x >= m.columns || y < 0 || y >= m.rows.length) return tip.hide();
    tip.show(`${cell ? count(cell[2]) : "none"}\n${m.y(y)}\n${m.x(x)}`, e);
  }
}

// bounds are a range in words.
function bounds(lo, hi, unit) {
  if (lo === null && hi === null) return "all";
  if (lo === null) return "< " + amount(hi, unit);
  if (hi === null) return "\u2265 " + amount(lo, unit);
  return hi === lo + 1 && unit !== "ns" ? amount(lo, unit) : amount(lo, unit) + " \u2013 " + amount(hi, unit);
}

const MOST_KEYS = 24;

class HistogramView {
  constructor(id, title) {
    this.panel = panel(id, title);
    this.find = "";
    this.panel.head.append(search("Filter keys", (text) => { this.find = text; this.update(this.d, this.context); }));
    this.bars = el("div", { class: "hist" });
    this.heat = new Heat();
    this.over = el("h3", { class: "note" }, "Over time");
    this.over.style.padding = "0 14px";
    this.panel.put(this.bars, this.over, this.heat.element);
  }
  key(d, row) { return cellsOf(d.keys, row.key).map((c) => c.text).join(" "); }
  update(d, context) {
    this.d = d;
    this.context = context;
    const match = matcher(this.find), rows = d.rows.filter((r) => !match || match(this.key(d, r)));
    this.bars.replaceChildren(...rows.slice(0, MOST_KEYS).map((r) => {
      const most = Math.max(1, ...r.buckets.map((b) => b[2])), bars = el("div", { class: "bars" });
      for (const [lo, hi, n] of r.buckets) {
        const bar = el("div", { class: n ? "bar" : "bar none", title: percent(n, r.count) });
        bar.style.width = 100 * n / most + "%";
        bars.append(el("span", { class: "range" }, bounds(lo, hi, d.unit)), el("div", {}, bar), el("span", { class: "count" }, count(n)));
      }
      return el("figure", {}, el("figcaption", {}, (this.key(d, r) || d.value) + " ", el("span", { class: "note" }, count(r.count) + " values")), bars);
    }));
    const foot = [footText(d)];
    if (rows.length > MOST_KEYS) foot.unshift(`${MOST_KEYS} of ${count(rows.length)} keys are shown: filter for others`);
    this.panel.foot.textContent = foot.filter((t) => t).join("; ");
    this.history(context.history, match);
  }
  // history has a column for each interval, with all keys that are shown.
  history(list, match) {
    const some = list.length > 1;
    this.heat.element.hidden = this.over.hidden = !some;
    if (!some) return;
    const edges = new Map(), cells = new Map();
    list.forEach(({ data }, x) => {
      for (const r of data.rows) {
        if (match && !match(this.key(data, r))) continue;
        for (const [lo, hi, n] of r.buckets) {
          const at = lo === null ? -Infinity : lo;
          if (!edges.has(at)) edges.set(at, hi);
          const k = x + "/" + at;
          cells.set(k, (cells.get(k) || 0) + n);
        }
      }
    });
    const rows = [...edges.keys()].sort((a, b) => a - b).map((at) => ({ lo: at === -Infinity ? null : at, hi: edges.get(at), at }));
    const index = new Map(rows.map((r, i) => [r.at, i]));
    this.heat.show({
      columns: list.length, rows, unit: this.d.unit,
      cells: [...cells].map(([k, n]) => { const [x, at] = k.split("/"); return [+x, index.get(+at), n]; }),
      x: (i) => clock(list[i].data, true), y: (i) => bounds(rows[i].lo, rows[i].hi, this.d.unit),
      axis: (i) => rows[i].lo === null ? "0" : amount(rows[i].lo, this.d.unit),
    });
  }
}

class HeatmapView {
  constructor(id, title) {
    this.panel = panel(id, title);
    this.heat = new Heat(420);
    this.panel.put(this.heat.element);
  }
  update(d) {
    const cells = [];
    d.rows.forEach((r, y) => r.counts.forEach(([x, n]) => cells.push([x, y, n])));
    this.heat.show({
      columns: Math.max(1, d.columns), rows: d.rows, cells,
      x: (i) => i ? amount(i * d.step, "ns") : "0", y: (i) => bounds(d.rows[i].lo, d.rows[i].hi, d.unit),
      axis: (i) => d.rows[i].lo === null ? "0" : amount(d.rows[i].lo, d.unit),
    });
    const all = cells.reduce((n, c) => n + c[2], 0);
    this.panel.foot.textContent = [`${count(all)} values of ${d.value}; a column is ${amount(d.step, "ns")}`, footText(d)].filter((t) => t).join("; ");
  }
}
