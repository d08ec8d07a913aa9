/**
 * Domains. CreateDomain refuses, in this order: (1) reserved tag keys, (2) a dead letter queue that is malformed or of
 * another account, (3) settings of identity resolution that contradict themselves or ask for exports, then those of
 * rules, (4) a name that exists, (5) one domain more than an account may have. UpdateDomain refuses (1) reserved tag
 * keys, (2) such a queue, (3) such settings, (4) a domain that does not exist, (5) an encryption key that cannot be
 * used. GetDomain and DeleteDomain refuse a domain that does not exist.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { DomainRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { DomainRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { MatchingRequest, RuleBasedMatchingRequest } from "../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import type { Access } from "../access/access.ts";
import type { Application, Operation } from "../application.ts";
import { findQueueProblem } from "../domain/dead-letter.ts";
import { settingsOf } from "../domain/domain-settings.ts";
import { idBytes } from "../domain/identifier.ts";
import { findMatchingProblem, findRulesProblem } from "../domain/resolution/matching-rules.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { totalOf } from "../store/counters.ts";
import * as stored from "../store/domain.ts";
import { removeIntegrationsOf } from "../store/integration.ts";
import { findRulesStatus } from "../store/rule-matching.ts";
import { endFlow } from "../work/flow/flow-job.ts";
import { enqueueDomainPurge } from "../work/domain-purge.ts";
import { applyMatching, endResolution } from "../work/resolution/resolution-job.ts";
import { applyRules, endRules } from "../work/resolution/rule-settings.ts";

/** Creates a domain. Repeating the call fails with DOMAIN_ALREADY_EXISTS and changes nothing. */
export const createDomain: Operation<"createDomain"> = async (request, { app, access }) => {
  refuseReservedTagKeys(request.tags);
  refuseInvalidQueue(request.deadLetterQueueUrl, access.accountId);
  refuseInvalidMatching(request.matching);
  refuseInvalidRules(request.ruleBasedMatching);
  const nowMs = app.clock.now();
  const record = create(DomainRecordSchema, {
    ...settingsOf(request),
    domainId: idBytes(app.ids.hex(32)),
    createdMs: BigInt(nowMs),
    updatedMs: BigInt(nowMs),
  });
  const begun = newResolution(app, nowMs);

  await app.store.transact(async (transaction) => {
    const others = await stored.listDomains(transaction, access.accountId, undefined, limits.domainsPerAccountMax);
    if ((await stored.findDomain(transaction, access.accountId, request.domainName)) !== undefined)
      throw fault(ErrorReason.DOMAIN_ALREADY_EXISTS, { domain_name: request.domainName });
    if (others.length >= limits.domainsPerAccountMax)
      throw fault(ErrorReason.TOO_MANY_DOMAINS, { limit: String(limits.domainsPerAccountMax) });
    stored.createDomain(transaction, app.keyring, access.accountId, request.domainName, record);
    await applyMatching(app.jobs, transaction, { ...begun, ...resolvedDomain(request, access, record) });
    await applyRules(app.jobs, transaction, { ...begun, ...resolvedDomain(request, access, record) });
  });

  return domainAnswer(request.domainName, record, record.ruleBasedMatching?.status);
};

/** Returns a domain's settings and its statistics, as of one instant. */
export const getDomain: Operation<"getDomain"> = (request, { app, access }) =>
  app.store.read(async (reader) => {
    const record = await stored.getDomain(reader, access.accountId, request.domainName);
    const total = await totalOf(reader, record.domainId);
    return {
      ...domainAnswer(request.domainName, record, await findRulesStatus(reader, record.domainId)),
      stats: {
        profileCount: total.profileCount,
        meteringProfileCount: total.meteringProfileCount,
        objectCount: total.objectCount,
        totalSize: total.totalBytes,
      },
    };
  });

