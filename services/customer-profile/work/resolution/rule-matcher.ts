/**
 * Applies the rules of domains to profiles that have changed, some seconds after the change. What is to be compared is
 * noted in a table that changes of profiles are written to, so nothing is lost in a crash, and a domain whose rules are
 * new notes all its profiles first. Domains take turns.
 */
import type { RuleMatchingRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { RuleBasedMatchingResponse } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { NamedKeyError } from "../../../kit/keyring/key-names.ts";
import type { Reader, Transaction } from "../../../kit/store/transaction.ts";
import { idText } from "../../domain/identifier.ts";
import { mergesOf } from "../../domain/resolution/auto-merging.ts";
import { comparisonByRules, strengthOfLevel } from "../../domain/resolution/rules.ts";
import { mergedProfile } from "../../ingestion/merge-profiles.ts";
import { limits } from "../../limits.ts";
import type { OpenDomain } from "../../store/domain.ts";
import { openDomain } from "../../store/domain.ts";
import { profiles } from "../../store/layout.ts";
import { ruleChanges } from "../../store/layout-resolution.ts";
import { findMatch, findMatchProfile } from "../../store/match.ts";
import { findMatchedProfiles } from "../../store/profile.ts";
import {
  allProfiles,
  findRules,
  listNoted,
  nextRules,
  noteForRules,
  putRules,
  removeNote,
} from "../../store/rule-matching.ts";
import { isDamage, unlessDamaged } from "../damage.ts";
import { MatchFinder } from "./find-matches.ts";
import { carryOutMerge, isTooLarge } from "./merge-matches.ts";
import type { ResolutionTools } from "./resolution-run.ts";

/** Rules whose domain cannot be worked on now. */
interface Paused {
  readonly attempts: number;
  readonly untilMs: number;
}

/** A part of the work with rules that are applied. */
type Step = (transaction: Transaction, domain: OpenDomain, rules: RuleMatchingRecord) => Promise<void>;

const pauseMs = (attempts: number): number => Math.min(limits.rulePollMs * 2 ** attempts, limits.resolutionPauseMsMax);

/** Compares what has changed of all domains with rules. */
export class RuleMatcher {
  readonly #tools: () => ResolutionTools;
  readonly #paused = new Map<string, Paused>();

  constructor(tools: () => ResolutionTools) {
    this.#tools = tools;
  }

  /** Compares all that is noted, in turns of the domains; resolves when nothing is left that can be compared now. */
  async run(signal: AbortSignal): Promise<void> {
    for (let isLeft = true; isLeft && !signal.aborted;) {
      isLeft = false;
      for (let id = await this.#next(undefined); id !== undefined; id = await this.#next(id)) {
        if (signal.aborted || this.#tools().isDiskLow()) return;
        if (!this.#isPaused(id) && (await this.#takeTurn(id, signal))) isLeft = true;
      }
    }
  }

  #next(after: Uint8Array | undefined): Promise<Uint8Array | undefined> {
    return this.#tools().app.store.read((reader) => nextRules(reader, after));
  }

  #isPaused(rulesId: Uint8Array): boolean {
    return (this.#paused.get(idText(rulesId))?.untilMs ?? 0) > this.#tools().app.clock.now();
  }

  /** Works for one domain for a while; resolves with whether anything is left for it. */
  async #takeTurn(rulesId: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const turn = new RuleTurn(this.#tools(), rulesId, signal);
    try {
      const isLeft = await turn.carryOut();
      this.#paused.delete(idText(rulesId));
      return isLeft;
    } catch (error) {
      // What was noted for rules that have ended is being removed.
      if (error instanceof RulesOver || signal.aborted) return false;
      this.#pause(idText(rulesId));
      const { log } = this.#tools();
      if (error instanceof NamedKeyError)
        log.warn({ ...turn.domain, problem: error.message }, "the rules of a domain cannot be applied now");
      else log.error({ err: error, ...turn.domain }, "the rules of a domain cannot be applied now");
      return false;
    }
  }

  #pause(rulesId: string): void {
    const nowMs = this.#tools().app.clock.now();
    // Of rules that have ended nothing is remembered.
    for (const [id, { untilMs }] of this.#paused)
      if (untilMs + limits.resolutionPauseMsMax < nowMs) this.#paused.delete(id);
    const attempts = (this.#paused.get(rulesId)?.attempts ?? 0) + 1;
    this.#paused.set(rulesId, { attempts, untilMs: nowMs + pauseMs(attempts) });
  }
}

/** The rules have ended while they were applied. */
class RulesOver extends Error {}

/** What one domain has done of its work before others have their turn. */
class RuleTurn {
  readonly #tools: ResolutionTools;
  readonly #rulesId: Uint8Array;
  readonly #signal: AbortSignal;
  readonly #endsMs = performance.now() + limits.ruleTurnMs;
  #domain: { readonly account?: string; readonly domain?: string } = {};

  constructor(tools: ResolutionTools, rulesId: Uint8Array, signal: AbortSignal) {
    this.#tools = tools;
    this.#rulesId = rulesId;
    this.#signal = signal;
  }

  /** The domain, for the log; of rules whose record cannot be read nothing. */
  get domain(): { readonly account?: string; readonly domain?: string } {
    return this.#domain;
  }

  /** Resolves with whether anything is left. */
  async carryOut(): Promise<boolean> {
    for (;;) {
      const { rules, domain, noted } = await this.#tools.app.store.read(async (reader) => ({
        // If the rules or the domain cannot be read, the profiles are not what is damaged.
        ...(await this.#open(reader)),
        noted: await listNoted(reader, this.#rulesId, limits.resolutionBatch),
      }));
      if (noted.length === 0) {
        if (rules.status !== "ACTIVE") await this.#becomeActive();
        return false;
      }
      if (this.#signal.aborted || performance.now() > this.#endsMs) return true;
      if (noted[0]!.length === 0) {
        await this.#noteAll();
        continue;
      }
      await this.#compare(noted);
      if (domain.record.ruleBasedMatching?.maxAllowedRuleLevelForMerging !== undefined)
        for (const id of noted) await this.#mergeMatchOf(id);
    }
  }

  /** Notes the next profiles of all. */
  #noteAll(): Promise<void> {
    return this.#step(async (transaction, domain, rules) => {
      const ids = await transaction.snapshot.listStored(
        profiles,
        {
          prefix: [domain.id],
          after: rules.notedId.length === 0 ? undefined : [domain.id, rules.notedId],
          limit: limits.resolutionNotedBatch,
        },
        (key) => key[1],
      );
      for (const id of ids) noteForRules(transaction, this.#rulesId, id);
      const isWhole = ids.length < limits.resolutionNotedBatch;
      if (isWhole) removeNote(transaction, this.#rulesId, allProfiles);
      const notedId = isWhole ? new Uint8Array() : ids.at(-1)!;
      putRules(transaction, this.#rulesId, { ...rules, status: "IN_PROGRESS", notedId });
    });
  }

  async #compare(ids: readonly Uint8Array[]): Promise<void> {
    const damaged: Uint8Array[] = [];
    await unlessDamaged(
      ids,
      (some) =>
        this.#step(async (transaction, domain) => {
          const comparison = comparisonByRules(domain.record.ruleBasedMatching!);
          const matching = { id: this.#rulesId, changes: ruleChanges, comparison };
          const finder = new MatchFinder(transaction, domain, matching, this.#tools.app.clock.now());
          for (const id of some) await finder.review(id);
        }),
      (error, id) => {
        this.#logDamage(error);
        damaged.push(id);
      },
    );
    this.#tools.counters.addProfiles(ids.length - damaged.length);
    // They would be found damaged again with each turn.
    if (damaged.length > 0)
      await this.#step(async (transaction) => {
        for (const id of damaged) removeNote(transaction, this.#rulesId, id);
      });
  }

  /** Merges the profiles of a match that rules found which the domain trusts so far, each merge in its transaction. */
  async #mergeMatchOf(profileId: Uint8Array): Promise<void> {
    const { app, counters, log } = this.#tools;
    const isMatched = await app.store.read(
      async (reader) => (await findMatchProfile(reader, this.#rulesId, profileId))?.matchId.length,
    );
    if (isMatched === undefined || isMatched === 0) return;
    try {
      let merged: number;
      do {
        merged = 0;
        await this.#step(async (transaction, domain) => {
          merged = await this.#mergeFirst(transaction, domain, profileId);
          if (merged > 0) transaction.afterCommit(() => app.compaction.request());
        });
        counters.addMerges(merged);
      } while (merged > 0);
    } catch (error) {
      if (isDamage(error)) this.#logDamage(error);
      else if (isTooLarge(error))
        log.warn({ ...this.#domain, problem: String(error) }, "profiles that match by rules stay as they are");
      else throw error;
    }
  }

  /** Merges the first profiles of the match that are to be; returns how many were merged into another. */
  async #mergeFirst(transaction: Transaction, domain: OpenDomain, profileId: Uint8Array): Promise<number> {
    const settings = domain.record.ruleBasedMatching as RuleBasedMatchingResponse;
    const { maxAllowedRuleLevelForMerging: levelMax, conflictResolution } = settings;
    if (levelMax === undefined) return 0;
    const matchId = (await findMatchProfile(transaction, this.#rulesId, profileId))?.matchId ?? new Uint8Array();
    const match = matchId.length === 0 ? undefined : await findMatch(transaction, this.#rulesId, matchId);
    if (match === undefined) return 0;
    const nowMs = this.#tools.app.clock.now();
    const found = await findMatchedProfiles(transaction, domain, match, nowMs);
    const comparison = comparisonByRules(settings);
    const values = new Map([...found].map(([id, { state }]) => [id, comparison.valuesOf(state)]));
    const [planned] = mergesOf(
      [...found.values()].map(mergedProfile),
      (one, other) => comparison.strengthOf(values.get(one.id)!, values.get(other.id)!) >= strengthOfLevel(levelMax),
      conflictResolution,
    );
    return planned === undefined ? 0 : carryOutMerge(transaction, domain, found, planned, nowMs);
  }

  /** Notes that all profiles are compared. */
  #becomeActive(): Promise<void> {
    return this.#step(async (transaction, _domain, rules) =>
      putRules(transaction, this.#rulesId, { ...rules, status: "ACTIVE" }),
    );
  }

  #logDamage(error: unknown): void {
    this.#tools.log.error({ err: error, ...this.#domain }, "a profile cannot be compared or merged: it is damaged");
  }

  async #step(work: Step): Promise<void> {
    const { app } = this.#tools;
    await app.store.transact(
      async (transaction) => {
        const { domain, rules } = await this.#open(transaction);
        await work(transaction, domain, rules);
      },
      { signal: this.#signal },
    );
  }

  /** The rules and their domain. Throws RulesOver, NamedKeyError, and StoreCorruptionError if one is damaged. */
  async #open(reader: Reader): Promise<{ readonly domain: OpenDomain; readonly rules: RuleMatchingRecord }> {
    const rules = await findRules(reader, this.#rulesId);
    if (rules === undefined) throw new RulesOver();
    const { account, domainName } = rules;
    this.#domain = { account, domain: domainName };
    return { rules, domain: await openDomain(reader, this.#tools.app.keyring, account, domainName) };
  }
}
