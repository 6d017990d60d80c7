// Puts the page together: header, results, sections of figures, contents, and what redraws them.

const SECTIONS = [
  ["results", "Results"],
  ["accuracy", "Accuracy"],
  ["design", "Design choices"],
  ["field", "Learning in the field"],
  ["geometry", "Geometry"],
  ["training", "Training"],
  ["attributes", "Attributes"],
  ["provenance", "Provenance"],
];

const Page = {
  report: null,
  frames: [],
  selected: 0,

  start() {
    Page.report = JSON.parse(document.getElementById("report-data").textContent);
    document.title = Page.report.title;
    document.getElementById("producer").textContent = Page.report.producer;
    // Style sheets recolour SVG; a canvas has to be painted again.
    Theme.start(() => Page.redraw((frame) => frame.figure.kind === "canvas"));
    Page.build();
    Photos.load(Page.report.thumbnails, () => Page.redraw((frame) => frame.figure.photos));
    let pending = null;
    new ResizeObserver(() => {
      clearTimeout(pending);
      pending = setTimeout(() => Page.redraw((frame) => frame.width !== frame.drawnWidth), 80);
    }).observe(document.getElementById("main"));
    Page.preparePrint();
    document.addEventListener("scroll", () => {
      Page.markContents();
      Tooltip.place();
    }, { passive: true });
    Page.markContents();
  },

  // Paper has its own width and light colours, and a canvas holds pixels: everything is drawn anew for it.
  preparePrint() {
    const root = document.documentElement;
    let theme = null;
    const set = (printing) => {
      if (root.classList.contains("printing") === printing) return;
      root.classList.toggle("printing", printing);
      if (printing) theme = root.dataset.theme;
      root.dataset.theme = printing ? "light" : theme;
      Page.redraw();
    };
    window.addEventListener("beforeprint", () => set(true));
    window.addEventListener("afterprint", () => set(false));
    window.matchMedia("print").addEventListener("change", (event) => set(event.matches));
  },

  build() {
    const { report } = Page;
    const main = document.getElementById("main");
    const panel = element("div", { id: "run-panel" });
    main.replaceChildren(element("h1", {}, report.title));
    if (report.runs.length > 1) {
      main.append(Page.runTabs(panel));
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `run-tab-${Page.selected}`);
    }
    main.append(panel);
    document.getElementById("contents").replaceChildren(element("ol", {},
      ...SECTIONS.map(([id, name]) => element("li", {}, element("a", { href: `#${id}` }, name)))));
    Page.showRun();
  },

  runTabs(panel) {
    const tabs = Page.report.runs.map((run, i) => element("button", {
      type: "button", role: "tab", id: `run-tab-${i}`, "aria-controls": "run-panel",
      "aria-selected": String(i === Page.selected), tabindex: i === Page.selected ? "0" : "-1",
      onclick: () => select(i),
    }, run.name));
    const select = (index) => {
      Page.selected = index;
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === index));
        tab.tabIndex = i === index ? 0 : -1;
      });
      panel.setAttribute("aria-labelledby", `run-tab-${index}`);
      Page.showRun();
    };
    return element("div", { class: "run-tabs", role: "tablist", "aria-label": "Runs", onkeydown: (event) => {
      const moves = { ArrowRight: Page.selected + 1, ArrowLeft: Page.selected - 1, Home: 0, End: tabs.length - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      const index = (moves[event.key] + tabs.length) % tabs.length;
      select(index);
      tabs[index].focus();
    } }, ...tabs);
  },

  showRun() {
    const { report } = Page;
    const run = report.runs[Page.selected];
    const panel = document.getElementById("run-panel");
    Page.frames = [];
    const sections = SECTIONS.map(([id, name]) => {
      const section = element("section", { id, "aria-labelledby": `${id}-heading` },
        element("h2", { id: `${id}-heading` }, name));
      if (id === "results") section.append(...resultsParts(run, report, Page.selected));
      if (id === "provenance") section.append(...provenanceParts(run));
      for (const figure of FIGURES.filter((candidate) => candidate.section === id)) {
        const data = figure.data(run, report);
        if (data === null || data === undefined) {
          const missing = typeof figure.missing === "function" ? figure.missing(run) : figure.missing;
          if (missing) section.append(element("p", { class: "absent", "data-figure": figure.id }, ...withCode(missing)));
          continue;
        }
        const frame = new Frame(figure, data, run, report, Page.frames.length + 1);
        Page.frames.push(frame);
        section.append(frame.node);
      }
      return section;
    });
    panel.replaceChildren(...sections);
    Page.redraw();
  },

  redraw(which = () => true) {
    Page.frames.filter(which).forEach((frame) => frame.redraw());
  },

  markContents() {
    const links = [...document.querySelectorAll("#contents a")];
    const line = window.innerHeight * 0.3;
    let current = links[0];
    for (const link of links) {
      const section = document.querySelector(link.getAttribute("href"));
      if (section && section.getBoundingClientRect().top <= line) current = link;
    }
    for (const link of links) {
      if (link === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  },
};
