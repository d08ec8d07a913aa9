const nothing = new Int32Array(0);
const capacityMin = 4;

/** A table whose room doubles whenever it is full, which copies all of it. */
export interface Growing {
  /** Doubles the room if less than an eighth of it is left; returns whether it did. */
  makeRoom(): boolean;
}

/** A table of 32-bit integers that grows, without an object for each row. A row has at most three cells. */
export class IntegerRows implements Growing {
  readonly #width: number;
  #values = nothing;
  #length = 0;

  constructor(width: 1 | 2 | 3) {
    this.#width = width;
  }

  /** The number of rows. */
  get length(): number {
    return this.#length;
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#values.byteLength;
  }

  /** Appends a row and returns its number. */
  add(first: number, second = 0, third = 0): number {
    const begin = this.#length * this.#width;
    if (begin === this.#values.length) this.#resize(Math.max(this.#length * 2, capacityMin));
    this.#values[begin] = first;
    if (this.#width > 1) this.#values[begin + 1] = second;
    if (this.#width > 2) this.#values[begin + 2] = third;
    return this.#length++;
  }

  /** The value of a cell. */
  at(row: number, cell = 0): number {
    return this.#values[row * this.#width + cell] as number;
  }

  /** Replaces the value of a cell. */
  set(row: number, cell: number, value: number): void {
    this.#values[row * this.#width + cell] = value;
  }

  makeRoom(): boolean {
    if (this.#length + (this.#length >>> 3) <= this.#values.length / this.#width) return false;
    this.#resize(this.#length * 2);
    return true;
  }

  /** Releases the room for further rows. */
  trim(): void {
    this.#resize(this.#length);
  }

  #resize(capacity: number): void {
    const before = this.#values;
    if (capacity * this.#width === before.length) return;
    this.#values = new Int32Array(capacity * this.#width);
    this.#values.set(before.length > this.#values.length ? before.subarray(0, this.#values.length) : before);
  }
}
