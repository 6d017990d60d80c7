// Seeded sample reports of every kind the page must take: full, minimal, two classes, 717 classes, four runs, no GZSL.
// `node sample_data.js KIND` prints one as JSON.
"use strict";

// mulberry32: small and the same everywhere.
function makeRandom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  next.normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  next.int = (size) => Math.floor(next() * size);
  return next;
}

const range = (size) => Array.from({ length: size }, (_, i) => i);
const round = (value, digits = 3) => Number(value.toFixed(digits));
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function classNames(size) {
  const kinds = ["Albatross", "Warbler", "Gull", "Wren", "Tern", "Sparrow", "Woodpecker", "Flycatcher", "Vireo", "Kingfisher", "Grebe", "Oriole"];
  const first = ["Black_footed", "Laysan", "Groove_billed", "Crested", "Rhinoceros", "Brewer", "Red_winged", "Rusty", "Yellow_headed", "Bobolink", "Indigo", "Lazuli", "Painted", "Chuck_will's", "Eastern", "Scarlet", "American", "Northern", "Pigeon", "White_breasted"];
  return range(size).map((i) => `${first[i % first.length]}_${kinds[Math.floor(i / first.length) % kinds.length]}${i >= 240 ? `_${Math.floor(i / 240) + 1}` : ""}`);
}

// A BMP (24 bits) of `count` flat squares with a bright corner, as a sprite. A row needs a multiple of four bytes.
function sprite(random, count, columns, size) {
  const width = columns * size;
  const height = Math.ceil(count / columns) * size;
  const file = Buffer.alloc(54 + height * width * 3);
  file.write("BM");
  // By place: size of the file, start of the pixels, size of the header, width, height from the top, planes and bits.
  const header = { 2: file.length, 10: 54, 14: 40, 18: width, 22: -height, 26: 1 + (24 << 16) };
  for (const [at, value] of Object.entries(header)) file.writeInt32LE(value, Number(at));
  for (let i = 0; i < count; i += 1) {
    const color = [random.int(200), random.int(200), random.int(200)];
    for (let y = 0; y < size; y += 1) {
      for (let x = 0; x < size; x += 1) {
        const at = 54 + 3 * ((Math.floor(i / columns) * size + y) * width + (i % columns) * size + x);
        for (let c = 0; c < 3; c += 1) file[at + c] = x + y < size / 2 ? 255 - color[c] : color[c];
      }
    }
  }
  return { image: `data:image/bmp;base64,${file.toString("base64")}`, columns, size };
}

function makeCurve(random, points) {
  const unseen = 62 + 18 * random();
  const seen = 70 + 18 * random();
  return range(points).map((i) => {
    const t = i / (points - 1);
    return [round(t * 0.9 - 0.2, 4), round(unseen / (1 + Math.exp(-9 * (t - 0.42))), 3), round(seen / (1 + Math.exp(9 * (t - 0.62))), 3)];
  });
}

const harmonic = (u, s) => (u + s > 0 ? (2 * u * s) / (u + s) : 0);

function makeConfusion(random, names, unseen) {
  const counts = [];
  names.forEach((_, row) => {
    const samples = 20 + random.int(40);
    let wrong = 0;
    const cells = new Map();
    for (let k = 0; k < 6; k += 1) {
      const column = clamp(row + Math.round(random.normal() * 4), 0, names.length - 1);
      if (column === row) continue;
      const number = 1 + random.int(5);
      cells.set(column, (cells.get(column) || 0) + number);
      wrong += number;
    }
    cells.set(row, Math.max(1, samples - wrong));
    [...cells].sort((a, b) => a[0] - b[0]).forEach(([column, number]) => counts.push([row, column, number]));
  });
  return { classes: names, unseen, counts };
}

function histogram(random, bins, center, width, total) {
  const counts = new Array(bins).fill(0);
  for (let i = 0; i < total; i += 1) counts[clamp(Math.round(center + width * random.normal()), 0, bins - 1)] += 1;
  return counts;
}

function decay(random, size, rate) {
  const values = range(size).map((i) => Math.exp(-rate * i) * (1 + 0.05 * random()));
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map((value) => round(value / sum, 5));
}

