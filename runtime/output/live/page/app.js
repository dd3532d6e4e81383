// What is shown, where it comes from, and the keys.

const KEPT = 60; // intervals that the page holds
const token = new URLSearchParams(location.search).get("token") || "";
const live = !document.querySelector("script.interval, script.run");
const app = { run: null, state: null, frames: new Map(), views: new Map(), at: 0, following: true, lists: { log: [], details: [], messages: [] }, left: {}, seen: { log: 0, details: 0, messages: 0 } };

function url(path) { return "api/v1/" + path + (token ? (path.includes("?") ? "&" : "?") + "token=" + encodeURIComponent(token) : ""); }
async function get(path) {
  const r = await fetch(url(path));
  if (!r.ok) throw new Error(`${r.status} ${await r.text()}`);
  return r;
}
function records(text) { return text.split("\n").filter((l) => l).map((l) => JSON.parse(l)); }

// clock is when a result ended.
function clock(d, brief) {
  if (d.wall) { const t = timeOfDay(d.wall); return brief ? t.slice(0, 8) : t.slice(0, 12); }
  return (d.end / 1e9).toFixed(3) + " s";
}

const views = { table: TableView, histogram: HistogramView, heatmap: HeatmapView, stacks: FlameView };
function viewOf(kind, name, title) {
  const id = kind + "-" + name.replace(/[^\w-]+/g, "-");
  let v = app.views.get(id);
  if (!v) {
    v = kind === "pairs" ? new PairsView(id, title) : kind === "log" ? new LogView(id, title) : new views[kind](id, title);
    v.rank = { table: 1, histogram: 2, heatmap: 3, stacks: 4, pairs: 5, log: 6 }[kind];
    app.views.set(id, v);
    $("waiting")?.remove();
    const after = [...app.views.values()].filter((o) => o !== v && o.rank <= v.rank).pop();
    if (after) after.panel.box.after(v.panel.box); else $("results").prepend(v.panel.box);
    $("names").replaceChildren(...[...$("results").children].map((s) => el("a", { href: "#" + s.id }, s.querySelector("h2").textContent)));
    $("names").hidden = app.views.size < 2;
  }
  return v;
}

// show draws the results of the chosen interval: of each name the newest up to it.
function show() {
  const numbers = [...app.frames.keys()].sort((a, b) => a - b), last = numbers[numbers.length - 1] || 0;
  const at = app.following ? last : app.at, found = new Map();
  for (const n of numbers) {
    if (n > at) break;
    for (const r of app.frames.get(n)) {
      const k = r.type + "/" + r.data.name;
      if (!found.has(k)) found.set(k, { type: r.type, history: [] });
      const f = found.get(k);
      if (f.number === n) continue; // the same name twice: the first counts
      f.number = n;
      f.data = r.data;
      f.history.push({ number: n, data: r.data });
    }
  }
  let newest = null;
  for (const f of found.values()) {
    if (!views[f.type]) continue;
    const title = f.data.title || (f.data.name === f.type && !app.run.script.startsWith("-") ? app.run.script : f.data.name), v = viewOf(f.type, f.data.name, title);
    v.panel.title.textContent = title;
    if (v.drawn !== f.data || v.depth !== f.history.length) v.update(f.data, f);
    v.drawn = f.data;
    v.depth = f.history.length;
    if (!newest || f.data.end > newest.end) newest = f.data;
  }
  const slider = $("when");
  slider.min = live ? Math.min(numbers[0] || 1, app.state?.oldest || 1) : numbers[0] || 1;
  slider.max = Math.max(last, 1);
  slider.value = at;
  slider.disabled = $("back").disabled = $("next").disabled = last <= +slider.min;
  $("interval").textContent = newest ? `interval ${at} of ${last}, ${clock(newest)}` : "no interval yet";
  const here = newest && lossText(newest.loss), all = lossText(app.state?.loss);
  $("loss").textContent = all ? "missing: " + all + (here ? "" : " (not here)") : "nothing missing";
  $("loss").className = "fact " + (all ? "bad" : "good");
  $("follow").textContent = app.following ? "Pause" : "Follow";
  $("follow").setAttribute("aria-pressed", !app.following);
}

