import { limits } from "../limits.ts";

/** What a glob says about one key. */
export interface GlobMatch {
  readonly isMatch: boolean;
  /** A beginning of the key that no matching key has. Undefined: a longer key may match. */
  readonly hopelessPrefix: string | undefined;
  /** How many steps it took, each of some 20 nanoseconds. */
  readonly steps: number;
}

/** A pattern of keys. */
export interface Glob {
  /** Every matching key begins with this. */
  readonly literalPrefix: string;
  /** Only the literal prefix itself matches. */
  readonly isLiteral: boolean;
  /** Matches a key that begins with the literal prefix, in time that grows with the product of both lengths at most. */
  match(key: string): GlobMatch;
}

/** A text is not a glob; the message is shown to the caller. */
export class GlobError extends Error {
  override readonly name = "GlobError";
}

/** One state of the automaton. A state that accepts a character leads to the next one. */
type State =
  | { readonly kind: "character"; readonly codePoint: number }
  /** Any character but a slash. */
  | { readonly kind: "any" }
  /** One of some characters, or with `isNegated` none of them; never a slash. */
  | { readonly kind: "set"; readonly ranges: readonly Range[]; readonly isNegated: boolean }
  /** Any number of characters; slashes only where it crosses them. */
  | { readonly kind: "many"; readonly crossesSlashes: boolean }
  /** Accepts nothing and leads to all of these. */
  | { readonly kind: "fork"; readonly to: number[] };

/** The first and the last character of a range. */
type Range = readonly [number, number];

const slash = "/";
const slashCodePoint = 0x2f;

/**
 * Parses a glob, which matches whole keys:
 *  - `*` any characters but slashes, `**` any characters, `?` one character but a slash;
 *  - two stars and a slash, at the beginning or after a slash, any number of directories, also none;
 *  - `[a-z_]` one of these characters, `[!a-z]` or `[^a-z]` one of all others, but no slash;
 *  - `{a,b}` one of these alternatives, which are globs themselves;
 *  - a backslash and a character the character itself.
 *
 * Throws GlobError for a set or alternatives that do not end, an empty or reversed range, a backslash at the end, and
 * too many alternatives.
 */
export const parseGlob = (text: string): Glob => {
  const characters = Array.from(text);
  const { literalPrefix, length } = literalBeginning(characters);
  const states = new GlobParser(characters, length).parse();
  const matcher = new Matcher(states, literalPrefix.length);
  return { literalPrefix, isLiteral: states.length === 0, match: (key) => matcher.match(key) };
};

/** The characters before the first one that is special, and how many of the pattern's they are. */
const literalBeginning = (
  characters: readonly string[],
): { readonly literalPrefix: string; readonly length: number } => {
  let literalPrefix = "";
  let at = 0;
  for (; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if ("*?[{".includes(character)) break;
    if (character !== "\\") literalPrefix += character;
    else if (at + 1 < characters.length) literalPrefix += characters[(at += 1)];
    else break;
  }
  return { literalPrefix, length: at };
};

/** Alternatives that have begun: where they fork, and the ends of those that are read. */
interface OpenAlternatives {
  readonly begunAt: number;
  readonly fork: number[];
  readonly ends: number[][];
}

/** Translates a pattern into states. */
class GlobParser {
  readonly #characters: readonly string[];
  readonly #states: State[] = [];
  readonly #open: OpenAlternatives[] = [];
  #at: number;
  #alternatives = 0;

  constructor(characters: readonly string[], at: number) {
    this.#characters = characters;
    this.#at = at;
  }

