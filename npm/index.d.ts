/** Zero-shot recognition from a ParsNets device model, by the C runtime compiled to WebAssembly. */

export type Bytes = ArrayBuffer | ArrayBufferView;
export type Numbers = Float32Array | Float64Array | readonly number[];

export class ParsNetsError extends Error {
  /** Name of the status of the runtime, such as "DAMAGED" or "EXISTS". */
  readonly status: string;
}

export interface Match {
  name: string;
  index: number;
  /** With gamma subtracted from seen classes. */
  score: number;
  confidence: number;
}

export interface Classification {
  /** Best first. */
  matches: Match[];
  /** The sample is of no class, or no class competes. */
  unknown: boolean;
  /** What `unknown` follows from; 0 unless rejection was asked for. */
  knownScore: number;
}

export interface ClassInfo {
  name: string;
  index: number;
  seen: boolean;
  added: boolean;
}

export interface Explanation {
  winner: string;
  runnerUp: string;
  winnerScore: number;
  runnerUpScore: number;
  calibration: number;
  examples: number;
  contributions: Float32Array;
  predicted: Float32Array;
}

export interface ClassifyOptions {
  /** How many classes, at most; 1 by default. */
  top?: number;
  among?: "all" | "seen" | "unseen";
  /** Whether unknown samples are told. */
  reject?: boolean;
}

export class Model {
  private constructor();
  readonly features: number;
  readonly attributes: number;
  readonly outputs: number;
  readonly gamma: number;
  readonly rejects: boolean;
  readonly learns: boolean;
  readonly multiplyAdds: number;
  readonly memoryBytes: number;
  readonly classes: ClassInfo[];
  readonly attributeNames: string[] | null;
  classify(features: Numbers, options?: ClassifyOptions): Classification;
  predict(features: Numbers): { values: Float32Array; active: Uint16Array };
  scores(features: Numbers): Float32Array;
  explain(features: Numbers): Explanation;
  addClass(name: string, attributes: Numbers): number;
  removeClass(name: string): void;
  indexOf(name: string): number;
  classVector(index: number): Float32Array;
  adapt(rows: Numbers | readonly Numbers[]): number;
  teach(name: string, rows: Numbers | readonly Numbers[]): void;
  forget(): void;
  save(): Uint8Array;
  restore(saved: Bytes): void;
}

/** Opens a device model (`parsnets export`). `wasm`: the runtime, where it does not lie beside this module. */
export function load(
  bytes: Bytes,
  options?: { wasm?: WebAssembly.Module | Bytes | URL | string },
): Promise<Model>;

/** Whether this host runs SIMD128. */
export function hasSimd(): boolean;
