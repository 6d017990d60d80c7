// Building blocks of HTML. Text from the data only ever becomes text nodes.

// element("p", {class: "note"}, "text", childNode, ...): null children are left out.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// The text with what stands in backticks as code.
function withCode(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

// A labelled <select>. `options` holds [value, text] pairs.
function selectControl(label, options, value, onChange) {
  const select = element("select", { onchange: () => onChange(select.value) },
    ...options.map(([key, text]) => element("option", { value: key }, text)));
  select.value = value;
  return element("label", { class: "control" }, element("span", {}, label), select);
}

function searchControl(label, onInput) {
  const input = element("input", { type: "search", autocomplete: "off", spellcheck: "false",
    oninput: () => onInput(input.value.trim().toLowerCase()) });
  return element("label", { class: "control" }, element("span", {}, label), input);
}

function checkboxControl(label, checked, onChange) {
  const input = element("input", { type: "checkbox", onchange: () => onChange(input.checked) });
  input.checked = checked;
  return element("label", { class: "control" }, input, element("span", {}, label));
}

// A plain table; numbers align right. Rows beyond `limit` are left to the CSV.
function plainTable({ columns, rows }, caption, limit = 400) {
  const numeric = columns.map((_, j) => rows.length > 0 && rows.every((row) => row[j] === null || typeof row[j] === "number"));
  const shown = rows.slice(0, limit);
  const table = element("table", {},
    element("caption", { class: "visually-hidden" }, caption),
    element("thead", {}, element("tr", {},
      ...columns.map((name, j) => element("th", { scope: "col", class: numeric[j] ? "number" : null }, name)))),
    element("tbody", {}, ...shown.map((row) => element("tr", {},
      ...row.map((value, j) => element("td", { class: numeric[j] ? "number" : null }, compact(value)))))));
  const note = rows.length > limit
    ? element("p", { class: "note" }, `The first ${limit} of ${rows.length} rows; the CSV holds them all.`) : null;
  return element("div", {}, scrollBox(table, caption), note);
}

// A box that scrolls sideways and can be reached by keyboard.
function scrollBox(child, label) {
  return element("div", { class: "scroll-box", tabindex: "0", role: "region", "aria-label": label }, child);
}

const measuring = document.createElement("canvas").getContext("2d");

function textWidth(text, weight = 400) {
  measuring.font = `${weight} 12px system-ui, sans-serif`;
  return measuring.measureText(text).width;
}

// The text cut with an ellipsis to at most `width` pixels.
function ellipsis(text, width, weight = 400) {
  if (textWidth(text, weight) <= width) return text;
  let length = text.length;
  while (length > 1 && textWidth(`${text.slice(0, length)}…`, weight) > width) length -= 1;
  return `${text.slice(0, length)}…`;
}
