// From the bytes of a photograph to its features, in the page that `parsnets page --backbone` writes: what
// src/images/pixels.cpp does to the pixels, and the network run by onnxruntime-web.

const PRESETS = {  // value = colour · scale − shift; `order`: red, green and blue of each channel of the output
  torchvision: { order: [0, 1, 2], scale: [1 / (255 * 0.229), 1 / (255 * 0.224), 1 / (255 * 0.225)], shift: [0.485 / 0.229, 0.456 / 0.224, 0.406 / 0.225] },
  caffe: { order: [2, 1, 0], scale: [1, 1, 1], shift: [103.939, 116.779, 123.68] },
  tf: { order: [0, 1, 2], scale: [1 / 127.5, 1 / 127.5, 1 / 127.5], shift: [1, 1, 1] },
};

// Which source pixels make each of `count` pixels of the output from `begin` on: a triangle as wide as the pixels that
// become one, at least two of them.
function tapsOf(source, scaled, begin, count) {
  const scale = source / scaled, reach = Math.max(scale, 1);
  return Array.from({ length: count }, (_, i) => {
    const centre = (begin + i + 0.5) * scale, first = Math.max(0, Math.floor(centre - reach));
    const weights = [];
    for (let s = first; s < Math.min(source, Math.ceil(centre + reach)); s += 1) weights.push(Math.max(0, 1 - Math.abs((s + 0.5 - centre) / reach)));
    const sum = weights.reduce((a, b) => a + b, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}

// The size that the whole photograph is scaled to, and the part of it that is kept.
function cutOf(across, down, { fit, width, height }) {
  if (fit === "whole") return { width, height, left: 0, top: 0 };
  const withBorder = (side) => Math.round((side * 256) / 224), wide = withBorder(width) / across >= withBorder(height) / down;
  const cut = wide ? { width: withBorder(width), height: Math.floor((down * withBorder(width)) / across) }
    : { width: Math.floor((across * withBorder(height)) / down), height: withBorder(height) };
  cut.width = Math.max(cut.width, width);
  cut.height = Math.max(cut.height, height);
  const half = (rest) => Math.floor(rest / 2) + (rest % 4 === 3 ? 1 : 0);  // as Python rounds: to even
  return { ...cut, left: half(cut.width - width), top: half(cut.height - height) };
}

// Channel by channel, from rows of red, green, blue and opacity.
function networkInput({ data, width, height }, input) {
  const cut = cutOf(width, height, input), { order, scale, shift } = PRESETS[input.preset];
  const across = tapsOf(width, cut.width, cut.left, input.width), down = tapsOf(height, cut.height, cut.top, input.height);
  const values = new Float32Array(3 * input.width * input.height), row = new Float32Array(4 * width);
  down.forEach(({ first, weights }, y) => {
    row.fill(0);
    weights.forEach((weight, k) => {
      const from = 4 * width * (first + k);
      for (let i = 0; i < row.length; i += 1) row[i] += weight * data[from + i];
    });
    across.forEach((tap, x) => {
      for (let c = 0; c < 3; c += 1) {
        const colour = tap.weights.reduce((sum, weight, k) => sum + weight * row[4 * (tap.first + k) + order[c]], 0);
        values[(c * input.height + y) * input.width + x] = colour * scale[c] - shift[c];
      }
    });
  });
  return values;
}

// A value per channel: the mean over positions, and with `maxima` then their maxima.
function pooled(values, channels, maxima) {
  const positions = values.length / channels, features = new Float32Array(maxima ? 2 * channels : channels);
  for (let c = 0; c < channels; c += 1) {
    let sum = 0, most = -Infinity;
    for (let i = c * positions; i < (c + 1) * positions; i += 1) {
      sum += values[i];
      most = Math.max(most, values[i]);
    }
    features[c] = sum / positions;
    if (maxima) features[channels + c] = most;
  }
  return features;
}

// Pixels as they are in the file, turned upright by its EXIF orientation.
async function pixelsOf(image, most) {
  const bitmap = await createImageBitmap(image, { imageOrientation: "from-image", premultiplyAlpha: "none", colorSpaceConversion: "none" })
    .catch(() => { throw new Error("expected a complete JPEG, PNG, WebP or BMP image, found none that this browser reads"); });
  const { width, height } = bitmap;
  if (width * height > most) throw new Error(`expected at most ${most} pixels, found ${width} x ${height}: make the photograph smaller`);
  const canvas = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  canvas.drawImage(bitmap, 0, 0);
  bitmap.close();
  return canvas.getImageData(0, 0, width, height);
}

class PhotoReader {
  constructor(backbone) {
    this.backbone = backbone;
    this.ready = null;  // the network is started with the first photograph
  }

  // The page's policy forbids to import a module from data: so that the scripts of onnxruntime-web become elements, and
  // `parsnets page` has put ortImport in the place of its import().
  async start() {
    const { network, script, module: loader, wasm } = this.backbone;
    const run = (type, text) => document.head.append(element("script", { type }, new TextDecoder().decode(bytesOf(text))));
    const module = new Promise((resolve) => Object.defineProperty(window, "ortModule", { set: resolve, configurable: true }));
    run("module", loader);
    const made = await module;
    window.ortImport = async () => ({ default: made });
    run("text/javascript", script);
    const { env, InferenceSession } = window.ort;
    env.wasm.wasmBinary = bytesOf(wasm).buffer;
    env.wasm.numThreads = 1;  // several would need headers, which a file from a disk has not
    env.logLevel = "error";
    return InferenceSession.create(bytesOf(network), { executionProviders: ["wasm"] });
  }

  async features(image) {
    const { input, output, width, height, pool, dimensions } = this.backbone;
    const pixels = await pixelsOf(image, this.backbone.most_pixels);
    this.ready = this.ready || this.start();
    const session = await this.ready;
    const tensor = new window.ort.Tensor("float32", networkInput(pixels, this.backbone), [1, 3, height, width]);
    const { data, dims } = (await session.run({ [input]: tensor }, [output]))[output];
    const features = pooled(data, dims[1], pool === "both");
    if (features.length !== dimensions) throw new Error(`the network made ${features.length} values, expected ${dimensions}`);
    if (!features.every(Number.isFinite)) throw new Error("the network's output has values that are not finite");
    return features;
  }
}
