import type { MatchProfileRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { Turn } from "../../../kit/clock/turn.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { idBytes, idText } from "../../domain/identifier.ts";
import type { MatchComparison } from "../../domain/resolution/match-comparison.ts";
import type { MatchPair } from "../../domain/resolution/match-groups.ts";
import { groupsOf } from "../../domain/resolution/match-groups.ts";
import { limits } from "../../limits.ts";
import type { DomainData } from "../../store/domain.ts";
import { splitDigests } from "../../store/key-index.ts";
import type { ChangeTable } from "../../store/match.ts";
import {
  findMatchProfile,
  listMatched,
  listSharing,
  matchDigestOf,
  removeFromMatches,
  replaceMatches,
  replaceMatchKeys,
} from "../../store/match.ts";
import { findProfile } from "../../store/profile.ts";

/** What found its matches, and is kept under its identifier. */
export interface Matching<Values> {
  readonly id: Uint8Array;
  readonly changes: ChangeTable;
  readonly comparison: MatchComparison<Values>;
}

/**
 * Compares changed profiles of a domain with those that share a value with them, and groups them again with all that
 * they were or are matched with. So it costs what has changed, and how many share its values, whatever the size of the
 * domain. Profiles are read as of one instant and not checked at the commit: one that changes meanwhile is noted as
 * changed, which is checked, and one that is removed is removed from the matches.
 */
export class MatchFinder<Values> {
  readonly #transaction: Transaction;
  readonly #domain: DomainData;
  readonly #matching: Matching<Values>;
  readonly #nowMs: number;
  readonly #turn = new Turn();
  readonly #values = new Map<string, Values | undefined>();

  constructor(transaction: Transaction, domain: DomainData, matching: Matching<Values>, nowMs: number) {
    this.#transaction = transaction;
    this.#domain = domain;
    this.#matching = matching;
    this.#nowMs = nowMs;
  }

  /** Compares a profile that was noted as changed. */
  async review(profileId: Uint8Array): Promise<void> {
    const { id, changes, comparison } = this.#matching;
    const mark = [id, profileId] as const;
    if ((await this.#transaction.get(changes, mark)) === undefined) return;
    this.#transaction.delete(changes, mark);
    const values = await this.#valuesOf(idText(profileId));
    if (values === undefined) {
      await removeFromMatches(this.#transaction, id, profileId, changes);
      return;
    }
    const before = await findMatchProfile(this.#transaction, id, profileId);
    const digests = comparison.keysOf(values).map((key) => matchDigestOf(this.#domain.keys, key));
    const own = replaceMatchKeys(this.#transaction, id, profileId, before, digests);
    const similar = await this.#listSimilar(profileId, values, digests);
    if (similar.length === 0 && own.matchId.length === 0) return;
    const around = await this.#around(profileId, own, similar);
    const groups = groupsOf(await this.#pairsAmong(around));
    replaceMatches(this.#transaction, id, around, groups, comparison.resultOf);
  }

  /** The profiles that are most likely of the same customer, among those that share a value. */
  async #listSimilar(profileId: Uint8Array, values: Values, digests: readonly Uint8Array[]): Promise<string[]> {
    const sharing = new Set<string>();
    for (const digest of digests) {
      const ids = await listSharing(this.#transaction, this.#matching.id, digest, limits.resolutionSharingMax + 1);
      if (ids.length <= limits.resolutionSharingMax) for (const id of ids) sharing.add(idText(id));
    }
    sharing.delete(idText(profileId));
    const similar: { readonly id: string; readonly strength: number }[] = [];
    for (const id of sharing) {
      const other = await this.#valuesOf(id);
      const strength = other === undefined ? 0 : this.#matching.comparison.strengthOf(values, other);
      if (strength > 0) similar.push({ id, strength });
    }
    return similar
      .toSorted((a, b) => b.strength - a.strength || (a.id < b.id ? -1 : 1))
      .slice(0, limits.resolutionPairsMax)
      .map(({ id }) => id);
  }

  /** A profile, those that are similar to it, and all that these were matched with. */
  async #around(
    profileId: Uint8Array,
    own: MatchProfileRecord,
    similar: readonly string[],
  ): Promise<Map<string, MatchProfileRecord>> {
    const around = new Map([[idText(profileId), own]]);
    const add = async (id: string): Promise<MatchProfileRecord | undefined> => {
      const record = around.get(id) ?? (await findMatchProfile(this.#transaction, this.#matching.id, idBytes(id)));
      if (record !== undefined) around.set(id, record);
      return record;
    };
    for (const id of [idText(profileId), ...similar]) {
      const record = await add(id);
      const matched = record === undefined ? [] : await listMatched(this.#transaction, this.#matching.id, record);
      for (const each of matched) await add(idText(each));
    }
    return around;
  }

  /** The pairs among some profiles that share a value and are a match. */
  async #pairsAmong(around: ReadonlyMap<string, MatchProfileRecord>): Promise<MatchPair[]> {
    const sharing = new Map<string, string[]>();
    for (const id of [...around.keys()].toSorted())
      for (const digest of new Set(splitDigests(around.get(id)!.keyDigests).map(idText)))
        sharing.set(digest, [...(sharing.get(digest) ?? []), id]);
    const pairs = new Map<string, MatchPair>();
    for (const ids of sharing.values())
      for (const [index, a] of ids.entries())
        for (const b of ids.slice(index + 1)) {
          if (pairs.has(a + b)) continue;
          const [one, other] = [await this.#valuesOf(a), await this.#valuesOf(b)];
          const isKnown = one !== undefined && other !== undefined;
          const strength = isKnown ? this.#matching.comparison.strengthOf(one, other) : 0;
          pairs.set(a + b, { profileIds: [a, b], strength });
        }
    return [...pairs.values()].filter(({ strength }) => strength > 0);
  }

  async #valuesOf(id: string): Promise<Values | undefined> {
    if (this.#turn.isOver) await this.#turn.next();
    if (!this.#values.has(id)) {
      const profile = await findProfile(this.#transaction.snapshot, this.#domain, idBytes(id), this.#nowMs);
      this.#values.set(id, profile && this.#matching.comparison.valuesOf(profile.state));
    }
    return this.#values.get(id);
  }
}
