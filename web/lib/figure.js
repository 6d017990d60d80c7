// The frame of a figure: heading, sentence, controls, chart, downloads, numbers; and the keyboard and pointer in its chart.
//
// defineFigure({id, section, title, missing,
//   data(run, report)        the figure's data, or null: then the line `missing` (text, or a function of the run) stands in its place
//   sentence(data, run)      one sentence that says what is seen, also the alternative text
//   table(data, run)         {columns, rows}: the numbers and the CSV
//   controls(frame, data)    optional: fills frame.controls once
//   draw(frame, data, run)   draws into frame.svg(height) or frame.canvas(height), and sets frame.marks(...)
//   hint, beside, kind,      optional: words on the keys; a node beside the chart; "canvas" has no SVG download
//   photos, quietFocus,      the drawing holds photos; focus alone shows no mark
//   onKey, onClick, onDrag, onWheel})  optional: what the figure does beyond stepping through marks

const FIGURES = [];

function defineFigure(figure) {
  FIGURES.push(figure);
}

class Frame {
  constructor(figure, data, run, part, number) {
    Object.assign(this, { figure, data, run, part, report: part.report });
    this.state = {};
    const sentence = figure.sentence(data, run);
    const id = `fig-${part.prefix}${figure.id}`;
    this.sentence = element("p", { class: "sentence" }, sentence);
    this.controls = element("div", { class: "controls" });
    this.chart = element("div", { class: `chart ${figure.kind === "canvas" ? "canvas-chart" : ""}`, tabindex: "0",
      role: "application", "aria-label": `${figure.title}. ${sentence}`, "aria-describedby": `${id}-hint` });
    this.hint = element("p", { class: "visually-hidden", id: `${id}-hint` },
      figure.hint || "Arrow keys step through the marks, Escape closes the tooltip.");
    this.cursor = element("div", { class: "cursor", hidden: true });
    this.numbers = element("div", { class: "numbers", id: `${id}-numbers`, hidden: true });
    const beside = figure.beside ? figure.beside(this, data, run) : null;
    this.node = element("figure", { id, class: "figure" },
      element("figcaption", {},
        element(part.heading(1), { class: "figure-heading" }, element("span", { class: "figure-number" }, `Figure ${number}`), ` ${figure.title}`), this.sentence),
      this.controls,
      beside ? element("div", { class: "with-aside" }, this.chart, beside) : this.chart,
      this.hint, this.toolbar(), this.numbers);
    this.listen();
    if (figure.controls) figure.controls(this, data, run);
  }

  toolbar() {
    const { figure } = this;
    const button = (text, onclick, extra = {}) =>
      element("button", { type: "button", "aria-label": `${text}: ${figure.title}`, onclick, ...extra }, text);
    const numbers = button("Numbers", () => {
      const open = this.numbers.hidden;
      if (open) this.numbers.replaceChildren(plainTable(figure.table(this.data, this.run), this.part.label(`Numbers of ${figure.title}`)));
      this.numbers.hidden = !open;
      numbers.setAttribute("aria-expanded", String(open));
    }, { "aria-expanded": "false", "aria-controls": `fig-${this.part.prefix}${figure.id}-numbers` });
    const name = `${this.part.prefix}${this.run.name}-${figure.id}`.replace(/[^\w.-]+/g, "_");
    const csv = button("CSV", () =>
      save(`${name}.csv`, new Blob([csvText(figure.table(this.data, this.run))], { type: "text/csv" })));
    const svg = figure.kind === "canvas" ? null : button("SVG", () => saveSvg(name, this.chart.querySelector("svg")));
    const png = button("PNG", () => {
      if (figure.kind === "canvas") saveCanvasAsPng(name, this.chart.querySelector("canvas"), () => this.redraw());
      else saveSvgAsPng(name, this.chart.querySelector("svg"));
    });
    return element("div", { class: "toolbar" }, numbers, csv, svg, png);
  }

  say(sentence) {
    this.sentence.textContent = sentence;
    this.chart.setAttribute("aria-label", `${this.figure.title}. ${sentence}`);
  }

  get width() {
    return this.chart.clientWidth;
  }

  redraw() {
    if (this.width < 40) return;
    this.drawnWidth = this.width;
    this.markRows = [];
    this.figure.draw(this, this.data, this.run);
    this.hideMark();
  }

  // A fresh SVG of the chart's width, as a D3 selection.
  svg(height, width = this.width) {
    const label = this.sentence.textContent;
    const svg = d3.create("svg").attr("width", width).attr("height", Math.ceil(height)).attr("viewBox", `0 0 ${width} ${Math.ceil(height)}`)
      .attr("role", "img").attr("aria-label", label);
    svg.append("desc").text(label);
    const scroll = this.chart.scrollTop;
    this.chart.replaceChildren(svg.node(), this.cursor);
    this.chart.scrollTop = scroll;
    return svg;
  }

  // On paper a drawing taller than a page becomes slices between the given heights, so that pages break between them.
  slice(svg, edges) {
    if (!document.documentElement.classList.contains("printing")) return;
    const width = svg.attr("width");
    this.chart.replaceChildren(...edges.slice(0, -1).map((top, i) => {
      const part = svg.node().cloneNode(true);
      const height = edges[i + 1] - top - 8;
      part.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
      part.setAttribute("height", height);
      return part;
    }), this.cursor);
  }

