// The overview of several data sets: each method on each of them, the best of every column, and ranks in words.

const OVERVIEW_METRICS = [["zsl", "ZSL", "ZSL accuracy"], ["h", "H", "H"]];

function overviewParts(overview, prefixes) {
  const { parts, rows, ranks } = overview;
  const sentences = OVERVIEW_METRICS.map(([key,, name]) => rankWords(ranks[key], name)).reverse().filter(Boolean);
  return [
    sentences.length ? element("p", { class: "rank" }, sentences.join(" ")) : null,
    overviewTable(parts, rows, ranks, prefixes),
    keyboardNote(),
  ].filter(Boolean);
}

function rankWords(rank, metric) {
  if (!rank) return null;
  const [first] = rank.methods;
  const level = rank.methods.filter((one) => one.mean_rank === first.mean_rank);
  const sets = count(rank.data_sets, "data set");
  if (level.length > 1) return `${wordList(level.map((one) => one.method))} share the best mean rank by ${metric} on ${sets}, ${fixed(first.mean_rank, 1)}.`;
  return `${first.method} is best on ${first.best} of ${sets} by ${metric}; mean rank ${fixed(first.mean_rank, 1)} among ${rank.methods.length} methods.`;
}

function overviewTable(parts, rows, ranks, prefixes) {
  const cell = (row, p, key) => (row.cells[p] && isNumber(row.cells[p][key]) ? row.cells[p][key] : null);
  const best = (p, key) => {
    const values = rows.map((row) => cell(row, p, key)).filter(isNumber);
    return values.length > 1 ? Math.max(...values) : null;
  };
  const ranked = OVERVIEW_METRICS.filter(([key]) => ranks[key]);
  const meanRank = (row, key) => {
    const found = ranks[key].methods.find((one) => one.method === row.method);
    return found ? fixed(found.mean_rank, 1) : MISSING;
  };
  const group = (text, columns) => element("th", { scope: "colgroup", colspan: columns, class: "group" }, text);
  const heads = (metrics) => metrics.map(([, name]) => element("th", { scope: "col", class: "number" }, name));
  const table = element("table", { id: "overview-table", class: "results-table", "aria-describedby": "overview-note" },
    element("caption", { class: "visually-hidden" }, "Methods on all data sets"),
    element("thead", {},
      element("tr", {}, element("th", { scope: "col", rowspan: 2 }, "Method"),
        ...parts.map((name, p) => group(element("a", { href: `#${prefixes[p]}part` }, name), OVERVIEW_METRICS.length)),
        ranked.length ? group("Mean rank", ranked.length) : null),
      element("tr", {}, ...parts.flatMap(() => heads(OVERVIEW_METRICS)), ...heads(ranked))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.method),
      ...parts.flatMap((_, p) => OVERVIEW_METRICS.map(([key]) => {
        const value = cell(row, p, key);
        return element("td", { class: "number" }, value !== null && value === best(p, key) ? element("strong", {}, percent(value)) : percent(value));
      })),
      ...ranked.map(([key]) => element("td", { class: "number" }, meanRank(row, key)))))));
  return element("div", { class: "comparison" },
    element("p", { class: "note", id: "overview-note" }, `${count(rows.length, "method")} on ${count(parts.length, "data set")}; accuracies in percent, the best of each column in bold.`
      + (ranked.length ? " Ranks are among the methods with results on every data set." : "")),
    scrollBox(table, "Methods on all data sets"));
}
