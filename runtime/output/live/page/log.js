// Lines of events, and messages about the run.

class LogView {
  constructor(id, title) {
    this.panel = panel(id, title);
    this.told = el("span", { class: "note" });
    this.find = "";
    this.lines = [];
    this.panel.head.append(this.told, search("Filter lines", (text) => { this.find = text; this.draw(); }));
    this.text = el("pre", { class: "log", tabindex: 0 });
    this.panel.put(this.text);
  }
  update(lines, leftOut) {
    this.lines = lines;
    this.leftOut = leftOut;
    this.draw();
  }
  draw() {
    const match = matcher(this.find), end = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 30;
    const some = match ? this.lines.filter((l) => match(l.join(" "))) : this.lines;
    this.text.replaceChildren(...some.map((l) => el("div", {}, el("span", { class: "soft" }, l[0]), l[1])));
    this.told.textContent = `${count(some.length)} lines` + (this.leftOut ? `, ${count(this.leftOut)} more are not kept` : "");
    if (end) this.text.scrollTop = this.text.scrollHeight;
  }
}
// eventLine is an event as [when and who, what].
function eventLine(e) {
  const when = e.wall ? timeOfDay(e.wall) : (e.time / 1e9).toFixed(6);
  return [`${when} ${e.comm} ${e.tid} [${String(e.cpu).padStart(3, "0")}] `, `${e.event}: ${e.text}`];
}
function messageLine(type, d) {
  if (type === "message") return ["", d.text];
  return [type + ": ", Object.entries(d).map(([k, v]) => `${k}=${v}`).join(" ")];
}
function timeOfDay(wall) {
  const t = new Date(wall), rest = /\.(\d+)/.exec(wall);
  return t.toLocaleTimeString("en-GB") + (rest ? "." + rest[1].slice(0, 6).padEnd(6, "0") : "");
}
