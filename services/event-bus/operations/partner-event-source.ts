/**
 * Partner event sources as the partner sees them that shares them with accounts.
 *
 * All operations check first that the installation declares the account as a partner, and that the source begins with
 * the partner's name. Then CreatePartnerEventSource checks that the source is not shared with the account, and
 * DescribePartnerEventSource that it is shared with any. DeletePartnerEventSource counts a source that is not shared
 * with the account as deleted.
 *
 * PutPartnerEvents checks that the entries are not too large together, then each entry on its own, in order:
 * 1. `refuseEntry` has no refusal;
 * 2. the source is one of the partner's that is shared with some account;
 * 3. its deliveries are not too large together.
 * An entry reaches the bus of each account for which its source is active, and no bus where it is pending.
 */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";

import type { EventSourceRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { PutPartnerEventsRequestEntry } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import { EventSourceState } from "../../../gen/quartet/eventbus/v1/event_source_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Operation, OperationContext } from "../application.ts";
import { eventSourceArn } from "../domain/arns.ts";
import { expirationMs, partnerPrefix, stateOf } from "../domain/event-source.ts";
import { instant } from "../domain/instant.ts";
import type { EntryRefusal } from "../domain/put-entry.ts";
import { entriesBytesMax, entryBytes, refuseEntry } from "../domain/put-entry.ts";
import { ErrorReason, fault } from "../faults.ts";
import { ingestEvent, openBus, tooLargeMessage } from "../ingestion/ingest.ts";
import * as stored from "../store/event-source.ts";

/** Shares a source with an account; it is pending until the account creates its bus. */
export const createPartnerEventSource: Operation<"createPartnerEventSource"> = async (request, context) => {
  const { app } = context;
  const { name, account } = request;
  refuseForeign(name, context);
  await app.store.transact(async (transaction) => {
    const present = await stored.findEventSource(transaction, account, name);
    if (present !== undefined && stateOf(present, app.clock.now()) !== EventSourceState.DELETED)
      throw fault(ErrorReason.EVENT_SOURCE_ALREADY_EXISTS, { name });
    const nowMs = BigInt(app.clock.now());
    stored.putEventSource(transaction, { name, account, createdMs: nowMs, pendingSinceMs: nowMs });
  });
  return { eventSourceArn: eventSourceArn(app.arnScope, name) };
};

/** Ends a source; a bus that receives it stays, with the state DELETED. Repeating it is safe. */
export const deletePartnerEventSource: Operation<"deletePartnerEventSource"> = async (request, context) => {
  const { app } = context;
  refuseForeign(request.name, context);
  await app.store.transact(async (transaction) => {
    const source = await stored.findEventSource(transaction, request.account, request.name);
    if (source !== undefined && !source.isDeleted) await stored.deleteEventSource(transaction, source);
  });
  return {};
};

/** Returns the ARN of a source. */
export const describePartnerEventSource: Operation<"describePartnerEventSource"> = async ({ name }, context) => {
  const { app } = context;
  refuseForeign(name, context);
  const shared = await app.store.read((reader) => stored.listSharedAccounts(reader, name, undefined, 1));
  if (shared.length === 0) throw fault(ErrorReason.EVENT_SOURCE_NOT_FOUND, { name });
  return { arn: eventSourceArn(app.arnScope, name), name };
};

/** Lists the partner's sources by name, each once. */
export const listPartnerEventSources: Operation<"listPartnerEventSources"> = async (request, context) => {
  const { app } = context;
  const { namePrefix } = request;
  const own = ownPrefix(context);
  const page = app.pages.open(context, request, [namePrefix]);
  const longer = namePrefix.startsWith(own) ? namePrefix : own;
  const found =
    longer.startsWith(namePrefix) || namePrefix.startsWith(own)
      ? await app.store.read((reader) => stored.listSharedNames(reader, longer, page.after, page.lookFor))
      : [];
  const { items, nextToken } = page.cut(found, (name) => name);
  return {
    partnerEventSources: items.map((name) => ({ arn: eventSourceArn(app.arnScope, name), name })),
    nextToken,
  };
};

/** Lists the accounts with which a source is shared. */
export const listPartnerEventSourceAccounts: Operation<"listPartnerEventSourceAccounts"> = async (request, context) => {
  const { app } = context;
  const { eventSourceName } = request;
  refuseForeign(eventSourceName, context);
  const page = app.pages.open(context, request, [eventSourceName]);
  const found = await app.store.read((reader) =>
    stored.listSharedAccounts(reader, eventSourceName, page.after, page.lookFor),
  );
  const { items, nextToken } = page.cut(found, ({ account }) => account);
  const toAccount = (source: EventSourceRecord) => {
    const endMs = expirationMs(source);
    return {
      account: source.account,
      creationTime: instant(source.createdMs),
      ...(endMs !== undefined && { expirationTime: timestampFromMs(endMs) }),
      state: stateOf(source, app.clock.now()),
    };
  };
  return { partnerEventSourceAccounts: items.map(toAccount), nextToken };
};

/** Puts events of the partner's sources on the buses that receive them. Repeating the call puts them again. */
export const putPartnerEvents: Operation<"putPartnerEvents"> = async (request, context) => {
  const { app } = context;
  const own = ownPrefix(context);
  if (request.entries.reduce((sum, entry) => sum + entryBytes(entry), 0) > entriesBytesMax)
    throw fault(ErrorReason.ENTRIES_TOO_LARGE);
  const results: (EntryRefusal | { readonly eventId: string })[] = [];
  for (const entry of request.entries) {
    const { depthMax } = context.access.revision;
    const refusal = refuseEntry(entry, true, depthMax) ?? (entry.source?.startsWith(own) ? undefined : notAuthorized);
    results.push(refusal ?? (await app.store.transact((transaction) => putEntry(transaction, entry, context))));
  }
  return {
    failedEntryCount: results.filter((result) => "code" in result).length,
    entries: results.map((result) =>
      "code" in result ? { errorCode: result.code, errorMessage: result.message } : { eventId: result.eventId },
    ),
  };
};

const notAuthorized: EntryRefusal = {
  code: "NotAuthorizedForSourceException",
  message: "Not authorized for the source.",
};

/** Accounts with which one source may be shared for its events to be put in one transaction. */
const accountsMax = 100;

const putEntry = async (
  transaction: Transaction,
  entry: PutPartnerEventsRequestEntry,
  { app }: OperationContext,
): Promise<EntryRefusal | { readonly eventId: string }> => {
  const name = entry.source ?? "";
  const shared = await stored.listSharedAccounts(transaction, name, undefined, accountsMax);
  if (shared.length === 0) return notAuthorized;
  const id = app.ids.uuid();
  for (const source of shared) {
    if (stateOf(source, app.clock.now()) !== EventSourceState.ACTIVE) continue;
    const ingested = await ingestEvent(
      app,
      transaction,
      await openBus(app, transaction, { account: source.account, name }),
      {
        id,
        detailType: entry.detailType ?? "",
        source: name,
        account: source.account,
        timeMs: BigInt(entry.time === undefined ? app.clock.now() : timestampMs(entry.time)),
        region: app.arnScope.region,
        resources: entry.resources,
        detail: entry.detail ?? "",
        traceHeader: undefined,
        replayName: undefined,
        hops: 0,
      },
    );
    if (ingested.kind === "too-large") return { code: "LimitExceededException", message: tooLargeMessage };
  }
  return { eventId: id };
};

/** The beginning of the names of the caller's sources. Throws PARTNER_ONLY. */
const ownPrefix = ({ app, caller, method }: OperationContext): string => {
  const partner = app.partners.get(caller.accountId);
  if (partner === undefined)
    throw fault(ErrorReason.PARTNER_ONLY, { operation: method.name, account: caller.accountId });
  return partnerPrefix(app.arnScope.partition, partner);
};

/** Throws PARTNER_ONLY, or PARAMETER_REFUSED for a source that is not the caller's. */
const refuseForeign = (name: string, context: OperationContext): void => {
  const own = ownPrefix(context);
  if (!name.startsWith(own))
    throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: "Name", reason: `Name must begin with ${own}.` });
};