  parse(): readonly State[] {
    while (this.#at < this.#characters.length) this.#element(this.#take());
    const [unended] = this.#open;
    if (unended !== undefined) throw new GlobError(`the alternatives at character ${unended.begunAt} do not end`);
    return this.#states;
  }

  #element(character: string): void {
    if (character === "*") this.#stars();
    else if (character === "?") this.#states.push({ kind: "any" });
    else if (character === "[") this.#set();
    else if (character === "{") this.#begin();
    else if (character === "," && this.#open.length > 0) this.#alternative();
    else if (character === "}" && this.#open.length > 0) this.#end();
    else this.#states.push(characterState(character === "\\" ? this.#escaped() : character));
  }

  #stars(): void {
    const begunAt = this.#at - 1;
    while (this.#characters[this.#at] === "*") this.#at += 1;
    const crossesSlashes = this.#at - begunAt > 1;
    const isAfterSlash = begunAt === 0 || this.#characters[begunAt - 1] === slash;
    if (crossesSlashes && isAfterSlash && this.#characters[this.#at] === slash) {
      this.#at += 1;
      const next = this.#states.length;
      this.#states.push({ kind: "fork", to: [next + 1, next + 3] });
      this.#states.push({ kind: "many", crossesSlashes }, characterState(slash));
    } else this.#states.push({ kind: "many", crossesSlashes });
  }

  #set(): void {
    const begunAt = this.#at;
    const unended = (): GlobError => new GlobError(`the set at character ${begunAt} does not end`);
    const isNegated = this.#characters[this.#at] === "!" || this.#characters[this.#at] === "^";
    if (isNegated) this.#at += 1;
    const ranges: Range[] = [];
    // A bracket that is the first member is a character of the set.
    while (this.#characters[this.#at] !== "]" || ranges.length === 0) {
      const first = this.#member(unended);
      const isRange = this.#characters[this.#at] === "-" && this.#characters[this.#at + 1] !== "]";
      if (isRange) this.#at += 1;
      const last = isRange ? this.#member(unended) : first;
      if (last < first) throw new GlobError(`a range of the set at character ${begunAt} is reversed`);
      ranges.push([first, last]);
    }
    this.#at += 1;
    this.#states.push({ kind: "set", ranges, isNegated });
  }

  #member(unended: () => GlobError): number {
    if (this.#at >= this.#characters.length) throw unended();
    const character = this.#take();
    return codePointAt(character === "\\" ? this.#escaped() : character, 0);
  }

  #begin(): void {
    const fork: number[] = [];
    this.#open.push({ begunAt: this.#at, fork, ends: [] });
    this.#states.push({ kind: "fork", to: fork });
    this.#addAlternative(fork);
  }

  #alternative(): void {
    const { fork, ends } = this.#innermost();
    const end: number[] = [];
    ends.push(end);
    this.#states.push({ kind: "fork", to: end });
    this.#addAlternative(fork);
  }

  #end(): void {
    for (const end of this.#innermost().ends) end.push(this.#states.length);
    this.#open.pop();
  }

  #addAlternative(fork: number[]): void {
    this.#alternatives += 1;
    if (this.#alternatives > limits.globAlternativesMax)
      throw new GlobError(`there are more than ${limits.globAlternativesMax} alternatives`);
    fork.push(this.#states.length);
  }

  #innermost(): OpenAlternatives {
    const open = this.#open.at(-1);
    if (open === undefined) throw new Error("no alternatives are open");
    return open;
  }

  #escaped(): string {
    if (this.#at >= this.#characters.length) throw new GlobError("the backslash at the end escapes nothing");
    return this.#take();
  }

  #take(): string {
    return this.#characters[this.#at++] ?? "";
  }
}

/** The states in which a pattern is after some characters of a key. */
interface Place {
  /** Those that can accept a character. */
  readonly accepting: readonly number[];
  /** Whether the pattern may be at its end. */
  readonly hasEnd: boolean;
  /** The places that are known already, by the next character. */
  readonly next: Map<number, Place>;
}

/** Places that a pattern remembers. Most patterns have a few dozen; a hostile one has more than could be stored. */
const placesMax = 256;
/** The same for the ways between them. */
const waysMax = 4_096;

