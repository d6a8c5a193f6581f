import type { PackedArray } from "./doc";

/** A packed array of the page. Numbers are decoded one at a time. */
export class NumberArray {
  readonly shape: readonly number[];
  readonly codes: Uint8Array | Uint16Array | Float32Array;
  /** Max code of a value; the next code means "no value". 0 for floats. */
  readonly top: number;
  private readonly slice: number;

  constructor(
    private readonly packed: PackedArray,
    bytes: Uint8Array<ArrayBuffer>,
  ) {
    this.shape = packed.shape;
    const size = packed.shape.reduce((a, b) => a * b, 1);
    const width = { u8: 1, u16: 2, f32: 4 }[packed.type];
    if (bytes.length !== size * width) throw new Error(`block has ${bytes.length} bytes, expected ${size * width}`);
    this.codes =
      packed.type === "u8"
        ? bytes
        : packed.type === "u16"
          ? new Uint16Array(bytes.buffer, bytes.byteOffset, size)
          : new Float32Array(bytes.buffer, bytes.byteOffset, size);
    this.top = { u8: 254, u16: 65534, f32: 0 }[packed.type];
    const slices = packed.low?.length ?? 1;
    this.slice = slices > 1 ? size / slices : size;
  }

  /** Returns the number at a flat index; NaN if there is no value. */
  at(index: number): number {
    const code = this.codes[index] ?? NaN;
    if (this.top === 0) return code;
    if (code > this.top) return NaN;
    const { low, high } = this.range(index);
    return low + (high - low) * (code / this.top) ** (this.packed.power ?? 1);
  }

  /** Returns the min and max of the slice that contains an index. */
  range(index = 0): { low: number; high: number } {
    const slice = Math.floor(index / Math.max(1, this.slice));
    return { low: this.packed.low?.[slice] ?? 0, high: this.packed.high?.[slice] ?? 1 };
  }
}
