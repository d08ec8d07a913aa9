import { idBytes, idText } from "./identifier.ts";

/** One key of a search with the wanted values. */
export interface SearchClause {
  /** As the caller spelled it. */
  readonly keyName: string;
  readonly values: readonly string[];
}

/** The profiles that one value of one clause finds, from a position in the order of identifiers. */
export interface ValueHits {
  /** Index of the clause. */
  readonly clause: number;
  readonly value: string;
  /** Ascending. */
  readonly profileIds: readonly Uint8Array[];
  /** False if there are more profiles after the last one. */
  readonly isComplete: boolean;
}

/** A profile that a search finds, and the values that found it. */
export interface SearchHit {
  readonly profileId: Uint8Array;
  readonly foundBy: readonly SearchClause[];
}

/** Candidates of one range, of which the first are kept: the range ends with them. */
const candidatesMax = 8_000;

/** A profile that some lists have. */
interface Candidate {
  readonly profileId: Uint8Array;
  /** The lists, in their order. */
  readonly lists: ValueHits[];
  clauseCount: number;
}

/**
 * One range of a search, put together list by list. Each list contains the first profiles after the same position, so
 * everything is known up to the earliest end of an incomplete list; identifiers after it are left to the next range.
 * A range of very many profiles ends with the first ones.
 */
export class SearchRange {
  readonly #clauses: readonly SearchClause[];
  readonly #clausesNeeded: number;
  readonly #found = new Map<string, Candidate>();
  /** The last identifier of the range as text; undefined if it reaches to the end. */
  #through: string | undefined;

  constructor(clauses: readonly SearchClause[], isEveryClauseNeeded: boolean) {
    this.#clauses = clauses;
    this.#clausesNeeded = isEveryClauseNeeded ? clauses.length : 1;
  }

  /** Adds a list; those of a clause follow each other. */
  add(list: ValueHits): void {
    const end = list.isComplete ? undefined : list.profileIds.at(-1);
    if (end !== undefined) this.#endAt(idText(end));
    for (const profileId of list.profileIds) {
      const text = idText(profileId);
      if (this.#through !== undefined && text > this.#through) break;
      const candidate = this.#found.get(text);
      if (candidate === undefined) this.#found.set(text, { profileId, lists: [list], clauseCount: 1 });
      else {
        if (candidate.lists.at(-1)?.clause !== list.clause) candidate.clauseCount += 1;
        candidate.lists.push(list);
      }
    }
    if (this.#found.size > 2 * candidatesMax) this.#leaveFirst();
  }

  /** The last identifier of the range; undefined if it reaches to the end. */
  get through(): Uint8Array | undefined {
    return this.#through === undefined ? undefined : idBytes(this.#through);
  }

  /** The hits, ascending by identifier. */
  *hits(): Generator<SearchHit, void> {
    for (const text of this.#texts()) {
      const { profileId, lists, clauseCount } = this.#found.get(text)!;
      if (clauseCount >= this.#clausesNeeded) yield { profileId, foundBy: this.#foundBy(lists) };
    }
  }

  #endAt(text: string): void {
    if (this.#through === undefined || text < this.#through) this.#through = text;
  }

  /** The candidates in the range, ascending. */
  #texts(): string[] {
    const through = this.#through;
    const texts = [...this.#found.keys()];
    return (through === undefined ? texts : texts.filter((text) => text <= through)).toSorted();
  }

  #leaveFirst(): void {
    const texts = this.#texts();
    const kept = texts.slice(0, candidatesMax);
    const last = kept.at(-1);
    if (last !== undefined && kept.length < texts.length) this.#endAt(last);
    const left = new Set(kept);
    for (const text of this.#found.keys()) if (!left.has(text)) this.#found.delete(text);
  }

  #foundBy(lists: readonly ValueHits[]): readonly SearchClause[] {
    const byClause = Map.groupBy(lists, ({ clause }) => clause);
    return this.#clauses.flatMap(({ keyName }, index) => {
      const own = byClause.get(index);
      return own === undefined ? [] : [{ keyName, values: [...new Set(own.map(({ value }) => value))] }];
    });
  }
}
