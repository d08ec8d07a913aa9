/**
 * Archives. A rule of the bus, which the service manages, fills an archive; it keeps the events that are put after the
 * answer.
 *
 * CreateArchive checks, in order:
 * 1. the pattern, if given, is valid;
 * 2. the source is the ARN of a bus;
 * 3. the bus exists;
 * 4. the name is not in use;
 * 5. the encryption key, if one is named, may be used.
 *
 * UpdateArchive checks, in order:
 * 1. at least one setting is given;
 * 2. the pattern, if given, is valid;
 * 3. the archive exists;
 * 4. the encryption key, if one is named, may be used.
 *
 * ListArchives fails if several filters are given, or if the named bus is not one of the account in this region; the
 * other operations fail if the archive does not exist.
 */
import type { ArchiveRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ArchiveState } from "../../../gen/quartet/eventbus/v1/archive_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application, Operation, OperationContext } from "../application.ts";
import { archiveManager, archiveRuleName, archiveRulePattern } from "../domain/archive.ts";
import { archiveArn, busArn, parseBusArn, parseBusReference } from "../domain/arns.ts";
import { refuseSeveralFilters } from "../domain/filters.ts";
import { instant } from "../domain/instant.ts";
import { parseRequestPattern } from "../domain/pattern.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/archive.ts";
import { getBus } from "../store/bus.ts";
import { deleteRule, findRule, putRule } from "../store/rule.ts";
import { enqueueArchivePurge } from "../work/archive-purge.ts";

/** Creates an archive. A second call with the same name is refused and changes nothing. */
export const createArchive: Operation<"createArchive"> = async (request, context) => {
  const { app, caller } = context;
  const { bus } = context.access;
  const { archiveName: name, description } = request;
  const eventPattern = request.eventPattern || undefined;
  const kmsKeyIdentifier = request.kmsKeyIdentifier || undefined;
  if (eventPattern !== undefined) parseRequestPattern(eventPattern);
  if (parseBusArn(request.eventSourceArn) === undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "EventSourceArn",
      reason: "Must contain an event bus ARN.",
    });
  const settings = {
    name,
    id: app.ids.uuid(),
    bus: bus.name,
    description,
    eventPattern,
    retentionDays: request.retentionDays ?? 0,
    kmsKeyIdentifier,
    createdMs: BigInt(app.clock.now()),
  };

  await app.store.transact(async (transaction) => {
    await getBus(transaction, bus);
    if ((await stored.findArchive(transaction, caller.accountId, name)) !== undefined)
      throw fault(ErrorReason.ARCHIVE_ALREADY_EXISTS, { name });
    const eventKeyId = await app.sealing.keyFor(transaction, caller.accountId, kmsKeyIdentifier, undefined);
    const archive = { ...settings, eventKeyId };
    stored.putArchive(transaction, caller.accountId, archive);
    await putArchiveRule(transaction, context, archive);
  });

  return {
    archiveArn: archiveArn(app.arnScope, caller.accountId, name),
    state: ArchiveState.ENABLED,
    creationTime: instant(settings.createdMs),
  };
};

/**
 * Changes the given settings; the others stay, and so do the events that the archive keeps already, under the key that
 * they have.
 */
export const updateArchive: Operation<"updateArchive"> = async (request, context) => {
  const { app, caller } = context;
  const { archiveName: name, description, eventPattern, retentionDays, kmsKeyIdentifier } = request;
  if ([description, eventPattern, retentionDays, kmsKeyIdentifier].every((value) => value === undefined))
    throw fault(ErrorReason.ARCHIVE_UPDATE_EMPTY);
  if (eventPattern !== undefined) parseRequestPattern(eventPattern);
  const archive = await app.store.transact(async (transaction) => {
    const present = await stored.getArchive(transaction, caller.accountId, name);
    const key =
      kmsKeyIdentifier === undefined
        ? {}
        : {
            kmsKeyIdentifier: kmsKeyIdentifier || undefined,
            eventKeyId: await app.sealing.keyFor(transaction, caller.accountId, kmsKeyIdentifier, present.eventKeyId),
          };
    const changed = {
      ...present,
      ...key,
      description: description ?? present.description,
      eventPattern: eventPattern ?? present.eventPattern,
      retentionDays: retentionDays ?? present.retentionDays,
    };
    stored.putArchive(transaction, caller.accountId, changed);
    await putArchiveRule(transaction, context, changed);
    return changed;
  });
  return {
    archiveArn: archiveArn(app.arnScope, caller.accountId, name),
    state: ArchiveState.ENABLED,
    creationTime: instant(archive.createdMs),
  };
};

