// Tables that sort and filter.

const MOST_ROWS = 500;

// A Grid shows rows of cells. Columns are {name, title, unit, num, key, wide}; a row is {cells: [{text, value}],
// of: what it stands for}.
class Grid {
  constructor(options) {
    this.options = options || {};
    this.sort = this.options.sort || null; // {name, down}
    this.find = "";
    this.all = false;
    this.head = el("thead");
    this.body = el("tbody");
    this.more = el("button", { hidden: "", onclick: () => { this.all = true; this.draw(); } });
    this.element = el("div", { class: "scroll" }, el("table", {}, this.head, this.body), this.more);
    this.search = search("Filter rows", (text) => { this.find = text; this.draw(); });
    this.columns = [];
    this.rows = [];
  }
  update(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.draw();
  }
  by(name) {
    const c = this.columns.find((x) => x.name === name), down = c.num;
    if (!this.sort || this.sort.name !== name) this.sort = { name, down };
    else if (this.sort.down === down) this.sort = { name, down: !down };
    else this.sort = null; // as the script has them
    this.draw();
  }
  shown() {
    const match = matcher(this.find);
    let rows = match ? this.rows.filter((r) => r.cells.some((c) => match(c.text))) : this.rows;
    const at = this.sort ? this.columns.findIndex((c) => c.name === this.sort.name) : -1;
    if (at >= 0) {
      const turn = this.sort.down ? -1 : 1;
      rows = rows.slice().sort((a, b) => {
        const x = a.cells[at].value, y = b.cells[at].value;
        if (x === null || y === null) return (x === null) - (y === null);
        return turn * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
      });
    }
    return { rows, at };
  }
  draw() {
    const { rows, at } = this.shown();
    const focus = document.activeElement && this.head.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const order = (c) => this.sort && this.sort.name === c.name ? (this.sort.down ? "descending" : "ascending") : null;
    this.head.replaceChildren(el("tr", {}, ...this.columns.map((c) => el("th", { class: c.num ? "num" : "", "aria-sort": order(c), scope: "col" },
      el("button", { "data-name": c.name, onclick: () => this.by(c.name) }, c.title,
        c.unit ? el("span", { class: "unit" }, " " + c.unit) : null,
        order(c) ? (this.sort.down ? " \u25BC" : " \u25B2") : null)))));
    if (focus !== null) {
      const again = [...this.head.querySelectorAll("button")].find((b) => b.dataset.name === focus);
      if (again) again.focus();
    }
    const some = this.all ? rows : rows.slice(0, MOST_ROWS);
    let most = 0;
    if (at >= 0 && this.columns[at].num) for (const r of some) if (typeof r.cells[at].value === "number") most = Math.max(most, r.cells[at].value);
    const pick = this.options.pick;
    this.body.replaceChildren(...some.map((r) => {
      const tr = el("tr", pick ? { class: "pick" + (this.chosen && this.chosen(r.of) ? " chosen" : ""), tabindex: 0 } : {}, ...r.cells.map((cell, i) => {
        const c = this.columns[i];
        const td = el("td", { class: (c.num ? "num" : "") + (c.key ? " key" : "") + (c.wide ? " wide" : "") }, cell.text);
        if (i === at && most > 0 && typeof cell.value === "number") {
          td.style.background = `linear-gradient(to left, var(--bar) ${(100 * cell.value / most).toFixed(1)}%, transparent 0)`;
        }
        return td;
      }));
      if (pick) {
        tr.addEventListener("click", () => pick(r.of));
        tr.addEventListener("keydown", (e) => {
          if (e.key === "Enter") pick(r.of);
          const to = e.key === "ArrowDown" ? tr.nextSibling : e.key === "ArrowUp" ? tr.previousSibling : null;
          if (to) { to.focus(); e.preventDefault(); e.stopPropagation(); }
        });
      }
      return tr;
    }));
    this.more.hidden = some.length === rows.length;
    this.more.textContent = `Show all ${count(rows.length)} rows`;
    if (this.options.told) this.options.told(rows.length, this.rows.length);
  }
}

// scales reports that cells of the column have each the unit that keeps it short.
function scales(c) { return c.unit === "ns" || c.unit === "B"; }

// cellsOf are the rows of a record by its columns, as people read them.
function cellsOf(columns, row) {
  return columns.map((c) => {
    const value = row[c.name], text = row[c.name + "_text"];
    if (scales(c) && typeof value === "number") return { value, text: amount(value, c.unit) };
    return { value: value === undefined ? null : value, text: text !== undefined ? text : cellText(value, c) };
  });
}
function cellText(v, c) {
  if (v === null || v === undefined) return "-";
  if (Array.isArray(v)) return "(" + v.map((x) => cellText(x, c)).join(", ") + ")";
  if (typeof v === "number" && c.kind === "value") return Number.isInteger(v) ? count(v) : String(+v.toFixed(3));
  return String(v);
}
function titled(columns, rows) {
  return columns.map((c) => {
    const seen = rows.find((r) => r[c.name] !== null && r[c.name] !== undefined);
    const num = c.kind === "value" ? !seen || typeof seen[c.name] === "number" : !!seen && typeof seen[c.name] === "number" && seen[c.name + "_text"] === undefined;
    const long = rows.slice(0, 50).some((r) => typeof r[c.name] === "string" && r[c.name].length > 60);
    return { name: c.name, title: c.name, unit: scales(c) ? "" : c.text_unit || c.unit, num, key: c.kind === "key", wide: long };
  });
}

class TableView {
  constructor(id, title) {
    this.panel = panel(id, title);
    this.told = el("span", { class: "note" });
    this.grid = new Grid({ told: (shown, all) => { this.told.textContent = shown === all ? `${count(all)} row${all === 1 ? "" : "s"}` : `${count(shown)} of ${count(all)} rows`; } });
    this.panel.head.append(this.told, this.grid.search);
    this.panel.put(this.grid.element);
  }
  update(d) {
    this.grid.update(titled(d.columns, d.rows), d.rows.map((r) => ({ cells: cellsOf(d.columns, r), of: r })));
    this.panel.foot.textContent = footText(d);
  }
}