/** Changes the settings that are set in the request. Data that is stored already keeps its expiry. */
export const updateDomain: Operation<"updateDomain"> = async (request, { app, access }) => {
  refuseReservedTagKeys(request.tags);
  refuseInvalidQueue(request.deadLetterQueueUrl, access.accountId);
  refuseInvalidMatching(request.matching);
  refuseInvalidRules(request.ruleBasedMatching);
  const nowMs = app.clock.now();
  const begun = newResolution(app, nowMs);

  return app.store.transact(async (transaction) => {
    const before = await stored.getDomain(transaction, access.accountId, request.domainName);
    const after: DomainRecord = { ...before, ...settingsOf(request), updatedMs: BigInt(nowMs) };
    stored.replaceDomain(transaction, access.accountId, request.domainName, after);
    if (request.defaultEncryptionKey !== undefined)
      await stored.moveDomainKey(transaction, app.keyring, after.domainId, after.defaultEncryptionKey);
    if (request.matching !== undefined)
      await applyMatching(app.jobs, transaction, { ...begun, ...resolvedDomain(request, access, after) });
    if (request.ruleBasedMatching !== undefined)
      await applyRules(app.jobs, transaction, {
        ...begun,
        ...resolvedDomain(request, access, after),
        earlierRules: before.ruleBasedMatching,
      });
    return domainAnswer(request.domainName, after, await findRulesStatus(transaction, after.domainId));
  });
};

/**
 * Deletes a domain. The domain and its key are deleted when this returns; a job removes its data. Repeating the call
 * fails with DOMAIN_NOT_FOUND.
 */
export const deleteDomain: Operation<"deleteDomain"> = async (request, { app, access }) => {
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const { domainId } = await stored.getDomain(transaction, access.accountId, request.domainName);
    const owner = { accountId: access.accountId, domainName: request.domainName, domainId };
    for (const uri of await removeIntegrationsOf(transaction, owner))
      await endFlow(app.jobs, transaction, domainId, uri);
    await endResolution(app.jobs, transaction, domainId, nowMs);
    await endRules(app.jobs, transaction, domainId);
    stored.deleteDomain(transaction, access.accountId, request.domainName, domainId);
    enqueueDomainPurge(app.jobs, transaction, access.accountId, domainId, nowMs);
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};

/** Lists the account's domains by name. */
export const listDomains: Operation<"listDomains"> = async (request, context) => {
  const { app, access } = context;
  const page = app.pages.open(context, request);
  const found = await app.store.read((reader) =>
    stored.listDomains(reader, access.accountId, page.after, page.lookFor),
  );

  const { items, ...next } = page.cut(found, ({ key }) => key[1]);
  return { items: items.map(({ key, value }) => domainItem(key[1], value)), ...next };
};

const refuseInvalidQueue = (url: string | undefined, accountId: string): void => {
  const problem = findQueueProblem(url ?? "", accountId);
  if (problem !== undefined) throw fault(ErrorReason.DEAD_LETTER_QUEUE_INVALID, { problem });
};

const refuseInvalidMatching = (matching: MatchingRequest | undefined): void => {
  const problem = matching && findMatchingProblem(matching);
  if (problem !== undefined) throw fault(ErrorReason.MATCHING_INVALID, { problem });
};

const refuseInvalidRules = (rules: RuleBasedMatchingRequest | undefined): void => {
  const problem = rules && findRulesProblem(rules);
  if (problem !== undefined) throw fault(ErrorReason.MATCHING_INVALID, { problem });
};

/** What an identity resolution that begins in a transaction needs from outside of it. */
const newResolution = ({ ids }: Application, nowMs: number) => ({
  newResolutionId: idBytes(ids.hex(32)),
  newJobId: idBytes(ids.hex(32)),
  newRulesId: idBytes(ids.hex(32)),
  nowMs,
});

const resolvedDomain = (
  { domainName }: { readonly domainName: string },
  { accountId }: Access,
  { domainId, matching, ruleBasedMatching: rules }: DomainRecord,
) => ({ domainId, account: accountId, domainName, matching, rules });

const domainItem = (domainName: string, { createdMs, updatedMs, tags }: DomainRecord) => ({
  domainName,
  createdAt: timestampFromMs(Number(createdMs)),
  lastUpdatedAt: timestampFromMs(Number(updatedMs)),
  tags,
});

const domainAnswer = (domainName: string, record: DomainRecord, rulesStatus: string | undefined) => {
  const { defaultExpirationDays, defaultEncryptionKey, deadLetterQueueUrl } = record;
  const { matching, ruleBasedMatching, dataStore } = record;
  return {
    ...domainItem(domainName, record),
    defaultExpirationDays,
    ...(defaultEncryptionKey === "" ? {} : { defaultEncryptionKey }),
    ...(deadLetterQueueUrl === "" ? {} : { deadLetterQueueUrl }),
    matching,
    ruleBasedMatching: ruleBasedMatching && { ...ruleBasedMatching, status: rulesStatus },
    dataStore,
  };
};
