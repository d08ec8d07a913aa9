import type { Network } from "./addresses.ts";
import { addressKey, leadingBits, parseAddress } from "./addresses.ts";
import type { Alternative, Condition, Leaf, TextAlternative } from "./condition.ts";
import { meets, meetsText } from "./condition.ts";
import type { Interval } from "./interval-index.ts";
import { IntervalIndex } from "./interval-index.ts";
import { foldCase } from "./letters.ts";
import { comparableNumber } from "./numbers.ts";
import { PieceIndex } from "./piece-index.ts";

/**
 * The conditions on one path: finds those that a leaf meets without trying each. Literals are looked up; prefixes,
 * suffixes and wildcards by a literal piece of theirs, once for each length of piece; ranges in a tree; blocks of
 * addresses once for each mask. Only conditions of the form anything-but are tried one by one, because a leaf meets
 * nearly all of them anyway.
 */
export class LeafIndex<T> {
  #texts: Map<string, T[]> | undefined;
  #addresses: Map<string, T[]> | undefined;
  #numbers: Map<number, T[]> | undefined;
  #numberTexts: Map<string, T[]> | undefined;
  #words: Map<string, T[]> | undefined;
  #folded: Map<string, { readonly alternative: TextAlternative; readonly item: T }[]> | undefined;
  #pieces: PieceIndex<T> | undefined;
  #networks: Map<string, { readonly network: Network; readonly byPrefix: Map<bigint, T[]> }> | undefined;
  #tried: { readonly alternative: Alternative; readonly item: T }[] | undefined;
  #intervals: Interval<T>[] | undefined;
  #ranges: IntervalIndex<T> | undefined;
  #existing: T[] | undefined;

  /** Adds what a condition stands for. Absence is not held here: no leaf meets it. */
  add(condition: Condition, item: T): void {
    for (const alternative of condition.alternatives) this.#add(alternative, item);
  }

  /** Ends adding. */
  seal(): void {
    if (this.#intervals !== undefined) this.#ranges = new IntervalIndex(this.#intervals);
    this.#intervals = undefined;
    this.#pieces?.seal();
  }

  /** Tells every item whose condition the leaf meets; an item with several such alternatives is told several times. */
  find(leaf: Leaf, found: (item: T) => void): void {
    if (leaf.kind === "text") this.#findText(leaf.text, found);
    else if (leaf.kind === "word") this.#words?.get(leaf.text)?.forEach(found);
    else this.#findNumber(leaf.text, found);
    this.#existing?.forEach(found);
    if (this.#tried !== undefined)
      for (const { alternative, item } of this.#tried) if (meets(alternative, leaf)) found(item);
  }

  #findText(text: string, found: (item: T) => void): void {
    this.#texts?.get(text)?.forEach(found);
    if (this.#addresses !== undefined || this.#networks !== undefined) this.#findAddress(text, found);
    if (this.#folded !== undefined)
      for (const { alternative, item } of this.#folded.get(foldCase(text)) ?? [])
        if (meetsText(alternative, text)) found(item);
    this.#pieces?.find(text, found);
  }

  #findAddress(text: string, found: (item: T) => void): void {
    const address = parseAddress(text);
    if (address === undefined) return;
    this.#addresses?.get(addressKey(address))?.forEach(found);
    for (const { network, byPrefix } of this.#networks?.values() ?? [])
      if (network.width === address.width) byPrefix.get(leadingBits(address, network.bits))?.forEach(found);
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
      case "word":
        return append((this.#words ??= new Map()), alternative.word, item);
      case "equals-ignore-case":
        return append((this.#folded ??= new Map()), foldCase(alternative.text), { alternative, item });
      case "prefix":
      case "suffix":
      case "wildcard":
        return (this.#pieces ??= new PieceIndex()).add(alternative, item);
      case "range":
        (this.#intervals ??= []).push({ range: alternative.range, item });
        return;
      case "network":
        return this.#addNetwork(alternative.network, item);
      case "exists":
        (this.#existing ??= []).push(item);
        return;
      case "absent":
        return;
      default:
        (this.#tried ??= []).push({ alternative, item });
    }
  }

  #addNetwork(network: Network, item: T): void {
    this.#networks ??= new Map();
    const key = `${network.width}/${network.bits}`;
    let group = this.#networks.get(key);
    if (group === undefined) this.#networks.set(key, (group = { network, byPrefix: new Map() }));
    append(group.byPrefix, network.prefix, item);
  }
}

const append = <K, V>(map: Map<K, V[]>, key: K, value: V): void => {
  const present = map.get(key);
  if (present === undefined) map.set(key, [value]);
  else present.push(value);
};
