// Pictures of single figures, for `parsnets report --png`: with #figures the page says which figures it has and how
// high each is (<html data-figures>); with #only=ID it shows that one alone.

const Only = {
  start() {
    const { hash } = window.location;
    const wanted = hash.startsWith("#only=") ? hash.slice(6) : null;
    if (hash !== "#figures" && !wanted) return;
    document.documentElement.classList.add("only");
    if (wanted) {
      const frame = Page.frames.find((candidate) => candidate.node.id === wanted);
      if (!frame) return;
      Page.frames = [frame];
      document.getElementById("main").replaceChildren(frame.node);
    }
    Page.redraw();
    const height = (frame) => Math.ceil(frame.node.getBoundingClientRect().height);
    document.documentElement.dataset.figures =
      Page.frames.map((frame) => `${frame.node.id}:${height(frame)}`).join(" ");
  },
};