function makeTsne(random, names, points) {
  const size = Math.min(names.length, 50);
  const classes = names.slice(0, size);
  const centres = classes.map(() => [random.normal() * 30, random.normal() * 30]);
  const label = range(points).map((i) => i % size);
  const correct = label.map(() => (random() < 0.7 ? 1 : 0));
  const place = (spread) => label.map((one) => centres[one].map((at) => round(at + random.normal() * spread, 2)));
  const near = (shift) => centres.map(([x, y]) => [round(x + shift, 2), round(y - shift, 2)]);
  return { classes, label, sample: range(points), correct, raw: place(12), mapped: place(3), places: near(2), means: near(-1), predicted: label.map((one, i) => classes[correct[i] ? one : (one + 1) % size]) };
}

// The first class lies nearer to another unseen class, every third nearer to a seen one.
function makePlaces(names, unseen) {
  const tested = names.filter((_, i) => unseen[i]);
  const seen = names.filter((_, i) => !unseen[i]);
  return { targets: "classes", rows: tested.map((one, i) => {
    const cosine = round(0.5 + 0.4 * Math.sin(i), 4);
    const other = tested.length > 1 ? round(cosine + (i === 0 ? 0.05 : -0.1), 4) : null;
    const nearestSeen = round(cosine + (i % 3 === 0 ? 0.02 : -0.04), 4);
    return { class: one, samples: 30 + i, cosine, nearest: other === null ? null : tested[(i + 1) % tested.length], nearest_cosine: other, own: other === null || cosine >= other,
      nearest_seen: seen[i % seen.length], nearest_seen_cosine: nearestSeen, own_of_all: cosine >= Math.max(other ?? -1, nearestSeen) };
  }) };
}

// Bins of rising confidence, over which accuracy lies by `gap`; the first two are empty.
function makeReliability(samples, gap) {
  const bins = range(15).map((i) => (i < 2 ? { samples: 0, confidence: null, accuracy: null }
    : { samples: samples * (i + 1), confidence: round((100 * (i + 0.5)) / 15), accuracy: round(clamp((100 * (i + 0.5)) / 15 + gap, 0, 100)) }));
  const all = bins.reduce((sum, bin) => sum + bin.samples, 0);
  return { samples: all, ece: round(bins.reduce((sum, bin) => sum + bin.samples * Math.abs(bin.accuracy - bin.confidence), 0) / all), bins };
}

function makeSets(gzsl) {
  return [80, 90, 95].map((stated, i) => ({ stated, seen: gzsl ? { samples: 1764, coverage: stated + 0.7, size: 1.2 + i } : null,
    unseen: { samples: 2967, coverage: stated - 3.2, size: 2.4 + 2 * i, calibrated_on: "validation classes" } }));
}

