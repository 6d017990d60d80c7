// Pictures of single figures, for `parsnets report --pictures`. What the address of the page ends with says what it does:
//   #figures    <html data-figures> names the figures and how high each is
//   #only=ID    shows that figure alone
//   #svg        adds the chart of each figure as SVG, in <script type="text/plain" data-svg="ID">
//   #paper=ID   shows the chart of that figure alone, on paper of its size

const Only = {
  async start() {
    const [mode, id] = window.location.hash.slice(1).split("=");
    const work = { figures: Only.list, only: Only.show, svg: Only.write, paper: Only.print }[mode];
    if (!work) return;
    document.documentElement.classList.add("only");
    Page.redraw();
    if (mode === "svg" || mode === "paper") await Promise.all(Page.parts.map((part) => part.photos.ready));
    work(Page.frames.find((frame) => frame.node.id === id));
  },

  list() {
    const height = (frame) => Math.ceil(frame.node.getBoundingClientRect().height);
    document.documentElement.dataset.figures =
      Page.frames.map((frame) => `${frame.node.id}:${height(frame)}`).join(" ");
  },

  show(frame) {
    if (!frame) return;
    for (const part of Page.parts) part.frames = part.frames.filter((one) => one === frame);
    document.getElementById("main").replaceChildren(frame.node);
    Page.redraw();
  },

  write() {
    for (const frame of Page.frames) {
      document.body.append(element("script", { type: "text/plain", "data-svg": frame.node.id }, frame.standalone()));
    }
  },

  print(frame) {
    if (!frame) return;
    const svg = document.importNode(new DOMParser().parseFromString(frame.standalone(), "image/svg+xml").documentElement, true);
    const [width, height] = ["width", "height"].map((side) => `${svg.getAttribute(side)}px`);
    document.querySelectorAll("style").forEach((style) => style.remove());
    document.head.append(element("style", {}, `@page { size: ${width} ${height}; margin: 0; } html, body { margin: 0; width: ${width}; `
      + `height: ${height}; overflow: hidden; } svg { display: block; }`));
    document.body.replaceChildren(svg);
  },
};
