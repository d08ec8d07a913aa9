import type { CidrBlock } from "./addresses.ts";
import { leadingBits } from "./addresses.ts";
import type { Alternative, FieldCondition } from "./condition.ts";
import { meets } from "./condition.ts";
import { ExclusionIndex } from "./exclusion-index.ts";
import { IntegerLists } from "./integer-lists.ts";
import type { Growing } from "./integer-rows.ts";
import { IntegerRows } from "./integer-rows.ts";
import { IntervalIndex, Ranges } from "./interval-index.ts";
import type { LeafProbe } from "./leaf-probe.ts";
import { foldCase } from "./letters.ts";
import { PairTable } from "./pair-table.ts";
import type { Steps } from "./steps.ts";
import { TextTable } from "./text-table.ts";

/** The lists of one field: by a text, by a literal piece of a text, or all of a kind. */
const kindText = 0;
const kindAddress = 1;
const kindNumber = 2;
const kindNumberText = 3;
const kindKeyword = 4;
const kindFolded = 5;
const kindFront = 6;
const kindBack = 7;
const kindFoldedFront = 8;
const kindFoldedBack = 9;
const kindAnywhere = 10;
const kindBlock = 11;
const kindRange = 12;
const kindExists = 13;
const kindExclusion = 14;
const kindTested = 15;
/** The same wildcards as those of `kindAnywhere`, by the lengths of their pieces. */
const kindAnywhereLength = 16;
/** The lengths of the pieces of a kind, and the masks of blocks, are lists of their own. */
const sizesOf = 17;
const kinds = 32;

/** Ranges and exclusions of one field that are tested one by one; more have an index of their own. */
const testedMax = 8;

/**
 * Wildcards with pieces of one length that cost as much to test as it costs to look up the piece at each place of a
 * text, for each character of that length. Searching a text for one piece is the platform's, and far quicker.
 */
const testsPerCharacter = 2;

/** About the bytes of memory of a condition that has an object, with what it is in an index of exclusions. */
const checkBytes = 500;

type Found = (child: number) => void;

/**
 * The conditions of all fields of a tree, and the nodes to which they lead. It finds those that a leaf meets without
 * testing each. Literals are looked up; prefixes, suffixes and wildcards by one of their literal pieces, once for each
 * length of piece; ranges in a tree; CIDR blocks once for each mask; anything-but conditions on texts by the texts that
 * they exclude. Only the other anything-but conditions are tested one by one, and wildcards without a piece or with one
 * that may be anywhere, if few have a piece of its length. A literal has no object: 100,000 of them cost the collection
 * of garbage nothing.
 */
export class ConditionIndex {
  readonly #texts = new TextTable();
  /** The pairs of a field with a kind and a text, each of which has a list of nodes. */
  readonly #keys = new PairTable();
  readonly #lists = new IntegerLists();
  readonly #kindsOfField = new IntegerRows(1);
  readonly #checks: Alternative[] = [];
  readonly #ranges = new Ranges();
  #intervals: Map<number, IntervalIndex> | undefined;
  #exclusions: Map<number, ExclusionIndex> | undefined;

