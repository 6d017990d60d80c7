// The grid of pictures: one group per class where that leaves groups of some size, filters, marks, arrow keys.

const MARKS = {
  own: ["★", "classified as your class"],
  wrong: ["×", "misclassified"],
  unknown: ["?", "unknown"],
};

const PHOTOS = Symbol("photos");  // the group of photos of one's own

class Grid {
  // `page` provides bank, items, pictures, selected, verdict(item), select(item).
  constructor(page) {
    this.page = page;
    this.node = document.getElementById("grid");
    this.node.classList.toggle("named", !page.pictures.any);
    this.label = "";
    this.given = "";
    this.onlyUnseen = false;
    this.tiles = new Map();
    this.heads = [];
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.filters = document.getElementById("filters");
    this.removal = element("button", { type: "button", class: "small", id: "remove-photos", onclick: () => page.removePhotos() }, "Remove them");
    document.getElementById("legend").append(...Object.values(MARKS)
      .map(([mark, text]) => element("span", {}, element("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${text}`)));
  }

  labels() {
    return [...new Set(this.page.items.map((item) => item.label).filter(Boolean))];
  }

  // Controls and tiles anew.
  build() {
    this.buildFilters();
    this.buildTiles();
  }

  buildFilters() {
    const given = [...this.page.bank.present().map((one) => one.name), ...(this.page.rejecting ? [UNKNOWN] : [])];
    if (this.filters.dataset.given === given.join()) return;
    this.filters.dataset.given = given.join();
    if (!given.includes(this.given)) this.given = "";
    const change = (field) => (value) => {
      this[field] = value;
      this.buildTiles();
    };
    const held = this.filters.contains(document.activeElement) && document.activeElement.closest("label").dataset.filter;
    const controls = {
      label: selectControl("Class", [["", "all"], ...this.labels().map((name) => [name, Names.of(name)])], this.label, change("label")),
      given: selectControl("Classified as", [["", "any"], ...given.map((name) => [name, Names.of(name)])], this.given, change("given")),
      onlyUnseen: checkboxControl("Only unseen classes", this.onlyUnseen, change("onlyUnseen")),
    };
    for (const [name, control] of Object.entries(controls)) control.dataset.filter = name;
    this.filters.replaceChildren(controls.label, controls.given, ...(this.unseen().size ? [controls.onlyUnseen] : []));
    if (held) controls[held].querySelector("select, input").focus();
  }

  unseen() {
    return new Set(this.page.bank.classes.filter((one) => !one.seen).map((one) => one.name));
  }

  shown() {
    const unseen = this.unseen();
    return this.page.items.filter((item) => (!this.given || this.page.verdict(item) === this.given)
      && (item.photo || ((!this.label || item.label === this.label) && (!this.onlyUnseen || unseen.has(item.label)))));
  }

  buildTiles() {
    const shown = this.shown();
    const groups = new Map();
    const grouped = this.label || shown.length >= 4 * new Set(shown.map((item) => item.label)).size;
    const reading = this.page.photoInput ? this.page.photoInput.queue : [];
    if (reading.length) groups.set(PHOTOS, []);
    for (const item of shown) {
      const name = item.photo ? PHOTOS : grouped ? item.label : null;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(item);
    }
    const held = [...this.tiles].find(([, tile]) => tile === document.activeElement);
    this.tiles.clear();
    this.heads = [];
    this.node.replaceChildren(...[...groups].map(([name, items]) => this.group(name, items, name === PHOTOS ? reading : [])));
    if (!shown.length && !reading.length && this.page.items.length) this.node.append(element("p", { class: "note" }, "No pictures match."));
    this.mark();
    if (held) (this.tiles.get(held[0]) || this.node.querySelector("[tabindex='0']") || this.filters.querySelector("select")).focus();
  }

  // After predictions: the filter by class given may show others.
  update() {
    const shown = this.shown();
    if (shown.length !== this.tiles.size || shown.some((item) => !this.tiles.has(item))) this.buildTiles();
    else this.mark();
  }

  // `reading`: files that become items of the group.
  group(name, items, reading) {
    const head = element("h3", { class: "group-head" });
    this.heads.push({ head, name });
    const places = reading.map((file) => element("span", { class: "placeholder", role: "img", "aria-label": `Reading ${isolated(file.name)}` }, "…"));
    return element("div", { class: "group" }, head, element("div", { class: "tiles" }, ...places, ...items.map((item) => {
      const tile = element("button", { type: "button", class: "tile", tabindex: "-1",
        onclick: () => this.page.select(item) }, this.page.pictures.node(item), element("span", { class: "mark", "aria-hidden": "true" }));
      this.tiles.set(item, tile);
      return tile;
    })));
  }

  // What the predictions say: marks, names of tiles, and one line per class.
  mark() {
    for (const [item, tile] of this.tiles) {
      const verdict = this.page.verdict(item);
      const kind = this.kind(item, verdict);
      const selected = item === this.page.selected;
      tile.className = `tile${kind ? ` ${kind}` : ""}`;
      tile.lastElementChild.textContent = kind ? MARKS[kind][0] : "";
      tile.setAttribute("aria-pressed", String(selected));
      tile.setAttribute("aria-label", `${item.label ? `${Names.of(item.label)}, ` : ""}${pictureName(item)}${verdict ? `: ${Names.of(verdict)}` : ""}`);
      tile.tabIndex = selected ? 0 : -1;
    }
    if (!this.tiles.has(this.page.selected) && this.tiles.size) this.tiles.values().next().value.tabIndex = 0;
    for (const { head, name } of this.heads) head.replaceChildren(...(name === PHOTOS ? ["Your photos", this.removal] : this.line(name)));
  }

  kind(item, verdict) {
    if (!verdict) return null;
    if (verdict === UNKNOWN) return "unknown";
    if (this.page.bank.isOwn(verdict)) return "own";
    return item.label && item.label !== verdict ? "wrong" : null;
  }

  line(name) {
    const { bank } = this.page;
    if (name === null) {
      const samples = [...this.tiles.keys()].filter((item) => item.label);
      const right = samples.filter((item) => this.page.verdict(item) === item.label).length;
      const all = count(samples.length, "picture");
      return [this.page.predicted() ? `${right} of ${all} classified correctly` : all];
    }
    const { all, right, unknown } = this.page.score(name);
    const described = bank.byName.get(name);
    const absent = !bank.present().some((one) => one.name === name);
    const predicted = this.page.predicted();
    const text = absent ? `${count(all, "picture")}; the class is hidden`
      : predicted ? `${right} of ${all} classified correctly${unknown ? `, ${unknown} unknown` : ""}` : count(all, "picture");
    const meter = element("span", { class: "meter", "aria-hidden": "true" }, element("span", {}));
    meter.firstChild.style.width = `${absent || !predicted ? 0 : (100 * right) / all}%`;
    return [classTag(name, described && described.seen, bank.isOwn(name)), element("span", { class: "score" }, text), meter];
  }

  key(event) {
    const tiles = [...this.tiles.values()];
    const at = tiles.indexOf(document.activeElement);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tiles.length - 1 }[event.key]
      ?? { ArrowUp: this.above(tiles, at, -1), ArrowDown: this.above(tiles, at, 1) }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tile = tiles[Math.max(0, Math.min(tiles.length - 1, to))];
    tile.focus();
    tile.click();
  }

  // The tile of the next row (or the one before) that is nearest.
  above(tiles, at, way) {
    const place = (tile) => tile.getBoundingClientRect();
    const here = place(tiles[at]);
    let best = at;
    let row = null;
    for (let i = at + way; i >= 0 && i < tiles.length; i += way) {
      const there = place(tiles[i]);
      if (Math.abs(there.top - here.top) < 2) continue;
      if (row === null) row = there.top;
      if (Math.abs(there.top - row) > 2) break;
      if (best === at || Math.abs(there.left - here.left) < Math.abs(place(tiles[best]).left - here.left)) best = i;
    }
    return best;
  }
}
