// CSV, SVG and PNG of a figure, made in the page.

function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function csvText({ columns, rows }) {
  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

// Presentation attributes that the style sheet sets, with the values SVG takes without them.
const SVG_DEFAULTS = {
  fill: "rgb(0, 0, 0)", "fill-opacity": "1", stroke: "none", "stroke-width": "1px", "stroke-opacity": "1",
  "stroke-dasharray": "none", "stroke-linejoin": "miter", opacity: "1", "font-family": null, "font-size": null,
  "font-weight": "400", "text-anchor": "start", "paint-order": "normal",
};
const TEXT_ONLY = new Set(["font-family", "font-size", "font-weight", "text-anchor", "paint-order"]);

// A copy of the chart that stands alone: the style sheet's light colours become attributes.
function standaloneSvg(svg) {
  return Theme.withLight(() => {
    const copy = svg.cloneNode(true);
    const originals = [svg, ...svg.querySelectorAll("*")];
    const copies = [copy, ...copy.querySelectorAll("*")];
    originals.forEach((original, i) => {
      if (["title", "desc"].includes(original.localName)) return;
      const style = getComputedStyle(original);
      const isText = original.localName === "text" || original.localName === "tspan";
      for (const [name, usual] of Object.entries(SVG_DEFAULTS)) {
        if (TEXT_ONLY.has(name) && !isText) continue;
        const value = style.getPropertyValue(name);
        if (value !== usual) copies[i].setAttribute(name, value);
      }
      copies[i].removeAttribute("class");
      copies[i].removeAttribute("style");
    });
    const width = svg.getAttribute("width");
    const height = svg.getAttribute("height");
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    paper.setAttribute("width", width);
    paper.setAttribute("height", height);
    paper.setAttribute("fill", Theme.color("paper"));
    copy.insertBefore(paper, copy.firstChild);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return new XMLSerializer().serializeToString(copy);
  });
}

// A canvas as an SVG that holds its pixels, in light colours as well; `redraw` as below.
function canvasAsSvg(canvas, redraw) {
  const image = Theme.withLight(() => {
    redraw();
    return canvas.toDataURL("image/png");
  });
  redraw();
  const [width, height] = [canvas.style.width, canvas.style.height].map((side) => Math.round(parseFloat(side)));
  const svg = d3.create("svg:svg").attr("xmlns", "http://www.w3.org/2000/svg").attr("width", width).attr("height", height)
    .attr("viewBox", `0 0 ${width} ${height}`);
  svg.append("desc").text(canvas.getAttribute("aria-label"));
  svg.append("image").attr("href", image).attr("width", width).attr("height", height);
  return new XMLSerializer().serializeToString(svg.node());
}

function saveSvg(name, svg) {
  save(`${name}.svg`, new Blob([standaloneSvg(svg)], { type: "image/svg+xml" }));
}

function saveSvgAsPng(name, svg) {
  const scale = 2;
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(Number(svg.getAttribute("width")) * scale);
    // Browsers refuse canvases above 16384 pixels a side; a very long list is then drawn at a smaller scale.
    canvas.height = Math.round(Number(svg.getAttribute("height")) * scale);
    const shrink = Math.min(1, 16000 / Math.max(canvas.width, canvas.height));
    canvas.width *= shrink;
    canvas.height *= shrink;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${name}.png`, blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standaloneSvg(svg))}`;
}

// `redraw` paints the canvas anew: once in light colours for the file, once as the page has it.
function saveCanvasAsPng(name, canvas, redraw) {
  Theme.withLight(() => {
    redraw();
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    copy.getContext("2d").drawImage(canvas, 0, 0);
    copy.toBlob((blob) => save(`${name}.png`, blob), "image/png");
  });
  redraw();
}