/** Returns the settings and the size of an archive. */
export const describeArchive: Operation<"describeArchive"> = (request, { app, caller }) =>
  app.store.read(async (reader) => {
    const archive = await stored.getArchive(reader, caller.accountId, request.archiveName);
    return {
      ...toArchive(app, caller.accountId, archive),
      ...(await stored.archiveSizeOf(reader, caller.accountId, archive)),
      archiveArn: archiveArn(app.arnScope, caller.accountId, archive.name),
      description: archive.description,
      eventPattern: archive.eventPattern,
      kmsKeyIdentifier: archive.kmsKeyIdentifier,
    };
  });

/** Lists the account's archives by name. The filters exclude each other. */
export const listArchives: Operation<"listArchives"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix, eventSourceArn, state } = request;
  refuseSeveralFilters("ListArchives", {
    State: state || undefined,
    EventSourceArn: eventSourceArn,
    NamePrefix: namePrefix,
  });
  const page = app.pages.open(context, request, [namePrefix, eventSourceArn, String(state)]);
  const source =
    eventSourceArn === undefined ? undefined : parseBusReference(eventSourceArn, caller.accountId, app.arnScope);
  const accepts = (archive: ArchiveRecord): boolean =>
    (source === undefined || source.name === archive.bus) &&
    (state === ArchiveState.UNSPECIFIED || state === ArchiveState.ENABLED);
  return app.store.read(async (reader) => {
    if (source !== undefined && source.account !== caller.accountId)
      throw fault(ErrorReason.EVENT_BUS_NOT_FOUND, { name: source.name });
    if (source !== undefined) await getBus(reader, source);
    const options = { namePrefix: namePrefix ?? "", after: page.after, limit: page.lookFor };
    const found = await stored.listArchives(reader, caller.accountId, options, accepts);
    const { items, nextToken } = page.cut(found, (archive) => archive.name);
    const archives = await Promise.all(
      items.map(async (archive) => ({
        ...toArchive(app, caller.accountId, archive),
        ...(await stored.archiveSizeOf(reader, caller.accountId, archive)),
      })),
    );
    return { archives, nextToken };
  });
};

/** Deletes an archive; a job deletes its entries. */
export const deleteArchive: Operation<"deleteArchive"> = async (request, { app, caller }) => {
  await app.store.transact(async (transaction) => {
    const archive = await stored.getArchive(transaction, caller.accountId, request.archiveName);
    const bus = { account: caller.accountId, name: archive.bus };
    const rule = archiveRuleName(archive.name);
    stored.deleteArchive(transaction, caller.accountId, archive.name);
    if ((await findOrDamaged(findRule(transaction, bus, rule))) !== undefined) await deleteRule(transaction, bus, rule);
    enqueueArchivePurge(app.jobs, transaction, caller.accountId, archive.id);
  });
  return {};
};

/** Creates or replaces the rule that fills an archive. */
const putArchiveRule = (
  transaction: Transaction,
  { app, caller }: OperationContext,
  archive: {
    readonly name: string;
    readonly id: string;
    readonly bus: string;
    readonly eventPattern?: string | undefined;
    readonly eventKeyId?: string | undefined;
  },
): Promise<void> =>
  putRule(
    transaction,
    { account: caller.accountId, name: archive.bus },
    {
      name: archiveRuleName(archive.name),
      eventPattern: archiveRulePattern(archive.eventPattern),
      state: RuleState.ENABLED,
      managedBy: archiveManager,
      createdBy: caller.accountId,
      createdMs: BigInt(app.clock.now()),
      archiveId: archive.id,
      archiveKeyId: archive.eventKeyId,
    },
  );

const toArchive = (app: Application, account: string, archive: ArchiveRecord) => ({
  archiveName: archive.name,
  eventSourceArn: busArn(app.arnScope, { account, name: archive.bus }),
  state: ArchiveState.ENABLED,
  retentionDays: archive.retentionDays,
  creationTime: instant(archive.createdMs),
});
