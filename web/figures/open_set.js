// Known against unknown samples at every threshold: the ROC curve, and the same for known samples with the right class.

const OPEN_SET_SCORES = [
  { key: "known_score", name: "known score", tone: "blue", dash: null },
  { key: "confidence", name: "largest softmax", tone: "orange", dash: "6 3" },
];

defineFigure({
  id: "open-set",
  section: "open-set",
  title: "Known against unknown samples",
  missing: "No rejection in this model: add it with `parsnets calibrate --false-accept 5% --out DIR/model.safetensors`.",
  data: (run) => run.open_set || null,

  sentence({ known_score: score, confidence, at_thresholds: chosen, turns, not_in_bank: missing }) {
    const out = turns.length === 2 ? "Unseen classes are left out of the bank in two turns"
      : [turns[0].length && `${count(turns[0].length, "unseen class", "unseen classes")} left out of the bank`,
        missing.length && `${count(missing.length, "class", "classes")} not in the bank`].filter(Boolean).join(", ");
    return `${out}: AUROC is ${percent(score.auroc)} by the known score and ${percent(confidence.auroc)} by the largest softmax, `
      + `OSCR ${percent(score.oscr)} and ${percent(confidence.oscr)}; the thresholds accept ${percent(chosen.unknown)} % of the unknown and ${percent(chosen.known)} % of the known samples.`;
  },

  table: (data) => ({
    columns: ["curve", "score", "unknown accepted", "known accepted"],
    rows: [["roc", "ROC"], ["oscr_curve", "OSCR"]].flatMap(([curve, label]) => OPEN_SET_SCORES
      .flatMap(({ key, name }) => data[key][curve].map(([unknown, known]) => [label, name, unknown, known]))),
  }),

  draw(frame, data) {
    const chosen = data.at_thresholds;
    const { boxes, height } = layoutPanels(2, frame.width, 400);
    const svg = frame.svg(height);
    const panel = (box, title, curve, area, label, y) => drawLines(svg, box, {
      title,
      x: { label: "Unknown samples accepted, %", domain: [0, 100] },
      y: { label, domain: [0, 100] },
      series: OPEN_SET_SCORES.map((score) => ({ ...score, name: `${score.name}, area ${percent(data[score.key][area])}`,
        points: data[score.key][curve].map(([unknown, known]) => ({ x: unknown, y: known,
          tip: { title: score.name, rows: [["Unknown accepted", `${percent(unknown)} %`], [label.replace(", %", ""), `${percent(known)} %`]] } })) })),
      before: (g, x, scale) => g.append("path").attr("class", "contour").attr("d", `M${x(0)},${scale(0)}L${x(100)},${scale(curve === "roc" ? 100 : data.known_right)}`),
      after: (g, x, scale, plot) => drawChosen(g, x(chosen.unknown), scale(y), "thresholds", plot),
    });
    frame.marks([
      ...panel(boxes[0], "ROC, dotted: by chance", "roc", "auroc", "Known samples accepted, %", chosen.known),
      ...panel(boxes[1], "OSCR, dotted: by chance", "oscr_curve", "oscr", "Known samples accepted and right, %", chosen.known_right),
    ]);
  },
});
