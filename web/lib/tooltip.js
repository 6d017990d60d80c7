// The one tooltip of the page. A tip is {title, rows: [[name, value]], sample?}.

const Tooltip = {
  show(tip, clientX, clientY) {
    const node = document.getElementById("tooltip");
    node.replaceChildren();
    if (Photos.has(tip.sample)) node.append(Photos.canvas(tip.sample, 96));
    const text = element("div", {});
    if (tip.title) text.append(element("strong", {}, tip.title));
    if (tip.rows && tip.rows.length) {
      text.append(element("dl", {}, ...tip.rows.flatMap(([name, value]) =>
        [element("dt", {}, name), element("dd", {}, value)])));
    }
    node.append(text);
    node.hidden = false;
    const { width, height } = node.getBoundingClientRect();
    const margin = 8;
    const left = Math.min(Math.max(margin, clientX - width / 2), document.documentElement.clientWidth - width - margin);
    const above = clientY - height - 14;
    node.style.left = `${Math.max(margin, left)}px`;
    node.style.top = `${above >= margin ? above : clientY + 18}px`;
  },

  hide() {
    document.getElementById("tooltip").hidden = true;
  },

  announce(tip) {
    const rows = (tip.rows || []).map(([name, value]) => `${name} ${value}`).join(", ");
    document.getElementById("announcer").textContent = tip.title ? `${tip.title}: ${rows}` : rows;
  },
};