function makeRun(random, { name, classes, points = 600, attributes = 312, networks = 200, gzsl = true }) {
  const names = classNames(classes);
  const unseen = names.map((_, i) => (classes === 2 ? i === 1 : i % 4 === 3));
  const curve = gzsl ? makeCurve(random, 120) : null;
  const best = gzsl ? curve.reduce((a, b) => (harmonic(b[1], b[2]) > harmonic(a[1], a[2]) ? b : a)) : null;
  const perClass = names.map((one, i) => ({ class: one, unseen: unseen[i], samples: 20 + random.int(40),
    zsl: unseen[i] ? round(clamp(62 + 22 * random.normal(), 0, 100), 2) : null,
    gzsl: gzsl ? round(clamp((unseen[i] ? 52 : 68) + 20 * random.normal(), 0, 100), 2) : null }));
  const cell = (mean) => ({ mean: round(mean, 2), sd: round(0.2 + random(), 2) });
  const attributeNames = range(attributes).map((i) => `has_${["bill_shape", "wing_color", "upperparts_color", "breast_pattern", "tail_shape", "eye_color"][i % 6]}::${["hooked", "blue", "buff_and_olive_striped", "spotted", "solid", "multi-coloured"][Math.floor(i / 6) % 6]}_${Math.floor(i / 36)}`);
  const usage = range(networks).map(() => round(clamp(Math.min(20, networks / 4) / networks + 0.03 * random.normal(), 0.005, 1), 4));
  const three = names.slice(0, 3);
  const spaceLabel = range(150).map((i) => i % 3);
  const space = (gap, spread) => spaceLabel.map((label) => range(3).map((d) => round((d === label ? gap : 0) + spread * random.normal(), 3)));
  return {
    name,
    summary: { data: "CUB-200-2011", features: "ResNet-101", semantics: "312 attributes", split: "proposed split", method: "ParsNets", targets: "classes",
      zsl: round(61 + 4 * random(), 2), zsl_top5: 88.41, u: gzsl ? best[1] : null, s: gzsl ? best[2] : null, h: gzsl ? round(harmonic(best[1], best[2]), 3) : null,
      ausuc: gzsl ? 43.12 : null, gamma: gzsl ? best[0] : null, gamma_from: gzsl ? "validation classes" : null, seconds: 83.2, model_bytes: 4823114,
      classes, seen_classes: unseen.filter((one) => !one).length, attributes, dimensions: 2048 },
    rank: { metric: "zsl", place: 3, of: 21, metric2: gzsl ? "h" : null, place2: gzsl ? 2 : null, of2: gzsl ? 21 : null },
    curve,
    per_class: perClass,
    confusion: makeConfusion(random, names, unseen),
    reliability: { seen: gzsl ? makeReliability(9, 3) : null, unseen: makeReliability(14, -11) },
    sets: makeSets(gzsl),
    sweep: { option: "active", networks, rows: [5, 10, 20, 40, 80, 120, 200].filter((value) => value <= networks || networks < 10).map((value) => (networks < 10 ? Math.max(1, Math.round(value / 50)) : value)).filter((value, i, all) => all.indexOf(value) === i).map((value) => ({ value, sparsity: round(value / networks, 3), seeds: 3,
      zsl: cell(63 - Math.abs(Math.log(value / 25)) * 3), h: gzsl ? cell(60 - Math.abs(Math.log(value / 30)) * 4) : { mean: null, sd: null } })) },
    ablation: { rows: ["one linear network", "SCLN without MMG", "SCLN", "SCLN + refinement", "SCLN + refinement + prototypes"].map((label, i) => ({ label, zsl: cell(52 + 2.6 * i), h: cell(44 + 4.2 * i) })) },
    transductive: ["mixed", "unseen"].map((protocol, i) => ({ protocol, samples: gzsl ? 4731 : 2967, before: { zsl: 61.2, u: gzsl ? 55.1 : null, s: gzsl ? 62.4 : null, h: gzsl ? 58.5 : null },
      after: { zsl: 64.9 + i, u: gzsl ? 58.8 : null, s: gzsl ? 62.1 : null, h: gzsl ? 60.4 : null }, moves: names.filter((one, c) => unseen[c]).map((one, c) => ({ class: one, support: 12.5 + c, degrees: round(5 + (c * 7) % 20 + i, 2) })) })),
    few_shot: { draws: 20, descriptions_alone: 61.2, rows: [1, 2, 5, 10].map((examples, i) => ({ examples, taught: { mean: 65 + 3 * i, sd: 0.8 }, examples_alone: { mean: 38 + 10 * i, sd: 1.2 } })) },
    open_set: makeOpenSet(names.filter((one, c) => unseen[c]), gzsl),
    gates: { networks, open: Math.min(20, networks / 4), entropy: 0.991, usage, by_class: { classes: names.slice(0, 40), share: names.slice(0, 40).map(() => usage.map((share) => round(clamp(share * (0.3 + 1.8 * random()), 0, 1), 3))) } },
    spectrum: { classes: names.slice(0, 12).map((one) => ({ class: one, raw: decay(random, 20, 0.12), without_mmg: decay(random, 20, 0.3), mapped: decay(random, 20, 0.6) })),
      mean: { raw: decay(random, 20, 0.12), without_mmg: decay(random, 20, 0.3), mapped: decay(random, 20, 0.6) } },
    angles: { edges: range(19).map((i) => 5 * i), raw: histogram(random, 18, 6, 1.5, 1225), without_mmg: histogram(random, 18, 11, 2, 1225), mapped: histogram(random, 18, 15, 1.4, 1225), places: histogram(makeRandom(7), 18, 14, 2, 1225) },
    places: makePlaces(names, unseen),
    tsne: makeTsne(random, names, points),
    subspaces: classes >= 3 ? { classes: three, label: spaceLabel, raw: space(1.2, 0.6), mapped: space(4, 0.5) } : null,
    training: { stages: [{ name: "refinement", steps: range(60).map((i) => round(2.1 * Math.exp(-i / 14) + 0.4 + 0.01 * random(), 5)) }, { name: "gates", steps: range(25).map((i) => round(0.9 / (1 + i / 4) + 0.1, 5)) }],
      svr: range(24).map((i) => ({ pass: i + 1, primal: round(140 + 50 * Math.exp(-i / 3), 6), dual: round(140 - 80 * Math.exp(-i / 3), 6), gap: 130 * Math.exp(-i / 3), seconds: round(0.11 * (i + 1), 3) })) },
    hubness: { k: 10, skewness: { raw: 1.27, mapped: 0.62 }, histogram: { raw: histogram(random, 42, 6, 7, 600), mapped: histogram(random, 30, 10, 4, 600) } },
    attributes: attributeNames.map((one) => ({ name: one, correlation: round(clamp(0.45 + 0.24 * random.normal(), -0.4, 0.97), 4) })),
    explanations: range(12).map((i) => {
      const correct = i % 4 !== 3;
      const winner = names[(i * 7) % names.length];
      const runnerUp = names[(i * 7 + 1) % names.length];
      return { sample: i * 3, truth: correct ? winner : runnerUp, winner, runner_up: runnerUp, confidence: round(0.4 + 0.5 * random(), 3), correct,
        terms: range(Math.min(10, attributes)).map((k) => ({ attribute: attributeNames[(i * 11 + k * 5) % attributes], amount: round((0.5 - random()) * (1.2 - k * 0.1), 4), winner_value: round(random(), 3), runner_up_value: round(random(), 3) }))
          .sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount)), examples: round(0.1 * random.normal(), 4), calibration: gzsl ? round(-0.19 * random(), 4) : 0 };
    }),
    provenance: { data: { name: "CUB", files: [{ name: "res101.mat", bytes: 193820113, sha256: "9f".repeat(32) }, { name: "att_splits.mat", bytes: 1284120, sha256: "0c".repeat(32) }], samples: { trainval: 7057, test_seen: 1764, test_unseen: 2967 } },
      options: { networks, open: 20, seed: 1234, mmg: true, lambda: 0.001, attributes: ["a", "b", "c"] }, record: { svr_passes: 24, gap: 0.0412, refinement: { steps: 60, objective: 0.4021 } },
      machine: { cpu: "Intel(R) Xeon(R) CPU @ 2.60GHz", simd: "avx2", cores: 8 }, versions: { parsnets: "0.1.0", openblas: "0.3.21", eigen: "3.4.0" },
      command: "parsnets train --data data/cub --networks 200 --active 20 --seed 1234 --out out/cub.safetensors" },
  };
}

