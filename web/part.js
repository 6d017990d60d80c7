// The part of the page about one data set: the tabs of its runs, and the sections of the selected run.

const SECTIONS = [
  ["results", "Results"],
  ["accuracy", "Accuracy"],
  ["design", "Design choices"],
  ["field", "Learning in the field"],
  ["open-set", "Unknown samples"],
  ["geometry", "Geometry"],
  ["training", "Training"],
  ["attributes", "Attributes"],
  ["provenance", "Provenance"],
];

// What the ids of each part begin with: its name, where several are on the page.
function partPrefixes(names) {
  const taken = new Set();
  return names.map((name, i) => {
    let prefix = name.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
    if (!prefix || taken.has(prefix)) prefix = `${prefix || "set"}_${i + 1}`;
    taken.add(prefix);
    return `${prefix}-`;
  });
}

class Part {
  constructor(report, prefix) {
    Object.assign(this, { report, prefix, selected: 0, frames: [] });
    this.photos = new Photos(report.thumbnails, () =>
      this.frames.filter((frame) => frame.figure.photos).forEach((frame) => frame.redraw()));
    // Names of landmarks have to differ between parts.
    this.label = (text) => (prefix ? `${text}: ${report.name}` : text);
  }

  // Of the whole part, where it is one of several.
  get id() {
    return `${this.prefix}part`;
  }

  // Headings are one level deeper where each part has one of its own.
  heading(depth) {
    return `h${depth + (this.prefix ? 3 : 2)}`;
  }

  nodes() {
    this.panel = element("div", { id: `${this.prefix}run-panel` });
    const nodes = [this.panel];
    if (this.report.runs.length > 1) {
      nodes.unshift(this.runTabs());
      this.panel.setAttribute("role", "tabpanel");
      this.panel.setAttribute("aria-labelledby", this.tabId(this.selected));
    }
    return this.prefix ? [element("div", { id: this.id, class: "part" },
      element("h2", { id: `${this.id}-heading`, class: "part-heading" }, this.report.name), ...nodes)] : nodes;
  }

  tabId(index) {
    return `${this.prefix}run-tab-${index}`;
  }

  runTabs() {
    const tabs = this.report.runs.map((run, i) => element("button", {
      type: "button", role: "tab", id: this.tabId(i), "aria-controls": this.panel.id,
      "aria-selected": String(i === this.selected), tabindex: i === this.selected ? "0" : "-1",
      onclick: () => select(i),
    }, run.name));
    const select = (index) => {
      this.selected = index;
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === index));
        tab.tabIndex = i === index ? 0 : -1;
      });
      this.panel.setAttribute("aria-labelledby", this.tabId(index));
      this.showRun();
    };
    return element("div", { class: "run-tabs", role: "tablist", "aria-label": this.label("Runs"), onkeydown: (event) => {
      const moves = { ArrowRight: this.selected + 1, ArrowLeft: this.selected - 1, Home: 0, End: tabs.length - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      const index = (moves[event.key] + tabs.length) % tabs.length;
      select(index);
      tabs[index].focus();
    } }, ...tabs);
  }

  showRun() {
    const run = this.report.runs[this.selected];
    this.frames = [];
    const sections = SECTIONS.map(([id, name]) => {
      const headingId = `${this.prefix}${id}-heading`;
      const section = element("section", { id: `${this.prefix}${id}`, class: `section-${id}`,
        "aria-labelledby": this.prefix ? `${this.id}-heading ${headingId}` : headingId },
      element(this.heading(0), { id: headingId, class: "section-heading" }, name));
      if (id === "results") section.append(...resultsParts(run, this));
      if (id === "provenance") section.append(...provenanceParts(run, this));
      for (const figure of FIGURES.filter((candidate) => candidate.section === id)) {
        const data = figure.data(run, this.report);
        if (data === null || data === undefined) {
          const missing = typeof figure.missing === "function" ? figure.missing(run) : figure.missing;
          if (missing) section.append(element("p", { class: "absent", "data-figure": figure.id }, ...withCode(missing)));
          continue;
        }
        const frame = new Frame(figure, data, run, this, this.frames.length + 1);
        this.frames.push(frame);
        section.append(frame.node);
      }
      return section;
    });
    this.panel.replaceChildren(...sections);
    this.frames.forEach((frame) => frame.redraw());
  }
}