function lists() {
  const { log, details, messages } = app.lists;
  if (details.length) viewOf("pairs", "slow", "Slow pairs").update(details.map((r) => r.data), app.left.details);
  if (log.length) viewOf("log", "lines", "Lines").update(log.map((r) => eventLine(r.data)), app.left.log);
  if (messages.length) viewOf("log", "messages", "Messages").update(messages.map((r) => messageLine(r.type, r.data)), app.left.messages);
}

function facts() {
  const s = app.state;
  if (!s) return;
  $("samples").textContent = short(s.samples) + " events";
  const c = s.cost, before = app.cost;
  if (c) {
    const over = before && c.wall - before.wall >= 5e8 ? [c.cpu - before.cpu, c.wall - before.wall] : null;
    if (over || !before) { app.cost = c; app.load = over ? percent(over[0], over[1]) : percent(c.cpu, c.wall); }
    $("cost").textContent = `costs ${app.load} of a CPU, ${amount(c.rss, "B")}`;
    $("cost").title = `${amount(c.cpu, "ns")} of CPU time in ${amount(c.wall, "ns")}; what programs in the kernel take is not in it`;
  }
  status(s.ended ? "ended" : live ? "live" : "snapshot");
}
function status(text, bad) {
  const e = $("status");
  e.textContent = text;
  e.className = "fact " + (bad ? "bad" : text === "live" ? "good" : "");
}

function about(run) {
  app.run = run;
  app.state = { ...run.state, cost: run.cost };
  $("script").textContent = run.script === "-c" ? "ppscript" : run.script;
  $("args").textContent = ["ppscript", ...run.args.map((a) => (/[^\w@%+=:,.\/-]/.test(a) ? "'" + a.replaceAll("'", "'\\''") + "'" : a))].join(" ");
  $("args").title = $("args").textContent;
  document.title = `${run.script} on ${run.host}`;
  facts();
}

// bring fetches what the state says is there and the page lacks.
async function bring() {
  const s = app.state;
  for (const n of app.frames.keys()) if (n < s.oldest) app.frames.delete(n);
  const wanted = [];
  for (let n = s.newest; n >= Math.max(s.oldest, s.newest - KEPT + 1, 1); n--) if (!app.frames.has(n)) wanted.push(n);
  // Earlier ones come at once with the page, then a few at a time: a run with short intervals is not kept busy.
  for (const n of wanted.slice(0, app.filled ? 5 : KEPT)) {
    try {
      app.frames.set(n, records(await (await get("intervals/" + n)).text()));
    } catch (e) { if (n === s.newest) throw e; }
    if (n === s.newest) { await free(); show(); } // the rest can come later
  }
  app.filled = true;
  trim();
  for (const [name, came] of [["log", s.events], ["details", s.details], ["messages", s.messages]]) {
    if (came === app.seen[name]) continue;
    const r = await get(`${name}?after=${app.seen[name]}`), list = app.lists[name];
    list.push(...records(await r.text()));
    app.seen[name] = +r.headers.get("X-Came");
    if (list.length > 1000) list.splice(0, list.length - 1000);
    app.left[name] = Math.max(0, app.seen[name] - list.length);
  }
  await free();
  if (wanted.length) show();
  lists();
}
function trim() {
  const old = [...app.frames.keys()].sort((a, b) => a - b);
  for (const n of old.slice(0, Math.max(0, old.length - KEPT))) if (app.following || n !== app.at) app.frames.delete(n);
}

// Nothing is drawn anew between the press of a button and its release: the click would be lost.
let held = false, released = [];
for (const kind of ["pointerdown", "pointerup", "pointercancel"]) addEventListener(kind, () => {
  held = kind === "pointerdown";
  if (!held) setTimeout(() => { released.forEach((go) => go()); released = []; });
}, true);
function free() { return held ? new Promise((go) => released.push(go)) : null; }

// One bring at a time: the newest state waits for the one that runs.
let busy = false, again = false;
async function update() {
  if (busy) { again = true; return; }
  busy = true;
  do {
    again = false;
    try { await bring(); } catch (e) { status("cannot fetch: " + e.message, true); }
  } while (again);
  busy = false;
}