  // The canvas at the screen's resolution; returns its context, scaled to CSS pixels.
  canvas(height, width = this.width) {
    let canvas = this.chart.querySelector("canvas");
    if (!canvas) {
      canvas = element("canvas", { role: "img" });
      this.chart.replaceChildren(canvas, this.cursor);
    }
    const scale = Math.max(2, window.devicePixelRatio || 1);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.setAttribute("aria-label", this.sentence.textContent);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.fillStyle = Theme.color("paper");
    context.fillRect(0, 0, width, height);
    context.font = `12px ${Theme.color("sans")}`;
    return context;
  }

  // What the pointer and the arrow keys find: rows of {x, y, tip, width?, height?} in chart pixels. With `vertical` the
  // rows run down the page. `find(x, y)` replaces the search for the nearest mark; `radius` is how near it has to be.
  marks(rows, { vertical = false, radius = 28, find = null } = {}) {
    this.markRows = rows.filter((row) => row.length > 0);
    this.vertical = vertical;
    this.at = null;
    let tree = null;
    this.find = find || ((x, y) => {
      tree = tree || d3.quadtree(this.markRows.flat(), (mark) => mark.x, (mark) => mark.y);
      return tree.find(x, y, radius) || null;
    });
  }

  showMark(mark, announce) {
    const { width = 16, height = 16 } = mark;
    this.byKey = announce;
    this.cursor.hidden = false;
    Object.assign(this.cursor.style, { left: `${mark.x - width / 2}px`, top: `${mark.y - height / 2}px`,
      width: `${width}px`, height: `${height}px` });
    if (announce) {
      // Keep the mark in view of a chart that scrolls in its own box, and of the page.
      const { scrollTop, clientHeight } = this.chart;
      if (mark.y < scrollTop + 90 || mark.y > scrollTop + clientHeight - 16) this.chart.scrollTop = mark.y - clientHeight / 2;
      this.cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    Tooltip.show(mark.tip, () => {
      const box = this.chart.getBoundingClientRect();
      return { x: box.left + mark.x, y: box.top + mark.y - this.chart.scrollTop, reach: height / 2 };
    }, this.part.photos);
    if (announce) Tooltip.announce(mark.tip);
  }

  hideMark() {
    if (this.cursor.hidden) return;
    this.cursor.hidden = true;
    Tooltip.hide();
  }

  // Moves the keyboard's mark by one along a row or across rows.
  step(along, across) {
    const rows = this.markRows;
    if (!rows.length) return;
    if (!this.at) {
      this.at = [0, 0];
    } else {
      let [row, index] = this.at;
      if (across) {
        const here = rows[row][index];
        row = Math.min(rows.length - 1, Math.max(0, row + across));
        const distance = (mark) => Math.abs(this.vertical ? mark.y - here.y : mark.x - here.x);
        index = d3.scan(rows[row], (a, b) => distance(a) - distance(b));
      }
      index = Math.min(rows[row].length - 1, Math.max(0, index + along));
      this.at = [row, index];
    }
    this.showMark(rows[this.at[0]][this.at[1]], true);
  }

  listen() {
    const { chart, figure } = this;
    chart.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Escape") {
        this.hideMark();
        return;
      }
      let used = true;
      if (figure.onKey && figure.onKey(this, event)) used = true;
      else if (event.key === "Home" && this.markRows.length) {
        this.at = [this.at ? this.at[0] : 0, 0];
        this.step(0, 0);
      } else if (event.key === "End" && this.markRows.length) {
        const row = this.at ? this.at[0] : 0;
        this.at = [row, this.markRows[row].length - 1];
        this.step(0, 0);
      } else {
        const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
        const move = moves[event.key];
        if (!move) used = false;
        else if (this.vertical) this.step(move[1], move[0]);
        else this.step(move[0], move[1]);
      }
      if (used) event.preventDefault();
    });
    chart.addEventListener("focus", () => {
      if (chart.matches(":focus-visible") && !figure.quietFocus) this.step(0, 0);
    });
    chart.addEventListener("blur", () => this.hideMark());
    chart.addEventListener("pointermove", (event) => {
      if (this.dragging || !this.find) return;
      const drawing = chart.querySelector("svg, canvas");
      if (!drawing) return;
      const box = drawing.getBoundingClientRect();
      const mark = this.find(event.clientX - box.left, event.clientY - box.top);
      if (mark) this.showMark(mark, false);
      else this.hideMark();
    });
    chart.addEventListener("pointerleave", () => this.hideMark());
    if (figure.onClick) {
      chart.addEventListener("click", (event) => {
        const box = chart.querySelector("svg, canvas").getBoundingClientRect();
        const mark = this.find ? this.find(event.clientX - box.left, event.clientY - box.top) : null;
        figure.onClick(this, mark);
      });
    }
    if (figure.onDrag) this.listenDrag();
    if (figure.onWheel) {
      chart.addEventListener("wheel", (event) => {
        // Only a chart in use takes the wheel: the page must stay scrollable.
        if (document.activeElement !== chart && !event.ctrlKey) return;
        const box = chart.querySelector("svg, canvas").getBoundingClientRect();
        event.preventDefault();
        figure.onWheel(this, event.deltaY, event.clientX - box.left, event.clientY - box.top);
      }, { passive: false });
    }
  }

  listenDrag() {
    const { chart, figure } = this;
    let last = null;
    chart.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      last = [event.clientX, event.clientY];
      chart.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.hideMark();
    });
    chart.addEventListener("pointermove", (event) => {
      if (!last) return;
      figure.onDrag(this, event.clientX - last[0], event.clientY - last[1]);
      last = [event.clientX, event.clientY];
    });
    const stop = () => {
      last = null;
      this.dragging = false;
    };
    chart.addEventListener("pointerup", stop);
    chart.addEventListener("pointercancel", stop);
  }
}
