// Provenance: what was run, on what, with which options, as nested tables.

function provenanceParts(run, part) {
  const names = { data: "Data", options: "Options", record: "Training record", machine: "Machine", versions: "Versions" };
  const { provenance } = run;
  const parts = [];
  const add = (name, node) => parts.push(element(part.heading(1), { class: "sub-heading" }, name), scrollBox(node, part.label(name)));
  if (provenance.command) {
    add("Command", element("pre", {}, element("code", {}, provenance.command)));
  }
  for (const [key, value] of Object.entries(provenance)) {
    if (key === "command" || value === null || value === undefined) continue;
    add(names[key] || key, nestedTable(value));
  }
  return parts;
}

function nestedTable(value) {
  if (value === null || value === undefined) return document.createTextNode(MISSING);
  if (Array.isArray(value)) {
    if (value.every((item) => item === null || typeof item !== "object")) return document.createTextNode(value.map(plain).join(", "));
    return element("table", { class: "nested" }, element("tbody", {}, ...value.map((item, i) => nestedRow(String(i + 1), item))));
  }
  if (typeof value !== "object") return document.createTextNode(plain(value));
  if (Object.keys(value).length === 0) return document.createTextNode(MISSING);
  return element("table", { class: "nested" }, element("tbody", {},
    ...Object.entries(value).map(([name, item]) => nestedRow(name.replace(/_/g, " "), item))));
}

function nestedRow(name, value) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, nestedTable(value)));
}

function plain(value) {
  if (value === true) return "yes";
  if (value === false) return "no";
  return value === null || value === "" ? MISSING : String(value);
}
