/**
 * Domains. Creating refuses reserved tag keys, then an existing name, then one domain too many; the others refuse a
 * domain that is not there, and then an encryption key that cannot be used. Deleting answers when the domain and its key are gone; a job removes what it held.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { DomainRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { DomainRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Operation } from "../application.ts";
import { settingsOf } from "../domain/domain-settings.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { enqueuePurge } from "../work/domain-purge.ts";
import { totalOf } from "../store/counters.ts";
import * as stored from "../store/domain.ts";
import { idBytes } from "../store/identifier.ts";
import { removeIntegrationsOf } from "../store/integration.ts";
import { pageAnswer, pageOf } from "./page.ts";
import { refuseReservedTagKeys } from "./tag.ts";

/** Makes a domain. A second call with the same name is refused and changes nothing. */
export const createDomain: Operation<"createDomain"> = async (request, { app, caller }) => {
  refuseReservedTagKeys(request.tags);
  const now = timestampFromMs(app.clock.now());
  const record = create(DomainRecordSchema, {
    ...settingsOf(request),
    domainId: idBytes(app.ids.hex(32)),
    createdTime: now,
    updatedTime: now,
  });

  await app.store.transact(async (transaction) => {
    const others = await stored.listDomains(transaction, caller.accountId, undefined, limits.domainsPerAccountMax);
    if ((await stored.findDomain(transaction, caller.accountId, request.domainName)) !== undefined)
      throw fault(ErrorReason.DOMAIN_ALREADY_EXISTS, { domain_name: request.domainName });
    if (others.length >= limits.domainsPerAccountMax)
      throw fault(ErrorReason.TOO_MANY_DOMAINS, { limit: String(limits.domainsPerAccountMax) });
    stored.createDomain(transaction, app.keyring, caller.accountId, request.domainName, record);
  });

  return domainAnswer(request.domainName, record);
};

/** Tells a domain's settings and what it holds, as of one instant. */
export const getDomain: Operation<"getDomain"> = (request, { app, caller }) =>
  app.store.read(async (reader) => {
    const record = await stored.getDomain(reader, caller.accountId, request.domainName);
    const total = await totalOf(reader, record.domainId);
    return {
      ...domainAnswer(request.domainName, record),
      stats: {
        profileCount: total.profileCount,
        meteringProfileCount: total.meteringProfileCount,
        objectCount: total.objectCount,
        totalSize: total.totalBytes,
      },
    };
  });

/** Changes the settings that are given. Data that is stored already keeps its expiry. */
export const updateDomain: Operation<"updateDomain"> = async (request, { app, caller }) => {
  refuseReservedTagKeys(request.tags);
  const updatedTime = timestampFromMs(app.clock.now());

  return app.store.transact(async (transaction) => {
    const before = await stored.getDomain(transaction, caller.accountId, request.domainName);
    const after: DomainRecord = { ...before, ...settingsOf(request), updatedTime };
    stored.replaceDomain(transaction, caller.accountId, request.domainName, after);
    if (request.defaultEncryptionKey !== undefined)
      await stored.moveDomainKey(transaction, app.keyring, after.domainId, after.defaultEncryptionKey);
    return domainAnswer(request.domainName, after);
  });
};

/** Deletes a domain. A second call is refused, because the domain is not there any more. */
export const deleteDomain: Operation<"deleteDomain"> = async (request, { app, caller }) => {
  const nowMs = app.clock.now();

  await app.store.transact(async (transaction) => {
    const { domainId } = await stored.getDomain(transaction, caller.accountId, request.domainName);
    const owner = { accountId: caller.accountId, domainName: request.domainName, domainId };
    await removeIntegrationsOf(transaction, owner);
    stored.deleteDomain(transaction, caller.accountId, request.domainName, domainId);
    enqueuePurge(app.jobs, transaction, domainId, nowMs);
    transaction.afterCommit(() => app.compaction.request());
  });

  return { message: "OK" };
};

/** Lists the account's domains, by name. */
export const listDomains: Operation<"listDomains"> = async (request, { app, caller }) => {
  const page = pageOf(app, { caller: caller.accountId, operation: "ListDomains", filters: [] }, request);
  const found = await app.store.read((reader) =>
    stored.listDomains(reader, caller.accountId, page.after, page.itemsMax + 1),
  );

  return pageAnswer(page, found, {
    positionOf: ({ key }) => key[1],
    itemOf: ({ key, value }) => ({
      domainName: key[1],
      createdAt: value.createdTime,
      lastUpdatedAt: value.updatedTime,
      tags: value.tags,
    }),
  });
};

const domainAnswer = (domainName: string, record: DomainRecord) => {
  const { defaultExpirationDays, defaultEncryptionKey, deadLetterQueueUrl, tags } = record;
  const { matching, ruleBasedMatching, dataStore, createdTime, updatedTime } = record;
  return {
    domainName,
    defaultExpirationDays,
    ...(defaultEncryptionKey === "" ? {} : { defaultEncryptionKey }),
    ...(deadLetterQueueUrl === "" ? {} : { deadLetterQueueUrl }),
    matching,
    ruleBasedMatching,
    dataStore,
    createdAt: createdTime,
    lastUpdatedAt: updatedTime,
    tags,
  };
};
