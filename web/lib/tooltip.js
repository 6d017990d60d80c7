// The one tooltip of the page. A tip is {title, rows: [[name, value]], sample?}.

const Tooltip = {
  anchor: null,

  // `anchor()` gives the mark's place in the window, {x, y, reach}, and is asked again when the page scrolls.
  show(tip, anchor, photos) {
    const node = document.getElementById("tooltip");
    node.replaceChildren();
    if (photos.has(tip.sample)) node.append(photos.canvas(tip.sample, 96));
    const text = element("div", {});
    if (tip.title) text.append(element("strong", {}, tip.title));
    if (tip.rows && tip.rows.length) {
      text.append(element("dl", {}, ...tip.rows.flatMap(([name, value]) =>
        [element("dt", {}, name), element("dd", {}, value)])));
    }
    node.append(text);
    node.hidden = false;
    Tooltip.anchor = anchor;
    Tooltip.place();
  },

  place() {
    const node = document.getElementById("tooltip");
    if (node.hidden) return;
    const { x, y, reach } = Tooltip.anchor();
    const { width, height } = node.getBoundingClientRect();
    const margin = 8;
    const left = Math.min(x - width / 2, document.documentElement.clientWidth - width - margin);
    const above = y - reach - height - 8;
    node.style.left = `${Math.max(margin, left)}px`;
    node.style.top = `${above >= margin ? above : y + reach + 8}px`;
  },

  hide() {
    document.getElementById("tooltip").hidden = true;
  },

  announce(tip) {
    const rows = (tip.rows || []).map(([name, value]) => `${name} ${value}`).join(", ");
    document.getElementById("announcer").textContent = tip.title ? `${tip.title}: ${rows}` : rows;
  },
};
