// Why a sample went to its class and not to the runner-up: what each attribute adds to the difference of the two scores.

defineFigure({
  id: "explanations",
  section: "attributes",
  photos: true,
  title: "Explanations of single predictions",
  missing: "No explanations: this model predicts no attributes.",
  data: (run) => (run.explanations && run.explanations.length ? run.explanations : null),

  sentence(explanations) {
    const right = explanations.filter((one) => one.correct).length;
    return `${count(explanations.length, "sample")}, ${right} predicted right: bars to the right speak for the winner, bars to the left for the runner-up.`;
  },

  table: (explanations) => ({
    columns: ["sample", "truth", "winner", "runner-up", "confidence", "term", "amount", "winner value", "runner-up value"],
    rows: explanations.flatMap((one) => explanationBars(one).map((bar) =>
      [one.sample, one.truth, one.winner, one.runner_up, one.confidence, bar.attribute, bar.amount, bar.winner_value ?? null, bar.runner_up_value ?? null])),
  }),

  draw(frame, explanations) {
    const rowHeight = 20;
    const head = 84;
    const most = d3.max(explanations, (one) => explanationBars(one).length);
    const { boxes, height } = layoutPanels(explanations.length, frame.width, head + most * rowHeight + 30, 320, 36);
    const svg = frame.svg(height);
    const rows = explanations.map((one, i) => drawExplanation(svg, boxes[i], one, head, rowHeight, frame.part.photos));
    frame.slice(svg, [...new Set(boxes.map((box) => box.y)), height]);
    frame.marks(rows, { vertical: true, find(x, y) {
      const panel = boxes.findIndex((box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height);
      return panel < 0 ? null : rows[panel].find((mark) => Math.abs(mark.y - y) <= rowHeight / 2) || null;
    } });
  },
});

function explanationBars(one) {
  const extra = (attribute, amount) => (isNumber(amount) ? [{ attribute, amount, extra: true }] : []);
  return [...one.terms, ...extra("training samples", one.examples), ...extra("calibration", one.calibration)];
}

function drawExplanation(svg, box, one, head, rowHeight, photos) {
  const g = svg.append("g");
  const side = 64;
  const photo = photos.has(one.sample);
  if (photo) {
    g.append("image").attr("href", photos.dataUrl(one.sample, 2 * side)).attr("x", box.x).attr("y", box.y).attr("width", side).attr("height", side);
  }
  const left = box.x + (photo ? side + 12 : 0);
  const room = box.x + box.width - left;
  const confidence = isNumber(one.confidence) ? `, confidence ${compact(one.confidence)}` : "";
  [[`${one.correct ? "✓" : "✗"} ${one.winner}`, "panel-title"], [`rather than ${one.runner_up}${confidence}`, null],
    [one.correct ? `sample ${one.sample}` : `sample ${one.sample}, truly ${one.truth}`, "muted"]].forEach(([text, kind], i) => {
    g.append("text").attr("class", kind).attr("x", left).attr("y", box.y + 14 + i * 20).text(ellipsis(text, room - 8));
  });
  const bars = explanationBars(one);
  const weight = (bar) => (bar.extra ? 600 : 400);
  const labelWidth = Math.min(box.width * 0.44, d3.max(bars, (bar) => textWidth(bar.attribute, weight(bar))) + 12);
  const reach = d3.max(bars, (bar) => Math.abs(bar.amount)) || 1;
  const x = d3.scaleLinear().domain([-reach, reach]).range([box.x + labelWidth + 6, box.x + box.width - 8]);
  const top = box.y + head;
  g.append("text").attr("class", "muted").attr("x", x(-reach)).attr("y", top - 6).text("← runner-up");
  g.append("text").attr("class", "muted end").attr("x", x(reach)).attr("y", top - 6).text("winner →");
  const marks = bars.map((bar, i) => {
    const y = top + (i + 0.5) * rowHeight;
    g.append("text").attr("class", bar.extra ? "end strong" : "end").attr("x", box.x + labelWidth - 4).attr("y", y + 4).text(ellipsis(bar.attribute, labelWidth - 6, weight(bar)));
    g.append("rect").attr("class", `bar mark tone-${bar.amount < 0 ? "vermillion" : "blue"} ${bar.extra ? "light" : ""}`).attr("x", Math.min(x(0), x(bar.amount)))
      .attr("width", Math.max(0.5, Math.abs(x(bar.amount) - x(0)))).attr("y", y - 6.5).attr("height", 13);
    const values = bar.extra ? [] : [["Value of the winner", compact(bar.winner_value)], ["Value of the runner-up", compact(bar.runner_up_value)]];
    return { x: x(bar.amount), y, tip: { title: bar.attribute, sample: one.sample, rows: [["Adds", compact(bar.amount)], ...values] } };
  });
  g.append("line").attr("class", "axis-line").attr("x1", x(0)).attr("x2", x(0)).attr("y1", top).attr("y2", top + bars.length * rowHeight);
  const bottom = top + bars.length * rowHeight + 14;
  for (const [value, anchor] of [[-reach, ""], [0, "middle"], [reach, "end"]]) {
    g.append("text").attr("class", `muted ${anchor}`).attr("x", x(value)).attr("y", bottom).text(compact(Number(value.toPrecision(2))));
  }
  return marks;
}
