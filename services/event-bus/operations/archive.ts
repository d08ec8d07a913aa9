/**
 * Archives. Creating refuses a pattern that is not in the language, a source that is no bus, a bus that is not there,
 * then a name that is taken; updating refuses an update without a change, then the pattern, then an archive that is not
 * there. An archive is filled by a rule of its bus that the service manages; events put after the answer are kept.
 */
import type { ArchiveRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ArchiveState } from "../../../gen/quartet/eventbus/v1/archive_pb.ts";
import { RuleState } from "../../../gen/quartet/eventbus/v1/rule_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { enqueuePurge } from "../work/archive-purge.ts";
import type { Application, Operation } from "../application.ts";
import { ownBus } from "../access/guard.ts";
import { archiveManager, archiveRuleName, archiveRulePattern } from "../domain/archive.ts";
import { archiveArn, busArn, parseBusArn } from "../domain/arns.ts";
import { refuseSeveralFilters } from "../domain/filters.ts";
import { instant } from "../domain/instant.ts";
import { parseGivenPattern } from "../domain/pattern.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/archive.ts";
import { getBus } from "../store/bus.ts";
import { deleteRule, findRule, putRule } from "../store/rule.ts";
import { cutPage, pageOf } from "./page.ts";

/** Makes an archive. A second call with the same name is refused and changes nothing. */
export const createArchive: Operation<"createArchive"> = async (request, context) => {
  const { app, caller } = context;
  const { archiveName: name, description, kmsKeyIdentifier } = request;
  const eventPattern = request.eventPattern || undefined;
  if (eventPattern !== undefined) parseGivenPattern(eventPattern);
  if (parseBusArn(request.eventSourceArn) === undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "EventSourceArn",
      reason: "Must contain an event bus ARN.",
    });
  const bus = ownBus(context, request.eventSourceArn);
  const archive = {
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
    stored.putArchive(transaction, caller.accountId, archive);
    await putArchiveRule(transaction, context, archive);
  });

  return {
    archiveArn: archiveArn(app.place, caller.accountId, name),
    state: ArchiveState.ENABLED,
    creationTime: instant(archive.createdMs),
  };
};

/** Changes what is given and keeps the rest; what is kept already stays. */
export const updateArchive: Operation<"updateArchive"> = async (request, context) => {
  const { app, caller } = context;
  const { archiveName: name, description, eventPattern, retentionDays, kmsKeyIdentifier } = request;
  if ([description, eventPattern, retentionDays, kmsKeyIdentifier].every((value) => value === undefined))
    throw fault(ErrorReason.ARCHIVE_UPDATE_EMPTY);
  if (eventPattern !== undefined) parseGivenPattern(eventPattern);
  const archive = await app.store.transact(async (transaction) => {
    const present = await stored.getArchive(transaction, caller.accountId, name);
    const changed = {
      ...present,
      description: description ?? present.description,
      eventPattern: eventPattern ?? present.eventPattern,
      retentionDays: retentionDays ?? present.retentionDays,
      kmsKeyIdentifier: kmsKeyIdentifier ?? present.kmsKeyIdentifier,
    };
    stored.putArchive(transaction, caller.accountId, changed);
    await putArchiveRule(transaction, context, changed);
    return changed;
  });
  return {
    archiveArn: archiveArn(app.place, caller.accountId, name),
    state: ArchiveState.ENABLED,
    creationTime: instant(archive.createdMs),
  };
};

/** Tells an archive's settings and how much it keeps. */
export const describeArchive: Operation<"describeArchive"> = (request, { app, caller }) =>
  app.store.read(async (reader) => {
    const archive = await stored.getArchive(reader, caller.accountId, request.archiveName);
    return {
      ...toArchive(app, caller.accountId, archive),
      ...(await stored.sizeOf(reader, caller.accountId, archive)),
      archiveArn: archiveArn(app.place, caller.accountId, archive.name),
      description: archive.description,
      eventPattern: archive.eventPattern,
      kmsKeyIdentifier: archive.kmsKeyIdentifier,
    };
  });

/** Lists the account's archives by name; its filters exclude each other. */
export const listArchives: Operation<"listArchives"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix, eventSourceArn, state } = request;
  refuseSeveralFilters("ListArchives", {
    NamePrefix: namePrefix,
    EventSourceArn: eventSourceArn,
    State: state || undefined,
  });
  const page = pageOf(context, request, [namePrefix, eventSourceArn, String(state)]);
  const accepts = (archive: ArchiveRecord): boolean =>
    (eventSourceArn === undefined || parseBusArn(eventSourceArn)?.name === archive.bus) &&
    (state === ArchiveState.UNSPECIFIED || state === ArchiveState.ENABLED);
  return app.store.read(async (reader) => {
    const options = { namePrefix: namePrefix ?? "", after: page.after, limit: page.lookFor };
    const found = await stored.listArchives(reader, caller.accountId, options, accepts);
    const { items, nextToken } = cutPage(page, found, (archive) => archive.name);
    const archives = await Promise.all(
      items.map(async (archive) => ({
        ...toArchive(app, caller.accountId, archive),
        ...(await stored.sizeOf(reader, caller.accountId, archive)),
      })),
    );
    return { archives, nextToken };
  });
};

/** Deletes an archive; what it keeps is let go by a job. */
export const deleteArchive: Operation<"deleteArchive"> = async (request, { app, caller }) => {
  await app.store.transact(async (transaction) => {
    const archive = await stored.getArchive(transaction, caller.accountId, request.archiveName);
    const bus = { account: caller.accountId, name: archive.bus };
    const rule = archiveRuleName(archive.name);
    stored.deleteArchive(transaction, caller.accountId, archive.name);
    if ((await findRule(transaction, bus, rule)) !== undefined) await deleteRule(transaction, bus, rule);
    enqueuePurge(app.jobs, transaction, caller.accountId, archive.id);
  });
  return {};
};

const putArchiveRule = (
  transaction: Transaction,
  { app, caller }: CallContext<Application>,
  archive: {
    readonly name: string;
    readonly id: string;
    readonly bus: string;
    readonly eventPattern?: string | undefined;
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
    },
  );

const toArchive = (app: Application, account: string, archive: ArchiveRecord) => ({
  archiveName: archive.name,
  eventSourceArn: busArn(app.place, account, archive.bus),
  state: ArchiveState.ENABLED,
  retentionDays: archive.retentionDays,
  creationTime: instant(archive.createdMs),
});
