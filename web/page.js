// Puts the page together: the overview of several data sets, a part for each, contents, and what redraws them.

const Page = {
  report: null,
  parts: [],

  start() {
    Page.report = JSON.parse(document.getElementById("report-data").textContent);
    document.title = Page.report.title;
    document.getElementById("producer").textContent = Page.report.producer;
    // Style sheets recolour SVG; a canvas has to be painted again.
    Theme.start(() => Page.redraw((frame) => frame.figure.kind === "canvas"));
    Page.build();
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
    main.replaceChildren(element("h1", {}, report.title));
    const entries = [];
    if (report.parts) {
      const prefixes = partPrefixes(report.parts.map((part) => part.name));
      Page.parts = report.parts.map((part, i) => new Part(part, prefixes[i]));
      main.append(element("section", { id: "overview", "aria-labelledby": "overview-heading" },
        element("h2", { id: "overview-heading", class: "part-heading" }, "Overview"), ...overviewParts(report.overview, prefixes)));
      entries.push(["overview", "Overview", []]);
    } else {
      Page.parts = [new Part(report, "")];
    }
    for (const part of Page.parts) main.append(...part.nodes());
    for (const part of Page.parts) {
      const sections = SECTIONS.map(([id, name]) => [`${part.prefix}${id}`, name, []]);
      if (part.prefix) entries.push([part.id, part.report.name, sections]);
      else entries.push(...sections);
    }
    document.getElementById("contents").replaceChildren(Page.contentsList(entries));
    for (const part of Page.parts) part.showRun();
  },

  contentsList: (entries) => element("ol", {}, ...entries.map(([id, name, inner]) => element("li", {},
    element("a", { href: `#${id}` }, name), inner.length ? Page.contentsList(inner) : null))),

  get frames() {
    return Page.parts.flatMap((part) => part.frames);
  },

  redraw(which = () => true) {
    Page.frames.filter(which).forEach((frame) => frame.redraw());
  },

  // Marks the place that is read: the link to its section, and the one to its data set, whose sections are then listed.
  markContents() {
    const links = [...document.querySelectorAll("#contents a")];
    const line = window.innerHeight * 0.3;
    let current = links[0];
    for (const link of links) {
      const target = document.getElementById(link.hash.slice(1));
      if (target && target.getBoundingClientRect().top <= line) current = link;
    }
    for (const link of links) {
      const item = link.parentElement;
      const here = item.contains(current);
      item.classList.toggle("open", here);
      if (here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  },
};
