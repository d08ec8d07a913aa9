import type { CidrBlock } from "./addresses.ts";
import { addressKey, leadingBits, parseAddress } from "./addresses.ts";
import type { Alternative, FieldCondition, Leaf, TextAlternative } from "./condition.ts";
import { meets, meetsText } from "./condition.ts";
import type { Interval } from "./interval-index.ts";
import { IntervalIndex, sortIntervals } from "./interval-index.ts";
import { ExclusionIndex } from "./exclusion-index.ts";
import { foldCase } from "./letters.ts";
import { comparableNumber } from "./numbers.ts";
import { PieceIndex } from "./piece-index.ts";
import type { Steps } from "./steps.ts";

/**
 * An index of the conditions on one path, which finds those that a leaf meets without testing each. Literals are looked
 * up; prefixes, suffixes and wildcards by one of their literal pieces, once for each length of piece; ranges in a tree;
 * CIDR blocks once for each mask; anything-but conditions on texts by the texts that they exclude. Only the other
 * anything-but conditions are tested one by one, because a leaf meets nearly all of them anyway.
 */
export class LeafIndex<T> {
  #texts: Map<string, T[]> | undefined;
  #addresses: Map<string, T[]> | undefined;
  #numbers: Map<number, T[]> | undefined;
  #numberTexts: Map<string, T[]> | undefined;
  #keywords: Map<string, T[]> | undefined;
  #folded: Map<string, { readonly alternative: TextAlternative; readonly item: T }[]> | undefined;
  #pieces: PieceIndex<T> | undefined;
  #blocks: Map<string, { readonly block: CidrBlock; readonly byPrefix: Map<bigint, T[]> }> | undefined;
  #exclusions: ExclusionIndex<T> | undefined;
  #tested: { readonly alternative: Alternative; readonly item: T }[] | undefined;
  #intervals: Interval<T>[] | undefined;
  #ranges: IntervalIndex<T> | undefined;
  #existing: T[] | undefined;

  /** Adds the item of a condition. `absent` is not indexed, because no leaf meets it. */
  add(condition: FieldCondition, item: T): void {
    for (const alternative of condition.alternatives) this.#add(alternative, item);
  }

  /** Builds the index after the last `add`. */
  *seal(): Steps<void> {
    if (this.#intervals !== undefined) this.#ranges = new IntervalIndex(yield* sortIntervals(this.#intervals));
    this.#intervals = undefined;
    this.#pieces?.seal();
    if (this.#exclusions !== undefined) yield* this.#exclusions.seal();
  }

  /** Calls `found` with every item whose condition the leaf meets, once for each alternative that it meets. */
  find(leaf: Leaf, found: (item: T) => void): void {
    if (leaf.kind === "text") this.#findText(leaf.text, found);
    else if (leaf.kind === "keyword") this.#keywords?.get(leaf.text)?.forEach(found);
    else this.#findNumber(leaf.text, found);
    this.#existing?.forEach(found);
    if (leaf.kind === "text") this.#exclusions?.findText(leaf.text, found);
    else this.#exclusions?.findAll(found);
    if (this.#tested !== undefined)
      for (const { alternative, item } of this.#tested) if (meets(alternative, leaf)) found(item);
  }

  #findText(text: string, found: (item: T) => void): void {
    this.#texts?.get(text)?.forEach(found);
    if (this.#addresses !== undefined || this.#blocks !== undefined) this.#findAddress(text, found);
    if (this.#folded !== undefined)
      for (const { alternative, item } of this.#folded.get(foldCase(text)) ?? [])
        if (meetsText(alternative, text)) found(item);
    this.#pieces?.find(text, found);
  }

  #findAddress(text: string, found: (item: T) => void): void {
    const address = parseAddress(text);
    if (address === undefined) return;
    this.#addresses?.get(addressKey(address))?.forEach(found);
    for (const { block, byPrefix } of this.#blocks?.values() ?? [])
      if (block.width === address.width) byPrefix.get(leadingBits(address, block.bits))?.forEach(found);
  }

  #findNumber(text: string, found: (item: T) => void): void {
    this.#numberTexts?.get(text)?.forEach(found);
    if (this.#numbers === undefined && this.#ranges === undefined) return;
    const value = comparableNumber(text);
    if (value === undefined) return;
    this.#numbers?.get(value)?.forEach(found);
    this.#ranges?.find(value, found);
  }

  #add(alternative: Alternative, item: T): void {
    switch (alternative.kind) {
      case "text":
        return append((this.#texts ??= new Map()), alternative.text, item);
      case "address":
        return append((this.#addresses ??= new Map()), alternative.key, item);
      case "number":
        return append((this.#numbers ??= new Map()), alternative.value, item);
      case "number-text":
        return append((this.#numberTexts ??= new Map()), alternative.text, item);
      case "keyword":
        return append((this.#keywords ??= new Map()), alternative.keyword, item);
      case "equals-ignore-case":
        return append((this.#folded ??= new Map()), foldCase(alternative.text), { alternative, item });
      case "prefix":
      case "suffix":
      case "wildcard":
        return (this.#pieces ??= new PieceIndex()).add(alternative, item);
      case "range":
        (this.#intervals ??= []).push({ range: alternative.range, item });
        return;
      case "cidr":
        return this.#addBlock(alternative.block, item);
      case "exists":
        (this.#existing ??= []).push(item);
        return;
      case "absent":
        return;
      case "anything-but-texts":
        return (this.#exclusions ??= new ExclusionIndex()).add(alternative.texts, item);
      default:
        (this.#tested ??= []).push({ alternative, item });
    }
  }

  #addBlock(block: CidrBlock, item: T): void {
    this.#blocks ??= new Map();
    const key = `${block.width}/${block.bits}`;
    let group = this.#blocks.get(key);
    if (group === undefined) this.#blocks.set(key, (group = { block, byPrefix: new Map() }));
    append(group.byPrefix, block.prefix, item);
  }
}

const append = <K, V>(map: Map<K, V[]>, key: K, value: V): void => {
  const present = map.get(key);
  if (present === undefined) map.set(key, [value]);
  else present.push(value);
};