async function start() {
  about(await (await get("run")).json());
  const source = new EventSource(url("events"));
  source.addEventListener("state", async (e) => {
    app.state = JSON.parse(e.data);
    facts();
    if (document.hidden && !app.state.ended) return; // nobody looks
    const ended = app.state.ended;
    await update();
    if (ended) source.close();
  });
  source.onerror = () => { if (!app.state.ended) status("connection lost", true); };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) update(); });
  await update();
}

// open shows a snapshot: what the page itself carries.
async function open() {
  const unpack = async (e) => {
    const bytes = Uint8Array.from(atob(e.textContent.trim()), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  about(JSON.parse(await unpack(document.querySelector("script.run"))));
  for (const e of document.querySelectorAll("script.interval")) app.frames.set(+e.dataset.number, records(await unpack(e)));
  for (const e of document.querySelectorAll("script.list")) {
    app.lists[e.dataset.name] = records(await unpack(e));
    app.left[e.dataset.name] = +e.dataset.left;
  }
  app.following = true;
  show();
  lists();
  $("follow").hidden = true;
}

async function move(to) {
  const least = +$("when").min, most = +$("when").max;
  app.at = Math.max(least, Math.min(most, to));
  app.following = false;
  if (!app.frames.has(app.at) && live) {
    try { app.frames.set(app.at, records(await (await get("intervals/" + app.at)).text())); } catch (e) { status("this interval is gone", true); }
  }
  show();
}
function toggle() {
  app.at = +$("when").value;
  app.following = !app.following;
  if (app.following && live) update();
  show();
}
function theme() {
  const to = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = to;
  try { localStorage.setItem("ppscript-theme", to); } catch (e) { /* a page without storage */ }
  redraw();
}
function redraw() { for (const v of app.views.values()) { if (v.heat) v.heat.draw(); if (v.root) v.draw(); if (v.lanes && v.pair) v.lanes.draw(); } }

const keys = {
  " ": ["stop at this interval, or follow the run", toggle],
  ArrowLeft: ["the interval before", () => move(+$("when").value - 1)],
  ArrowRight: ["the interval after", () => move(+$("when").value + 1)],
  "/": ["search in the result that is in view", () => inView()?.querySelector("input[type=search]")?.focus()],
  n: ["the next result", () => jump(1)],
  p: ["the result before", () => jump(-1)],
  t: ["light or dark", theme],
  "?": ["this list", () => $("keys").showModal()],
};
function inView() {
  const all = [...$("results").querySelectorAll("section")], top = $("top").offsetHeight;
  return all.find((s) => s.getBoundingClientRect().bottom > top + 60) || all[0];
}
function jump(by) {
  const all = [...$("results").querySelectorAll("section")], to = all[all.indexOf(inView()) + by];
  if (to) { to.scrollIntoView(); to.focus({ preventScroll: true }); }
}
document.addEventListener("keydown", (e) => {
  if (e.target.matches("input, select, textarea") && e.key === "Escape") e.target.blur();
  if (e.target.matches("input, select, textarea") || e.ctrlKey || e.metaKey || e.altKey || $("keys").open) return;
  if (e.key === " " && e.target.matches("button, a")) return;
  if (!keys[e.key]) return;
  e.preventDefault();
  keys[e.key][1]();
});
$("keys").querySelector("dl").append(...Object.entries({ ...keys, "+ - 0": ["zoom the time axis that has the focus; arrows move it"], Enter: ["zoom to the frame, or choose the row, that has the focus"], Esc: ["leave a search; zoom out of a flame graph"] })
  .flatMap(([k, [text]]) => [el("dt", {}, k === " " ? "space" : k), el("dd", {}, text)]));
$("back").onclick = keys.ArrowLeft[1];
$("next").onclick = keys.ArrowRight[1];
$("when").oninput = (e) => move(+e.target.value);
$("follow").onclick = toggle;
$("theme").onclick = theme;
$("help").onclick = keys["?"][1];
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
try { const t = localStorage.getItem("ppscript-theme"); if (t) document.documentElement.dataset.theme = t; } catch (e) { /* a page without storage */ }
window.ppscript = app;
(live ? start() : open()).catch((e) => { status(e.message, true); $("waiting")?.replaceChildren("The page cannot reach the run: " + e.message); });
