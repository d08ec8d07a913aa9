import { createHash } from "node:crypto";

import { toBinary } from "@bufbuild/protobuf";

import type { MatchRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { AutoMerging } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { AutoMergingSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { ServiceError } from "../../../kit/faults/service-error.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { compareIds } from "../../domain/identifier.ts";
import type { PlannedMerge } from "../../domain/resolution/auto-merging.ts";
import { isSureEnough, plannedMerges } from "../../domain/resolution/auto-merging.ts";
import { mergedProfile, mergeInto } from "../../ingestion/merge-profiles.ts";
import type { OpenDomain } from "../../store/domain.ts";
import { findMatch, putMatch } from "../../store/match.ts";
import type { StoredProfile } from "../../store/profile.ts";
import { findMatchedProfiles } from "../../store/profile.ts";

const tooLarge: ReadonlySet<number> = new Set([
  ErrorReason.TOO_MANY_OBJECTS,
  ErrorReason.OBJECTS_TOO_LARGE,
  ErrorReason.PROFILE_TOO_LARGE,
]);

/** Whether profiles are too large together to be one. */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof ServiceError && tooLarge.has(error.facts.number);

/** Carries out a merge of some profiles of a match; returns how many were merged into another. */
export const carryOutMerge = async (
  transaction: Transaction,
  domain: OpenDomain,
  profiles: ReadonlyMap<string, StoredProfile>,
  { main, others, sources }: PlannedMerge,
  nowMs: number,
): Promise<number> => {
  const get = (id: string) => profiles.get(id)!;
  await mergeInto(transaction, domain, get(main), others.map(get), sources, nowMs);
  return others.length;
};

/** Merges the profiles of matches as the settings of a domain say. */
export class MatchMerger {
  readonly #settings: AutoMerging;
  readonly #settingsDigest: Uint8Array;
  readonly #resolutionId: Uint8Array;
  readonly #nowMs: number;

  constructor(settings: AutoMerging, resolutionId: Uint8Array, nowMs: number) {
    this.#settings = settings;
    this.#settingsDigest = createHash("sha256").update(toBinary(AutoMergingSchema, settings)).digest().subarray(0, 16);
    this.#resolutionId = resolutionId;
    this.#nowMs = nowMs;
  }

  /** Whether a match is sure enough, and was not tried by these settings since it was found. */
  isToBeTried({ confidenceScore, triedSettings }: MatchRecord): boolean {
    return isSureEnough(confidenceScore, this.#settings) && compareIds(triedSettings, this.#settingsDigest) !== 0;
  }

  /** Merges the first profiles of a match that agree; returns how many were merged into another. 0: no more agree. */
  async mergeFirst(transaction: Transaction, domain: OpenDomain, matchId: Uint8Array): Promise<number> {
    const match = await findMatch(transaction, this.#resolutionId, matchId);
    const profiles =
      match === undefined
        ? new Map<string, StoredProfile>()
        : await findMatchedProfiles(transaction, domain, match, this.#nowMs);
    const [planned] = plannedMerges([...profiles.values()].map(mergedProfile), this.#settings);
    if (planned === undefined) {
      await this.noteTried(transaction, matchId);
      return 0;
    }
    return carryOutMerge(transaction, domain, profiles, planned, this.#nowMs);
  }

  /** Notes that these settings need not be tried again as long as the match stays as it is. */
  async noteTried(transaction: Transaction, matchId: Uint8Array): Promise<void> {
    const match = await findMatch(transaction, this.#resolutionId, matchId);
    if (match !== undefined)
      putMatch(transaction, this.#resolutionId, matchId, { ...match, triedSettings: this.#settingsDigest });
  }
}