// Without generalised evaluation there are no known samples of seen classes.
function makeOpenSet(names, gzsl) {
  const random = makeRandom(11);
  const share = (samples, classes, accepted) => ({ samples, classes, accepted, rejected: 100 - accepted, accepted_of_classes: { mean: accepted, low: accepted - 2, high: accepted + 2 } });
  const none = { samples: 0, classes: 0, accepted: null, rejected: null, accepted_of_classes: { mean: null, low: null, high: null } };
  const curve = (power, top) => range(101).map((i) => [i, round(top * (i / 100) ** power, 3)]);
  const score = (auroc, power) => ({ auroc, fpr95: 100 - auroc / 2, oscr: auroc - 20, roc: curve(power, 100), oscr_curve: curve(power, 78.5) });
  const bins = (centre) => histogram(random, 40, centre, 6, 1000).map((number) => number / 10);
  const kinds = [["uniform", 100], ["gaussian", 99.9], ["shuffled", 84.1], ["scaled", 85.6], ["far", 99.7], ["constant", 100], ["zero", 0]];
  return { units: "percent", false_accept: 5, turns: [names.filter((_, i) => i % 2), names.filter((_, i) => i % 2 === 0)], not_in_bank: [],
    known_seen: gzsl ? share(3528, 150, 81.25) : none, known_unseen: share(2967, 50, 66.5), unknown: share(2967, 50, 5.25), known_right: 78.5,
    known_score: score(91.5, 0.12), confidence: score(72.25, 0.4),
    no_class: kinds.map(([name, rejected]) => ({ name, features: `how ${name} inputs are made`, inputs: name === "zero" ? 1 : 1000, rejected, auroc: round(50 + rejected / 2, 2) })),
    at_thresholds: { unknown: 5.25, known: 74.5, known_right: 62.75 },
    histogram: { edges: range(41).map((i) => round((i - 16) / 4, 2)), known_seen: gzsl ? bins(28) : null, known_unseen: bins(22), unknown: bins(9), out_of_range: { known_seen: gzsl ? 0.5 : null, known_unseen: 1.5, unknown: 12.5 } } };
}

