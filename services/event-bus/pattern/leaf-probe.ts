import type { IpAddress } from "./addresses.ts";
import { addressKey, parseAddress } from "./addresses.ts";
import type { Leaf } from "./condition.ts";
import { foldCase } from "./letters.ts";
import { comparableNumber } from "./numbers.ts";
import type { TextTable } from "./text-table.ts";

/** A leaf with what an index looks up of it, read once for all fields of a tree. The numbers are those of its texts. */
export class LeafProbe {
  readonly leaf: Leaf;
  readonly textId: number;
  readonly #texts: TextTable;
  #address: { readonly parsed: IpAddress | undefined; readonly id: number } | undefined;
  #folded: string | undefined;
  #number: { readonly value: number | undefined; readonly id: number } | undefined;

  constructor(leaf: Leaf, texts: TextTable) {
    this.leaf = leaf;
    this.#texts = texts;
    this.textId = texts.find(leaf.text);
  }

  /** The address that the text is, and its number. */
  get address(): { readonly parsed: IpAddress | undefined; readonly id: number } {
    if (this.#address === undefined) {
      const parsed = parseAddress(this.leaf.text);
      this.#address = { parsed, id: parsed === undefined ? -1 : this.#texts.find(addressKey(parsed)) };
    }
    return this.#address;
  }

  /** The text with letters of one case. */
  get folded(): string {
    return (this.#folded ??= foldCase(this.leaf.text));
  }

  /** The value for comparison, and the number of its text. */
  get number(): { readonly value: number | undefined; readonly id: number } {
    if (this.#number === undefined) {
      const value = comparableNumber(this.leaf.text);
      this.#number = { value, id: value === undefined ? -1 : this.#texts.find(String(value)) };
    }
    return this.#number;
  }
}