/**
 * Follows all states that the characters of a key lead to at the same time, so nothing is tried twice, and remembers
 * where that led, so that most characters of most keys cost one look.
 */
class Matcher {
  readonly #states: readonly State[];
  readonly #beginAt: number;
  readonly #begin: Place;
  readonly #reached: (readonly number[])[] = [];
  readonly #places = new Map<string, Place>();
  #ways = 0;
  #steps = 0;

  /** `beginAt`: how much of each key is known to match. */
  constructor(states: readonly State[], beginAt: number) {
    this.#states = states;
    this.#beginAt = beginAt;
    this.#begin = this.#placeOf(this.#reachedFrom(0));
  }

  match(key: string): GlobMatch {
    this.#steps = 1;
    let place = this.#begin;
    let at = this.#beginAt;
    while (at < key.length && place.accepting.length > 0) {
      const codePoint = codePointAt(key, at);
      at += lengthOf(codePoint);
      place = place.next.get(codePoint) ?? this.#follow(place, codePoint);
      this.#steps += 1;
    }
    const { hasEnd, accepting } = place;
    const isMatch = at === key.length && hasEnd;
    if (isMatch || accepting.length > 0) return { isMatch, hopelessPrefix: undefined, steps: this.#steps };
    // Where a match has ended, the next character is one too many.
    const end = hasEnd ? at + lengthOf(codePointAt(key, at)) : at;
    return { isMatch, hopelessPrefix: key.slice(0, end), steps: this.#steps };
  }

  #follow(place: Place, codePoint: number): Place {
    const found = new Set<number>();
    for (const index of place.accepting) {
      const state = this.#states[index];
      if (state === undefined) continue;
      this.#steps += state.kind === "set" ? state.ranges.length : 1;
      if (!accepts(state, codePoint)) continue;
      const reached = this.#reachedFrom(state.kind === "many" ? index : index + 1);
      this.#steps += reached.length;
      for (const each of reached) found.add(each);
    }
    const next = this.#placeOf(Array.from(found));
    if (this.#ways < waysMax) {
      this.#ways += 1;
      place.next.set(codePoint, next);
    }
    return next;
  }

  #placeOf(states: readonly number[]): Place {
    const isRemembered = this.#places.size < placesMax;
    const name = isRemembered ? states.join() : "";
    const known = this.#places.get(name);
    if (isRemembered && known !== undefined) return known;
    const end = this.#states.length;
    const accepting = states.filter((state) => state !== end);
    const place = { accepting, hasEnd: accepting.length < states.length, next: new Map<number, Place>() };
    if (isRemembered) this.#places.set(name, place);
    return place;
  }

  /** The states that accept a character, and the end, to which a state leads without one; found once for each state. */
  #reachedFrom(index: number): readonly number[] {
    let reached = this.#reached[index];
    if (reached === undefined) {
      const found = new Set([index]);
      for (const at of found) {
        const state = this.#states[at];
        const leadsTo = state?.kind === "fork" ? state.to : state?.kind === "many" ? [at + 1] : [];
        for (const each of leadsTo) found.add(each);
      }
      reached = Array.from(found).filter((at) => this.#states[at]?.kind !== "fork");
      this.#reached[index] = reached;
    }
    return reached;
  }
}

const accepts = (state: State, codePoint: number): boolean => {
  if (state.kind === "character") return codePoint === state.codePoint;
  if (state.kind === "many" && state.crossesSlashes) return true;
  if (codePoint === slashCodePoint) return false;
  if (state.kind !== "set") return true;
  return state.isNegated !== state.ranges.some(([first, last]) => codePoint >= first && codePoint <= last);
};

const characterState = (character: string): State => ({ kind: "character", codePoint: codePointAt(character, 0) });

const codePointAt = (text: string, at: number): number => text.codePointAt(at) ?? 0;

/** The UTF-16 code units of a character. */
const lengthOf = (codePoint: number): number => (codePoint > 0xffff ? 2 : 1);