function makeReference(random) {
  const names = ["DAP", "ALE", "DEVISE", "SJE", "ESZSL", "SYNC", "SAE", "f-CLSWGAN", "CADA-VAE", "TF-VAEGAN", "FREE", "APN", "CE-GZSL", "TransZero", "MSDN", "I2DFormer", "SDGZSL", "HSVA", "DVBE", "ParsNets (published)"];
  return names.map((method, i) => {
    const u = i < 7 ? round(2 + 20 * random(), 1) : round(40 + 28 * random(), 1);
    const s = round(50 + 25 * random(), 1);
    const full = i % 6 !== 5;
    return { method, features: "ResNet-101", semantics: i === 15 ? "Wikipedia text" : "312 attributes", source: `Author et al., CVPR ${2016 + (i % 9)}`, zsl: i % 5 === 4 ? null : round(40 + 38 * random(), 1), u: full ? u : null, s: full ? s : null, h: full ? round(harmonic(u, s), 1) : null };
  });
}

function makeReport(kind) {
  const random = makeRandom(20240 + kind.length);
  const report = (runs, extra = {}) => ({ format: 1, title: "ParsNets report: CUB-200-2011", producer: "parsnets 0.1.0", runs, reference: makeReference(random), thumbnails: null, ...extra });
  switch (kind) {
    case "full":
      return report([makeRun(random, { name: "demo", classes: 200, points: 3000 })], { thumbnails: sprite(random, 600, 60, 32) });
    case "minimal": {
      const run = makeRun(random, { name: "minimal", classes: 20, points: 50 });
      for (const key of ["rank", "curve", "reliability", "sets", "sweep", "ablation", "transductive", "few_shot", "open_set", "gates", "spectrum", "angles", "places", "tsne", "subspaces", "training", "hubness", "attributes", "explanations"]) run[key] = null;
      delete run.hubness;
      return report([run], { reference: [] });
    }
    case "two":
      return report([makeRun(random, { name: "two classes", classes: 2, points: 40, attributes: 6, networks: 4 })], { title: "ParsNets report: two classes", reference: [] });
    case "many":
      return report([makeRun(random, { name: "SUN", classes: 717, points: 1440, attributes: 1024 })], { title: "ParsNets report: 717 classes" });
    case "four":
      return report(range(4).map((i) => makeRun(random, { name: ["20 open", "40 open", "without MMG", "one network"][i], classes: 50, points: 300, attributes: 85 })));
    case "nogzsl":
      return report([makeRun(random, { name: "zsl only", classes: 8, points: 160, attributes: 39, gzsl: false })]);
    case "sets": {
      const part = (name, classes, extra) => {
        const runs = ["ours", "ridge"].map((method) => makeRun(random, { name: method, classes, points: 100, attributes: 20 }));
        runs[0].summary.h = runs[1].summary.h + 1;
        return { name, runs, reference: [], thumbnails: null, ...extra };
      };
      const parts = [part("CUB", 30, { thumbnails: sprite(random, 600, 60, 32) }),
        part("SUN 2", 20, { reference: [{ method: "mine", zsl: 12, u: null, s: null, h: null, features: "", semantics: "", split: "", source: "thesis", measured: false, own: true }] })];
      const rows = ["ours", "ridge", "alone"].map((method, m) => ({ method, cells: parts.map(({ runs }, p) => {
        if (method === "alone") return p ? null : { zsl: 1.25, h: null };
        const { zsl, h } = runs[m].summary;
        return { zsl, h };
      }) }));
      const ranks = { zsl: null, h: { data_sets: 2, methods: [{ method: "ours", best: 2, mean_rank: 1 }, { method: "ridge", best: 0, mean_rank: 2 }] } };
      return { format: 2, title: "ParsNets report: CUB, SUN 2", producer: "parsnets 0.1.0", overview: { parts: parts.map(({ name }) => name), rows, ranks }, parts };
    }
    default:
      throw new Error(`unknown kind of sample: ${kind}`);
  }
}

const KINDS = ["full", "minimal", "two", "many", "four", "nogzsl"];

module.exports = { makeReport, KINDS };

if (require.main === module) process.stdout.write(JSON.stringify(makeReport(process.argv[2] || "full"), null, 1));