  /** Its parts that grow. */
  get parts(): readonly Growing[] {
    return [...this.#texts.parts, ...this.#keys.parts, ...this.#lists.parts, this.#kindsOfField, this.#ranges];
  }

  /** The bytes of memory; about, for conditions that have objects. */
  get bytes(): number {
    const objects = this.#checks.length * checkBytes;
    const intervals = this.#intervals?.values().reduce((sum, each) => sum + each.bytes, 0) ?? 0;
    const tables = [this.#texts, this.#keys, this.#lists, this.#kindsOfField, this.#ranges];
    return tables.reduce((sum, { bytes }) => sum + bytes, objects + intervals);
  }

  /** The texts, among which a leaf is looked up. */
  get texts(): TextTable {
    return this.#texts;
  }

  /** Adds a condition and the node to which it leads. `absent` is not indexed, because no leaf meets it. */
  add(field: number, condition: FieldCondition, child: number): void {
    while (this.#kindsOfField.length <= field) this.#kindsOfField.add(0);
    for (const alternative of condition.alternatives) this.#add(field, alternative, child);
  }

  /** Builds the index after the last `add`. */
  *seal(): Steps<void> {
    for (let list = 0; list < this.#lists.size; list += 1) {
      const kind = this.#keys.firstOf(list) % kinds;
      if ((kind === kindRange || kind === kindExclusion) && this.#lists.count(list) > testedMax)
        yield* this.#sealList(list, kind);
      if (list % 1_024 === 0) yield;
    }
    for (const part of [this.#texts, this.#keys, this.#lists]) {
      yield* part.trim();
      yield;
    }
    this.#kindsOfField.trim();
  }

  /** Calls `found` with the node of every condition that the leaf meets, once for each alternative that it meets. */
  find(field: number, probe: LeafProbe, found: Found): void {
    const present = this.#kindsOfField.at(field);
    const has = (kind: number): boolean => (present & (1 << kind)) !== 0;
    const { kind } = probe.leaf;
    if (kind === "text") this.#findText(field, probe, has, found);
    else if (kind === "keyword") this.#each(field, kindKeyword, probe.textId, found);
    else this.#findNumber(field, probe, has, found);
    if (has(kindExists)) this.#each(field, kindExists, 0, found);
    if (has(kindExclusion)) this.#findExclusions(field, probe, found);
    if (has(kindTested)) this.#eachMet(field, kindTested, 0, probe, found);
  }

  #findText(field: number, probe: LeafProbe, has: (kind: number) => boolean, found: Found): void {
    const { text } = probe.leaf;
    if (has(kindText)) this.#each(field, kindText, probe.textId, found);
    if (has(kindAddress)) this.#each(field, kindAddress, probe.address.id, found);
    if (has(kindBlock)) this.#findBlock(field, probe, found);
    if (has(kindFolded)) this.#eachMet(field, kindFolded, this.#texts.find(probe.folded), probe, found);
    if (has(kindFront)) this.#findFront(field, kindFront, text, probe, found);
    if (has(kindBack)) this.#findBack(field, kindBack, text, probe, found);
    if (has(kindFoldedFront)) this.#findFront(field, kindFoldedFront, probe.folded, probe, found);
    if (has(kindFoldedBack)) this.#findBack(field, kindFoldedBack, probe.folded, probe, found);
    if (has(kindAnywhere)) this.#findAnywhere(field, text, probe, found);
  }

  #findNumber(field: number, probe: LeafProbe, has: (kind: number) => boolean, found: Found): void {
    if (has(kindNumberText)) this.#each(field, kindNumberText, probe.textId, found);
    if (has(kindNumber)) this.#each(field, kindNumber, probe.number.id, found);
    if (!has(kindRange) || probe.number.value === undefined) return;
    const index = this.#intervals?.get(field);
    if (index !== undefined) index.find(probe.number.value, found);
    else
      for (let entry = this.#first(field, kindRange, 0); entry !== -1; entry = this.#lists.next(entry))
        if (this.#ranges.contains(this.#lists.noteOf(entry), probe.number.value)) found(this.#lists.valueOf(entry));
  }

  #findBlock(field: number, { address: { parsed } }: LeafProbe, found: Found): void {
    if (parsed === undefined) return;
    this.#eachSize(field, kindBlock, (size) => {
      const [width, bits] = [size >>> 8, size & 0xff];
      if (width === parsed.width)
        this.#each(field, kindBlock, this.#texts.find(blockKey(width, bits, leadingBits(parsed, bits))), found);
    });
  }

  #findFront(field: number, kind: number, text: string, probe: LeafProbe, found: Found): void {
    this.#eachSize(field, kind, (length) => {
      if (length <= text.length) this.#eachMet(field, kind, this.#texts.find(text, 0, length), probe, found);
    });
  }

  #findBack(field: number, kind: number, text: string, probe: LeafProbe, found: Found): void {
    this.#eachSize(field, kind, (length) => {
      if (length <= text.length)
        this.#eachMet(field, kind, this.#texts.find(text, text.length - length, text.length), probe, found);
    });
  }

  #findAnywhere(field: number, text: string, probe: LeafProbe, found: Found): void {
    this.#eachSize(field, kindAnywhere, (length) => {
      if (this.#count(field, kindAnywhereLength, length) < length * testsPerCharacter)
        return this.#eachMet(field, kindAnywhereLength, length, probe, found);
      const seen = new Set<number>();
      for (let begin = 0; begin + length <= text.length; begin += 1) {
        const piece = this.#texts.find(text, begin, begin + length);
        if (piece === -1 || seen.has(piece)) continue;
        seen.add(piece);
        this.#eachMet(field, kindAnywhere, piece, probe, found);
      }
    });
  }

  #findExclusions(field: number, probe: LeafProbe, found: Found): void {
    const index = this.#exclusions?.get(field);
    if (index === undefined) this.#eachMet(field, kindExclusion, 0, probe, found);
    else if (probe.leaf.kind === "text") index.findText(probe.leaf.text, found);
    else index.findAll(found);
  }

  #add(field: number, alternative: Alternative, child: number): void {
    switch (alternative.kind) {
      case "text":
        return this.#put(field, kindText, alternative.text, child);
      case "address":
        return this.#put(field, kindAddress, alternative.key, child);
      case "number":
        return this.#put(field, kindNumber, String(alternative.value), child);
      case "number-text":
        return this.#put(field, kindNumberText, alternative.text, child);
      case "keyword":
        return this.#put(field, kindKeyword, alternative.keyword, child);
      case "equals-ignore-case":
        return this.#put(field, kindFolded, foldCase(alternative.text), child, alternative);
      case "prefix":
        return alternative.ignoresCase
          ? this.#putPiece(field, kindFoldedFront, foldCase(alternative.text), child, alternative)
          : this.#putPiece(field, kindFront, alternative.text, child);
      case "suffix":
        return alternative.ignoresCase
          ? this.#putPiece(field, kindFoldedBack, foldCase(alternative.text), child, alternative)
          : this.#putPiece(field, kindBack, alternative.text, child);
      case "wildcard":
        return this.#putWildcard(field, alternative, child);
      case "range":
        return this.#list(field, kindRange, 0, child, this.#ranges.add(alternative.range));
      case "cidr":
        return this.#putBlock(field, alternative.block, child);
      case "exists":
        return this.#list(field, kindExists, 0, child);
      case "absent":
        return;
      case "anything-but-texts":
        return this.#list(field, kindExclusion, 0, child, this.#checks.push(alternative) - 1);
      default:
        return this.#list(field, kindTested, 0, child, this.#checks.push(alternative) - 1);
    }
  }

  #putWildcard(field: number, alternative: Extract<Alternative, { kind: "wildcard" }>, child: number): void {
    const { pieces } = alternative.wildcard;
    const first = pieces[0] ?? "";
    const last = pieces.at(-1) ?? "";
    if (first !== "") return this.#putPiece(field, kindFront, first, child, alternative);
    if (last !== "") return this.#putPiece(field, kindBack, last, child, alternative);
    const longest = pieces.reduce((best, piece) => (piece.length > best.length ? piece : best), "");
    if (longest === "") return this.#list(field, kindTested, 0, child, this.#checks.push(alternative) - 1);
    this.#putPiece(field, kindAnywhere, longest, child, alternative);
    this.#list(field, kindAnywhereLength, longest.length, child, this.#checks.length - 1);
  }

  #putBlock(field: number, { width, bits, prefix }: CidrBlock, child: number): void {
    this.#putSize(field, kindBlock, (width << 8) | bits);
    this.#put(field, kindBlock, blockKey(width, bits, prefix), child);
  }

  #putPiece(field: number, kind: number, piece: string, child: number, check?: Alternative): void {
    this.#putSize(field, kind, piece.length);
    this.#put(field, kind, piece, child, check);
  }

  /** `check`: the alternative that a leaf with this text must still meet; unset: it meets it. */
  #put(field: number, kind: number, text: string, child: number, check?: Alternative): void {
    this.#list(field, kind, this.#texts.add(text), child, check === undefined ? -1 : this.#checks.push(check) - 1);
  }

  #putSize(field: number, kind: number, size: number): void {
    let isPresent = false;
    this.#eachSize(field, kind, (present) => (isPresent ||= present === size));
    if (!isPresent) this.#list(field, kind + sizesOf, 0, size);
  }

  #list(field: number, kind: number, text: number, value: number, note = -1): void {
    const list = this.#keys.add(field * kinds + kind, text);
    if (list === this.#lists.size) this.#lists.addList();
    this.#lists.add(list, value, note);
    this.#kindsOfField.set(field, 0, this.#kindsOfField.at(field) | (1 << kind));
  }

  #first(field: number, kind: number, text: number): number {
    const list = text === -1 ? -1 : this.#keys.find(field * kinds + kind, text);
    return list === -1 ? -1 : this.#lists.first(list);
  }

  #count(field: number, kind: number, text: number): number {
    const list = this.#keys.find(field * kinds + kind, text);
    return list === -1 ? 0 : this.#lists.count(list);
  }

  #each(field: number, kind: number, text: number, found: Found): void {
    for (let entry = this.#first(field, kind, text); entry !== -1; entry = this.#lists.next(entry))
      found(this.#lists.valueOf(entry));
  }

  #eachMet(field: number, kind: number, text: number, { leaf }: LeafProbe, found: Found): void {
    for (let entry = this.#first(field, kind, text); entry !== -1; entry = this.#lists.next(entry)) {
      const check = this.#checks[this.#lists.noteOf(entry)];
      if (check === undefined || meets(check, leaf)) found(this.#lists.valueOf(entry));
    }
  }

  #eachSize(field: number, kind: number, found: (size: number) => void): void {
    this.#each(field, kind + sizesOf, 0, found);
  }

  *#sealList(list: number, kind: number): Steps<void> {
    const field = Math.floor(this.#keys.firstOf(list) / kinds);
    const children: number[] = [];
    const notes: number[] = [];
    for (let entry = this.#lists.first(list); entry !== -1; entry = this.#lists.next(entry)) {
      notes.push(this.#lists.noteOf(entry));
      if (children.push(this.#lists.valueOf(entry)) % 1_024 === 0) yield;
    }
    if (kind === kindRange) {
      const index = yield* IntervalIndex.of(this.#ranges, Int32Array.from(notes), Int32Array.from(children));
      (this.#intervals ??= new Map()).set(field, index);
      return;
    }
    const index = new ExclusionIndex();
    for (const [position, note] of notes.entries()) {
      const check = this.#checks[note];
      if (check?.kind === "anything-but-texts") index.add(check.texts, children[position] as number);
      if (position % 64 === 0) yield;
    }
    yield* index.seal();
    (this.#exclusions ??= new Map()).set(field, index);
  }
}

const blockKey = (width: number, bits: number, prefix: bigint): string => `${width}/${bits}/${prefix.toString(16)}`;
