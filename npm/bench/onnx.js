// A device file as an ONNX graph of the same arithmetic: raw features to the scores of its classes. Without ReLU and
// energy gates, and for models that compare by cosine. Docs: docs/device.md, onnx.proto.

const NAMES = ["feature_mean", "feature_factor", "encoder", "anchors", "network_weights", "network_bias", "mixing", "shared", "bias",
  "semantic_mean", "semantic_factor", "whitening_centre", "whitening", "semantic_centre", "prototype_support",
  "prototype_weights", "class_vectors"];
const SIZES_AT = 20, NUMBERS = 9, TYPES_AT = SIZES_AT + 4 * 17 + 4 * NUMBERS + 8, HEADER = 176;
const ABSENT = 0, F32 = 1, F16 = 2, I8 = 3;

/** The sizes of a device file, and its float32 or int8 sections up to the class vectors as {rows, cols, values}. */
export function readModel(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(8, true) !== 8) throw new Error("expected a device file of format version 8");
  const [d, m, o, q, h, K, open, r, C, S] = Array.from({ length: 10 }, (_, i) => view.getUint32(SIZES_AT + 4 * i, true));
  const choice = (i) => view.getUint8(TYPES_AT - 8 + i);
  const [scaling, gates, similarity, seesEncoding, relu] = [0, 2, 3, 4, 5].map(choice);
  if (relu || gates === 1 || similarity !== 0) throw new Error("expected a model without ReLU and energy gates that compares by cosine");
  const e = h || d, z = h && seesEncoding ? h : d;
  const shapes = [[1, d], [1, d], [h, d], [K, e], [r * o, z], [1, r * o], [K, r], [o, d], [1, o], [1, m], [1, m], [1, m], [q, m], [1, o],
    [S, q], [o, S], [C, o]];
  const model = { d, o, K, open, r, C, scaling, gates, seesEncoding };
  let at = HEADER;
  const take = (size) => {
    const from = bytes.byteOffset + at;
    at += (size + 15) & ~15;
    return from;
  };
  NAMES.forEach((name, i) => {
    const type = view.getUint8(TYPES_AT + i), [rows, cols] = shapes[i], count = rows * cols;
    if (type === ABSENT) return;
    if (type === F16) throw new Error("expected float32 or int8 weights");
    const scale = type === I8 ? new Float32Array(bytes.buffer.slice(take(4 * rows)), 0, rows) : null;
    const from = take(type === F32 ? 4 * count : count);
    const values = type === F32 ? new Float32Array(bytes.buffer.slice(from, from + 4 * count))
      : Float32Array.from(new Int8Array(bytes.buffer, from, count), (v, j) => v * scale[Math.floor(j / cols)]);
    model[name] = { rows, cols, values };
  });
  return model;
}

// Protobuf: fields of a message, each with its number.
function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  return Buffer.from([...out, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const content = (field, value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
};
const FLOAT = 1, INT64 = 7, INT = 2, INTS = 7;
const tensor = (name, shape, values) => Buffer.concat([...shape.map((n) => number(1, n)), number(2, values instanceof Float32Array ? FLOAT : INT64),
  content(8, name), content(9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength))]);
const value = (name, shape) => Buffer.concat([content(1, name),
  content(2, content(1, Buffer.concat([number(1, FLOAT), content(2, Buffer.concat(shape.map((n) => content(1, number(1, n)))))])))]);

/** The graph: input "x" of 1 x d, output "scores" of 1 x C. */
export function onnxModel(model) {
  const nodes = [], weights = [];
  let last = "x", count = 0;
  const floats = (name, shape, values) => (weights.push(content(5, tensor(name, shape, values))), name);
  const integers = (name, ...values) => (weights.push(content(5, tensor(name, [values.length], BigInt64Array.from(values, BigInt)))), name);
  const add = (operator, inputs, { outputs = [`v${++count}`], ...attributes } = {}) => {
    nodes.push(content(1, Buffer.concat([...inputs.map((one) => content(1, one)), ...outputs.map((one) => content(2, one)), content(4, operator),
      ...Object.entries(attributes).map(([name, v]) => content(5, Buffer.concat(Array.isArray(v)
        ? [content(1, name), ...v.map((one) => number(8, one)), number(20, INTS)] : [content(1, name), number(3, v), number(20, INT)])))])));
    last = outputs[outputs.length - 1];
    return last;
  };
  const row = (name) => floats(name, [1, model[name].cols], model[name].values);
  const times = (x, name) => {  // x · matrixᵀ
    const { rows, cols, values } = model[name], turned = new Float32Array(values.length);
    for (let i = 0; i < rows; ++i) for (let j = 0; j < cols; ++j) turned[j * rows + i] = values[i * cols + j];
    return add("MatMul", [x, floats(name, [cols, rows], turned)]);
  };
  const unit = (x) => add("Div", [x, add("ReduceL2", [x], { axes: [1], keepdims: 1 })]);
  let x = "x";
  if (model.scaling === 2) x = add("Mul", [add("Sign", [x]), add("Sqrt", [add("Abs", [x])])]);
  if (model.scaling > 0) x = unit(x);
  if (model.feature_mean) x = add("Sub", [x, row("feature_mean")]);
  if (model.feature_factor) x = add("Mul", [x, row("feature_factor")]);
  const e = model.encoder ? times(x, "encoder") : x, z = model.seesEncoding ? e : x, { o, r, K } = model;
  let mix = null;
  if (model.gates === 2) {
    const identity = () => Float32Array.from({ length: K * K }, (_, i) => (i % (K + 1) === 0 ? 1 : 0));
    const mixing = floats("mixing", [K, r], model.mixing ? model.mixing.values : identity());
    add("TopK", [times(e, "anchors"), integers("k", model.open)], { outputs: ["best", "chosen"] });
    mix = add("ReduceSum", [add("Gather", [mixing, "chosen"]), integers("axis", 1)], { keepdims: 0 });
  } else {
    mix = floats("mix", [1, 1], Float32Array.of(1));
  }
  const outputs = add("Add", [times(z, "network_weights"), row("network_bias")]);
  let f = add("MatMul", [mix, add("Reshape", [outputs, integers("shape", r, o)])]);
  if (model.shared) f = add("Add", [f, times(x, "shared")]);
  f = add("Add", [f, row("bias")]);
  if (model.semantic_centre) f = add("Sub", [f, row("semantic_centre")]);
  add("Identity", [times(unit(f), "class_vectors")], { outputs: ["scores"] });
  const graph = Buffer.concat([...nodes, content(2, "model"), ...weights, content(11, value("x", [1, model.d])), content(12, value("scores", [1, model.C]))]);
  return Buffer.concat([number(1, 7), content(7, graph), content(8, Buffer.concat([content(1, ""), number(2, 13)]))]);
}
