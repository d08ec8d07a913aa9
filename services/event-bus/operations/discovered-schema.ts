/**
 * Schemas of events, discovered from those that a bus accepts. Discovery is statistical: it observes some events, and a
 * crash loses what it observed in the last seconds.
 *
 * StartSchemaDiscovery checks, in order:
 * 1. the bus exists;
 * 2. it has no encryption key.
 *
 * StopSchemaDiscovery and DeleteDiscoveredSchema fail if the bus does not exist.
 *
 * DiscoverSchemas checks, in order:
 * 1. the page token is valid;
 * 2. the bus exists.
 *
 * DescribeDiscoveredSchema checks, in order:
 * 1. the bus exists;
 * 2. a schema was discovered;
 * 3. the version, if one is named, is kept.
 */
import type { DiscoveredSchemaRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { SchemaDiscoveryState } from "../../../gen/quartet/eventbus/v1/discovered_schema_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { instant } from "../domain/instant.ts";
import { eventSchemaText } from "../domain/schema-document.ts";
import { ErrorReason, fault } from "../faults.ts";
import { getBus, putBus } from "../store/bus.ts";
import type { EventKind } from "../store/discovered-schema.ts";
import * as stored from "../store/discovered-schema.ts";

/** Observes the events that a bus accepts after the answer. */
export const startSchemaDiscovery: Operation<"startSchemaDiscovery"> = async (_request, { app, access }) => {
  await setDiscovery(app, access.bus, true);
  return {};
};

/** Writes what was observed, and observes no further event. */
export const stopSchemaDiscovery: Operation<"stopSchemaDiscovery"> = async (_request, { app, access }) => {
  await app.schemas.flush();
  await setDiscovery(app, access.bus, false);
  return {};
};

/** Throws EVENT_BUS_NOT_FOUND, EVENT_BUS_ENCRYPTED. */
const setDiscovery = (app: Application, bus: BusReference, discoversSchemas: boolean): Promise<void> =>
  app.store.transact(async (transaction) => {
    const present = await getBus(transaction, bus);
    if (discoversSchemas && present.eventKeyId !== undefined)
      throw fault(ErrorReason.EVENT_BUS_ENCRYPTED, { name: bus.name });
    if (present.discoversSchemas !== discoversSchemas)
      putBus(transaction, bus.account, { ...present, discoversSchemas });
  });

/** Lists the last versions of a bus's schemas. A page also ends at the limit of its bytes. */
export const discoverSchemas: Operation<"discoverSchemas"> = async (request, context) => {
  const { app, access } = context;
  const { source } = request;
  const { account, name } = access.bus;
  const page = app.pages.open(context, request, [account, name, source]);
  const options = { source, after: page.after === undefined ? undefined : parsePlace(page.after), limit: page.lookFor };
  return app.store.read(async (reader) => {
    const { discoversSchemas } = await getBus(reader, access.bus);
    const found = [];
    let bytes = 0;
    for (const { kind, schema } of await stored.listSchemas(reader, access.bus, options)) {
      // What is beyond the page is not shown, so it is not read either; what is damaged is left out.
      const isBeyond = bytes > app.limits.pageBytesMax;
      const shown = isBeyond
        ? undefined
        : await toSchema(reader, kind, schema, schema.version).catch(undefinedIfDamaged);
      bytes += Buffer.byteLength(shown?.schema ?? "");
      found.push({ kind, shown, bytes: Buffer.byteLength(shown?.schema ?? "") });
    }
    const { items, nextToken } = page.cut(
      found,
      ({ kind }) => placeText(kind),
      (each) => each.bytes,
    );
    const { RUNNING, STOPPED } = SchemaDiscoveryState;
    return {
      state: discoversSchemas ? RUNNING : STOPPED,
      schemas: items.flatMap(({ shown }) => shown ?? []),
      nextToken,
    };
  });
};

/** The place of a schema in a listing as text: the length of the source, the source and the detail type. */
const placeText = ({ source, detailType }: EventKind): string => `${source.length} ${source}${detailType}`;

const parsePlace = (text: string): Pick<EventKind, "source" | "detailType"> => {
  const start = text.indexOf(" ") + 1;
  const end = start + Number.parseInt(text, 10);
  return { source: text.slice(start, end), detailType: text.slice(end) };
};

/** Returns the schema of the events of a source and detail type, and the versions that are kept. */
export const describeDiscoveredSchema: Operation<"describeDiscoveredSchema"> = (request, { app, access }) => {
  const { source, detailType, schemaVersion } = request;
  const kind = { bus: access.bus, source, detailType };
  return app.store.read(async (reader) => {
    await getBus(reader, access.bus);
    const schema = await stored.getSchema(reader, kind);
    const versions = await stored.listSchemaVersions(reader, kind);
    return {
      schema: await toSchema(reader, kind, schema, schemaVersion ?? schema.version),
      versions: versions.map(({ version, createdMs }) => ({
        schemaVersion: version,
        creationTime: instant(createdMs ?? 0n),
      })),
    };
  });
};

/** Forgets what was discovered of the events of a source and detail type. */
export const deleteDiscoveredSchema: Operation<"deleteDiscoveredSchema"> = async (request, { app, access }) => {
  const { source, detailType } = request;
  await app.store.transact(async (transaction) => {
    await getBus(transaction, access.bus);
    await stored.deleteSchema(transaction, { bus: access.bus, source, detailType });
  });
  return {};
};

const toSchema = async (reader: Reader, kind: EventKind, schema: DiscoveredSchemaRecord, version: number) => {
  const { source, detailType } = kind;
  const { detail } = await stored.getSchemaVersion(reader, kind, version);
  return {
    source,
    detailType,
    schemaVersion: version,
    schema: eventSchemaText(source, detailType, stored.shapeOf(detail)),
    eventCount: schema.eventCount,
    firstSeenTime: instant(schema.firstSeenMs),
    lastSeenTime: instant(schema.lastSeenMs),
  };
};
