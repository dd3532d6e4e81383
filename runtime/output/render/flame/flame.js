"use strict";
(function () {
  // Draws the tree of stacks that the file carries. A node is {label, parent,
  // kids, self, total, x, depth}; x and total are in samples, so that zooming
  // is one division. Only what is at least half a pixel wide is drawn.
  const NS = "http://www.w3.org/2000/svg";
  const ROW = 18, FOOT = 24, LEAST = 0.5;
  const me = document.currentScript;
  const svg = me ? me.closest("svg") : document.querySelector("svg.pp-flame");
  const data = JSON.parse(svg.querySelector('script[type="application/json"]').textContent);
  const frames = svg.querySelector("g.frames");
  const sides = data.diff ? 2 : 1;
  const state = { reverse: data.reverse, icicle: data.icicle, by: 0, zoom: null, find: "" };
  let tree = null, head = 64;

  svg.querySelector("g.static").remove();
  svg.removeAttribute("viewBox");

  function el(name, attrs, parent) {
    const e = document.createElementNS(NS, name);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    if (parent) parent.appendChild(e);
    return e;
  }
  function newNode(label, parent) {
    return { label, parent, kids: [], self: [0, 0], total: [0, 0], x: 0, depth: parent ? parent.depth + 1 : 0 };
  }

  // The tree as the file has it: nodes in the order of drawing.
  function forward() {
    const path = [], flat = data.nodes;
    let root = null;
    for (let i = 0; i < flat.length; i += 2 + sides) {
      const depth = flat[i], parent = depth > 0 ? path[depth - 1] : null;
      const n = newNode(flat[i + 1], parent);
      for (let s = 0; s < sides; s++) n.self[s] = flat[i + 2 + s];
      if (parent) parent.kids.push(n); else root = n;
      path[depth] = n;
    }
    return root;
  }

  // The same samples merged from the innermost frame outwards.
  function reversed() {
    const root = newNode(0, null), index = new Map([[root, new Map()]]);
    (function visit(n) {
      if (n.parent && (n.self[0] || n.self[1])) {
        let at = root;
        for (let from = n; from.parent; from = from.parent) {
          const kids = index.get(at);
          let next = kids.get(from.label);
          if (!next) {
            next = newNode(from.label, at);
            at.kids.push(next);
            kids.set(from.label, next);
            index.set(next, new Map());
          }
          at = next;
        }
        for (let s = 0; s < sides; s++) at.self[s] += n.self[s];
      }
      n.kids.forEach(visit);
    })(forward());
    (function order(n) {
      n.kids.sort((a, b) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : a.label - b.label));
      n.kids.forEach(order);
    })(root);
    return root;
  }

  function settle(root) {
    (function sum(n) {
      for (let s = 0; s < sides; s++) n.total[s] = n.self[s];
      for (const k of n.kids) {
        sum(k);
        for (let s = 0; s < sides; s++) n.total[s] += k.total[s];
      }
    })(root);
    (function place(n) {
      let x = n.x;
      for (const k of n.kids) { k.x = x; place(k); x += k.total[state.by]; }
    })(root);
    return root;
  }

  function name(n) { return data.labels[n.label][0]; }
  function share(n, side) { return n.total[side] / (tree.total[side] || 1); }
  function fill(n) {
    const [, , kind, v] = data.labels[n.label];
    if (data.diff) {
      const after = share(n, 0), before = share(n, 1), m = Math.max(after, before);
      let d = m > 0 ? (after - before) / m : 0, hue = 8;
      if (d < 0) { hue = 215; d = -d; }
      return `hsl(${hue},${Math.round(85 * d)}%,${88 - Math.round(26 * d)}%)`;
    }
    const p = data.palette[kind];
    return `hsl(${p[0] + Math.floor(v * p[1] / 100)},${p[2]}%,${p[3] + (v * 7) % 9}%)`;
  }

  function count(v) { return v.toLocaleString("en-US"); }
  // amount is v in the unit of what is counted: 1.25 s time, 4.0 KiB bytes.
  function amount(v) {
    const steps = { ns: [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]], B: [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824]] }[data.base];
    if (!steps) return `${count(v)} ${data.unit}`;
    let [name, by] = steps[0];
    for (const s of steps) if (Math.abs(v) >= s[1]) [name, by] = s;
    return `${by === 1 ? count(v) : (v / by).toFixed(3)} ${name} ${data.unit}`;
  }
  function percent(part, whole) { return (100 * part / (whole || 1)).toFixed(2) + "%"; }
  function about(n) {
    const lines = [name(n)], dso = data.labels[n.label][1];
    lines.push(`${amount(n.total[state.by])}, ${percent(n.total[state.by], tree.total[state.by])} of all`);
    if (state.zoom && state.zoom.parent) lines.push(`${percent(n.total[state.by], state.zoom.total[state.by])} of what is shown`);
    if (n.self[state.by]) lines.push(`${amount(n.self[state.by])} in the function itself`);
    if (data.diff) {
      const d = 100 * (share(n, 0) - share(n, 1));
      lines.push(`before ${percent(n.total[1], tree.total[1])}, after ${percent(n.total[0], tree.total[0])} (${d < 0 ? "" : "+"}${d.toFixed(2)})`);
    }
    if (dso) lines.push(dso);
    return lines;
  }

  // The width of text, measured once for each character.
  const measure = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d");
  measure.font = "12px " + (svg.getAttribute("font-family") || "sans-serif");
  const widths = new Map();
  function wide(c) {
    let w = widths.get(c);
    if (w === undefined) widths.set(c, (w = measure.measureText(c).width));
    return w;
  }
  function fit(text, room) {
    let w = 0, all = 0;
    const chars = Array.from(text);
    for (const c of chars) all += wide(c);
    if (all <= room) return text;
    let out = "";
    for (const c of chars) {
      w += wide(c);
      if (w > room - wide("\u2026")) break;
      out += c;
    }
    return out.length < 2 ? "" : out + "\u2026";
  }

  function matcher() {
    state.bad = "";
    if (!state.find) return null;
    try {
      const re = new RegExp(state.find, "i");
      return (s) => re.test(s);
    } catch (e) {
      state.bad = "Not a regular expression, searched for as it is: " + e.message;
      const low = state.find.toLowerCase();
      return (s) => s.toLowerCase().includes(low);
    }
  }

  function size() {
    const w = svg.getBoundingClientRect().width || window.innerWidth;
    return Math.max(320, Math.floor(w));
  }

  function draw() {
    const width = size(), pad = 10, inner = width - 2 * pad;
    head = controls(width);
    const zoom = state.zoom || tree, span = zoom.total[state.by] || 1, scale = inner / span;
    const shown = [], line = [];
    for (let n = zoom.parent; n; n = n.parent) line.unshift(n);
    let deepest = 0;
    (function visit(n) {
      if (n.total[state.by] * scale < LEAST) return;
      deepest = Math.max(deepest, n.depth);
      shown.push(n);
      n.kids.forEach(visit);
    })(zoom);
    const rows = deepest + 1, height = head + rows * ROW + FOOT;
    svg.setAttribute("height", height);
    const match = matcher();
    frames.textContent = "";
    const put = (n, x, w, outer) => {
      const y = state.icicle ? head + n.depth * ROW : height - FOOT - (n.depth + 1) * ROW;
      const g = el("g", {}, frames);
      g.node = n;
      const hit = match && n.depth > 0 && match(name(n));
      g.setAttribute("class", (outer ? "outer " : "") + (hit ? "hit" : ""));
      const r = el("rect", { x: x.toFixed(2), y, width: Math.max(w, 0.3).toFixed(2), height: ROW - 1, rx: w > 6 ? 2 : 0 }, g);
      r.style.fill = fill(n);
      if (w > 22) {
        const text = fit(name(n), w - 8);
        if (text) el("text", { x: (x + 4).toFixed(1), y: y + 13 }, g).textContent = text;
      }
    };
    for (const n of line) put(n, pad, inner, true);
    for (const n of shown) put(n, pad + (n.x - zoom.x) * scale, n.total[state.by] * scale, false);
    note.setAttribute("y", height - 8);
    remember();
    note.textContent = fit(state.bad || matched(match, zoom) || (zoom.parent ? "Zoomed to " + name(zoom) + ", " +
      percent(zoom.total[state.by], tree.total[state.by]) + " of all" : hint), inner);
    hide();
  }

  // The picture as it is now is in its address, so that it can be passed on: the
  // search, and the labels of the frames from the root to the one zoomed to.
  function remember() {
    const path = [], parts = [];
    for (let n = state.zoom; n && n.parent; n = n.parent) path.unshift(n.label);
    if (path.length) parts.push("zoom=" + path.join("."));
    if (state.find) parts.push("find=" + encodeURIComponent(state.find));
    if (state.reverse !== data.reverse) parts.push("reverse=" + state.reverse);
    const hash = "#" + parts.join("&");
    if (hash === (location.hash || "#")) return;
    try { history.replaceState(null, "", hash); } catch (e) { /* a page without address */ }
  }
  function recall() {
    const known = new Map(location.hash.slice(1).split("&").map((p) => p.split("=")));
    if (known.has("reverse")) state.reverse = known.get("reverse") === "true";
    tree = settle(state.reverse ? reversed() : forward());
    try { state.find = input.value = decodeURIComponent(known.get("find") || ""); } catch (e) { state.find = ""; }
    let at = tree;
    for (const label of (known.get("zoom") || "").split(".")) {
      const next = at.kids.find((k) => String(k.label) === label);
      if (!next) break;
      at = next;
    }
    state.zoom = at.parent ? at : null;
    draw();
  }

  const hint = (data.diff ? "Red frames grew, blue ones shrank, as shares of all. " : "") + "Click a frame to zoom, Esc to reset, / to search.";

  // What a search found: frames inside a found one do not count again.
  function matched(match, zoom) {
    if (!match) return "";
    let sum = 0, functions = new Set();
    (function visit(n, inside) {
      const hit = n.depth > 0 && match(name(n));
      if (hit) functions.add(name(n));
      if (hit && !inside) sum += n.total[state.by];
      n.kids.forEach((k) => visit(k, inside || hit));
    })(zoom, false);
    return `Found ${functions.size} function${functions.size === 1 ? "" : "s"}: ` +
      `${percent(sum, zoom.total[state.by])} of what is shown`;
  }

  // Buttons and the field for searching.
  const bar = el("g", {}, svg);
  const note = el("text", { class: "note", x: 12 }, svg);
  const buttons = [];
  function button(text, act, on) {
    const g = el("g", { class: "button", tabindex: 0, role: "button" }, bar);
    const r = el("rect", { height: 26, rx: 6 }, g), t = el("text", { y: 17 }, g);
    t.textContent = text;
    const w = Array.from(text).reduce((sum, c) => sum + wide(c), 0) + 20;
    r.setAttribute("width", w);
    t.setAttribute("x", w / 2);
    g.addEventListener("click", act);
    g.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { act(); e.preventDefault(); } });
    buttons.push({ g, w, on });
  }
  button("Reset", reset, () => false);
  button("Icicle", () => { state.icicle = !state.icicle; draw(); }, () => state.icicle);
  button("Reverse", () => { state.reverse = !state.reverse; rebuild(); }, () => state.reverse);
  if (data.diff) button("Widths before", () => { state.by = 1 - state.by; rebuild(); }, () => state.by === 1);
  const box = el("foreignObject", { height: 28 }, bar);
  const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
  input.setAttribute("placeholder", "Search (regular expression)");
  input.setAttribute("aria-label", "Search");
  input.setAttribute("spellcheck", "false");
  box.appendChild(input);
  input.addEventListener("input", () => { state.find = input.value; draw(); });

  // controls places the bar, beside the title or below it, and returns where
  // the frames begin.
  function controls(width) {
    const all = buttons.reduce((w, b) => w + b.w + 6, 0), titles = svg.querySelectorAll(".title, .sub");
    const beside = width >= 760;
    const room = beside ? width - 24 - all - 200 : width - 24;
    titles.forEach((t) => {
      if (t.full === undefined) t.full = t.textContent;
      const ratio = t.classList.contains("title") ? 1.5 : 1;
      t.textContent = fit(t.full, room / ratio);
      if (t.textContent !== t.full) el("title", {}, t).textContent = t.full;
    });
    const field = beside ? 190 : Math.max(90, width - 24 - all);
    let x = beside ? width - 12 - all - field : 12;
    const y = beside ? 16 : 58;
    for (const b of buttons) {
      b.g.setAttribute("transform", `translate(${x},${y})`);
      b.g.classList.toggle("on", b.on());
      x += b.w + 6;
    }
    box.setAttribute("x", x);
    box.setAttribute("y", y);
    box.setAttribute("width", field);
    return beside ? 62 : 98;
  }

  function rebuild() {
    tree = settle(state.reverse ? reversed() : forward());
    state.zoom = null;
    draw();
  }
  function reset() {
    state.zoom = null;
    state.find = input.value = "";
    draw();
  }

  // The tip follows the mouse and stays inside the picture.
  const tip = el("g", { class: "tip" }, svg);
  function hide() { tip.textContent = ""; }
  function show(n, event) {
    hide();
    const at = svg.getBoundingClientRect(), room = Math.min(size() - 20, 560);
    const lines = about(n).map((text) => fit(text, room - 20));
    const w = Math.max(...lines.map((t) => Array.from(t).reduce((sum, c) => sum + wide(c), 0))) + 22;
    const h = lines.length * 17 + 12, height = +svg.getAttribute("height");
    const x = Math.min(Math.max(event.clientX - at.left + 12, 6), size() - w - 6);
    let y = event.clientY - at.top + 16;
    if (y + h > height - 4) y = Math.max(4, event.clientY - at.top - h - 8);
    el("rect", { x, y, width: w, height: h, rx: 6 }, tip);
    lines.forEach((text, i) => {
      el("text", { x: x + 11, y: y + 20 + 17 * i, class: i ? "dim" : "" }, tip).textContent = text;
    });
  }
  frames.addEventListener("mousemove", (e) => { const g = e.target.closest("g"); if (g && g.node) show(g.node, e); });
  frames.addEventListener("mouseleave", hide);
  frames.addEventListener("click", (e) => {
    const g = e.target.closest("g");
    if (!g || !g.node) return;
    state.zoom = g.node.parent ? g.node : null;
    draw();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") { input.blur(); reset(); }
    if (e.key === "/" && document.activeElement !== input || (e.ctrlKey || e.metaKey) && e.key === "f") {
      input.focus();
      input.select();
      e.preventDefault();
    }
  });
  window.addEventListener("resize", draw);
  svg.flame = { state, draw, rebuild };
  window.addEventListener("hashchange", recall);
  recall();
  // The root and the title of a tall picture belong on one screen.
  if (!state.icicle && +svg.getAttribute("height") > window.innerHeight) {
    state.icicle = true;
    draw();
  }
})();
