// The objective over the steps of each stage, and the duality gap of the attribute regressors.

defineFigure({
  id: "objective",
  section: "training",
  title: "Objective over the training steps",
  missing: "No training curve: the model was fitted in one step.",
  data(run) {
    const stages = ((run.training && run.training.stages) || []).filter((stage) => stage.steps.length);
    return stages.length ? stages : null;
  },

  sentence: (stages) => `${stages.map((stage) => `${stage.name}: ${compact(stage.steps[0])} to ${compact(stage.steps[stage.steps.length - 1])} in ${count(stage.steps.length - 1, "step")}`).join("; ")}.`,

  table: (stages) => ({
    columns: ["stage", "step", "objective"],
    rows: stages.flatMap((stage) => stage.steps.map((value, i) => [stage.name, i, value])),
  }),

  draw(frame, stages) {
    const { boxes, height } = layoutPanels(stages.length, stages.length > 1 ? frame.width : Math.min(frame.width, 760), 300);
    const svg = frame.svg(height);
    frame.marks(stages.flatMap((stage, i) => drawLines(svg, boxes[i], {
      title: stage.name,
      x: { label: "Step", domain: stage.steps.length > 1 ? [0, stage.steps.length - 1] : [0, 1], format: wholeNumber },
      y: { label: "Objective", domain: padded(stage.steps) },
      series: [{ name: stage.name, tone: "blue", dots: stage.steps.length <= 30 ? "dot" : null,
        points: stage.steps.map((value, j) => ({ x: j, y: value, tip: { title: stage.name, rows: [["Step", String(j)], ["Objective", compact(value)]] } })) }],
    })));
  },
});

defineFigure({
  id: "svr-gap",
  section: "training",
  title: "Duality gap of the attribute regressors",
  missing: "No support vector regression in this run.",
  data: (run) => (run.training && run.training.svr && run.training.svr.length ? run.training.svr : null),

  sentence(passes) {
    const last = passes[passes.length - 1];
    return `The gap falls from ${compact(passes[0].gap)} to ${compact(last.gap)} in ${count(passes.length, "pass", "passes")} and ${duration(last.seconds)}.`;
  },

  table: (passes) => ({
    columns: ["pass", "primal", "dual", "gap", "seconds"],
    rows: passes.map((one) => [one.pass, one.primal, one.dual, one.gap, one.seconds]),
  }),

  draw(frame, passes) {
    const known = passes.filter((one) => one.gap > 0);
    const [low, high] = d3.extent(known, (one) => one.gap);
    const height = 340;
    const svg = frame.svg(height);
    const domain = known.length ? [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.01))] : [0.1, 1];
    frame.marks(drawLines(svg, { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: "Pass over the samples", domain: padded(passes.map((one) => one.pass), 0.02), format: wholeNumber },
      y: { label: "Primal − dual, log scale", domain, log: true },
      series: [{ name: "gap", tone: "blue", dots: passes.length <= 60 ? "dot" : null, points: known.map((one) => ({ x: one.pass, y: one.gap,
        tip: { title: `Pass ${one.pass}`, rows: [["Gap", compact(one.gap)], ["Primal", compact(one.primal)], ["Dual", compact(one.dual)], ["Time", duration(one.seconds)]] } })) }],
    }));
  },
});
