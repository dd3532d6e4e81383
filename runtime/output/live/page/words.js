// Small words that the other parts use.

const $ = (id) => document.getElementById(id);

// el makes an element: el("td", { class: "num" }, "text", child).
function el(name, attrs, ...kids) {
  const e = document.createElement(name);
  for (const k in attrs || {}) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), attrs[k]);
    else if (attrs[k] !== false && attrs[k] !== null && attrs[k] !== undefined) e.setAttribute(k, attrs[k]);
  }
  e.append(...kids.filter((k) => k !== null && k !== undefined));
  return e;
}
const SVG = "http://www.w3.org/2000/svg";
function svg(name, attrs, ...kids) {
  const e = document.createElementNS(SVG, name);
  for (const k in attrs || {}) e.setAttribute(k, attrs[k]);
  e.append(...kids);
  return e;
}

const whole = new Intl.NumberFormat("en-US");
function count(n) { return whole.format(n); }
// short is a number in few characters: 12,345 or 1.2M.
function short(n) {
  for (const [by, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"]]) if (Math.abs(n) >= by) return (n / by).toFixed(1) + name;
  return count(Math.round(n));
}
function scaled(n, steps) {
  let [name, by] = steps[0];
  for (const s of steps) if (Math.abs(n) >= s[1]) [name, by] = s;
  const v = n / by;
  return (Number.isInteger(v) ? v : Math.abs(v) >= 100 ? v.toFixed(0) : v.toPrecision(3)) + " " + name;
}
const NS = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]];
const BYTES = [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824]];
// amount is a number in its unit.
function amount(n, unit) {
  if (unit === "ns") return scaled(n, NS);
  if (unit === "B") return scaled(n, BYTES);
  return unit ? count(n) + " " + unit : Number.isInteger(n) ? count(n) : String(n);
}
function percent(part, all) { return all ? (100 * part / all).toFixed(1) + "%" : "0%"; }

// matcher is a search as a function of texts; null for an empty one. What is no regular
// expression is searched for as it is.
function matcher(text) {
  if (!text) return null;
  try {
    const re = new RegExp(text, "i");
    return (s) => re.test(s);
  } catch (e) {
    const low = text.toLowerCase();
    return (s) => s.toLowerCase().includes(low);
  }
}

// hueOf is a colour of its own for each text.
function hueOf(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h >>> 0) % 360;
}

const tip = {
  show(text, event) {
    const e = $("tip");
    e.textContent = text;
    e.hidden = false;
    const at = event.clientX !== undefined ? { x: event.clientX, y: event.clientY } : event;
    const box = e.getBoundingClientRect();
    e.style.left = Math.max(4, Math.min(at.x + 14, innerWidth - box.width - 6)) + "px";
    let y = at.y + 18;
    if (y + box.height > innerHeight - 4) y = Math.max(4, at.y - box.height - 10);
    e.style.top = y + "px";
  },
  hide() { $("tip").hidden = true; },
};

// css is the value of a colour of the page as it is now.
function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function dark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// panel is the section of a result: its heading, and what is below.
function panel(id, title) {
  const head = el("header", {}, el("h2", {}, title));
  const foot = el("footer");
  const box = el("section", { id, tabindex: -1 }, head, foot);
  return { box, head, foot, title: head.firstChild, put: (...kids) => foot.before(...kids) };
}
function search(what, act) {
  return el("input", { type: "search", placeholder: what, "aria-label": what, spellcheck: "false", autocomplete: "off", oninput: (e) => act(e.target.value) });
}
// lossText is what is missing, in words.
function lossText(loss) {
  return Object.entries(loss || {}).filter(([, n]) => n > 0).map(([k, n]) => `${count(n)} ${k.replace("_", " ")}`).join(", ");
}
// sampledText is what a budget left out, in words.
function sampledText(c) {
  if (!c || !c.budget || (c.events >= 1 && c.time >= 1)) return "";
  const share = (x) => `${+(100 * x).toPrecision(3)}%`;
  const parts = [];
  if (c.events < 1) parts.push(`${share(c.events)} of the events counted`);
  if (c.time < 1) parts.push(`in ${share(c.time)} of the time`);
  return `estimates, within ± in 95 of 100 cases: ${parts.join(", ")}, for a budget of ${share(c.budget)} of the CPUs`;
}
function footText(d) {
  const parts = [];
  if (d.omitted) parts.push(`${count(d.omitted)} more are left out by the script`);
  const loss = lossText(d.loss);
  if (loss) parts.push("missing here: " + loss);
  const sampled = sampledText(d.cost);
  if (sampled) parts.push(sampled);
  return parts.join("; ");
}
