import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  DiscoveredSchemaRecord,
  DiscoveredSchemaRecordSchema,
  SchemaVersionRecord,
  ShapeRecord,
  ShapeRecordSchema,
} from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import type { KeyPrefix } from "../../kit/store/table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import type { BusReference } from "../domain/arns.ts";
import type { Shape } from "../domain/schema-inference.ts";
import { ErrorReason, fault } from "../faults.ts";
import { discoveredSchemas, schemaVersions } from "./layout.ts";

/** The events of a source and a detail type on a bus. */
export interface EventKind {
  readonly bus: BusReference;
  readonly source: string;
  readonly detailType: string;
}

type KindKey = [account: string, bus: string, source: string, detailType: string];

const keyOf = ({ bus, source, detailType }: EventKind): KindKey => [bus.account, bus.name, source, detailType];

/** What is known of events. */
interface Known {
  readonly version: number;
  /** Undefined: the record of the version is damaged or missing. */
  readonly detail: Shape | undefined;
  readonly eventCount: bigint | undefined;
  readonly firstSeenMs: bigint | undefined;
}

/**
 * What is known of the events, or undefined. Where the record of their numbers is damaged, their last version is known
 * further, and they are counted from 0 again: what was observed of them would be lost each time otherwise.
 */
export const findKnown = async (reader: Reader, kind: EventKind): Promise<Known | undefined> => {
  const schema = await reader.get(discoveredSchemas, keyOf(kind)).catch(undefinedIfDamaged);
  const version = schema?.version ?? (await listSchemaVersions(reader, kind)).at(-1)?.version;
  if (version === undefined) return undefined;
  const stored = await reader.get(schemaVersions, [...keyOf(kind), version]).catch(undefinedIfDamaged);
  const { eventCount, firstSeenMs } = schema ?? {};
  return { version, detail: stored && shapeOf(stored.detail), eventCount, firstSeenMs };
};

/** What is known of the events. Throws DISCOVERED_SCHEMA_NOT_FOUND. */
export const getSchema = async (reader: Reader, kind: EventKind): Promise<DiscoveredSchemaRecord> => {
  const schema = await reader.get(discoveredSchemas, keyOf(kind));
  if (schema === undefined) throw notFound(`${kind.detailType} of ${kind.source}`);
  return schema;
};

const notFound = (name: string): Error => fault(ErrorReason.DISCOVERED_SCHEMA_NOT_FOUND, { name });

/** A version of a schema. Throws DISCOVERED_SCHEMA_NOT_FOUND. */
export const getSchemaVersion = async (
  reader: Reader,
  kind: EventKind,
  version: number,
): Promise<SchemaVersionRecord> => {
  const found = await reader.get(schemaVersions, [...keyOf(kind), version]);
  if (found === undefined) throw notFound(`${kind.detailType} of ${kind.source}, version ${version},`);
  return found;
};

/** The versions of a schema that are kept, in their order. One that is damaged has no time. */
export const listSchemaVersions = async (
  reader: Reader,
  kind: EventKind,
): Promise<{ readonly version: number; readonly createdMs: bigint | undefined }[]> => {
  const versions = [];
  for await (const { key, value } of walkTable(reader, schemaVersions, { prefix: keyOf(kind) }))
    versions.push({ version: key[4], createdMs: value?.createdMs });
  return versions;
};

/** A part of the schemas of a bus. */
interface SchemaPage {
  /** Unset: of all sources. */
  readonly source?: string | undefined;
  /** After these events. Unset: from the first. */
  readonly after?: Pick<EventKind, "source" | "detailType"> | undefined;
  readonly limit: number;
}

/** How many schemas a bus has, damaged ones as well, up to a number. */
export const countSchemas = async (
  reader: Reader,
  { account, name }: BusReference,
  countMax: number,
): Promise<number> => {
  let count = 0;
  for await (const _schema of walkTable(reader, discoveredSchemas, { prefix: [account, name], limit: countMax }))
    count += 1;
  return count;
};

/** What is known of the events of a bus, by source and detail type. A record that is damaged is left out. */
export const listSchemas = async (
  reader: Reader,
  bus: BusReference,
  { source, after, limit }: SchemaPage,
): Promise<{ readonly kind: EventKind; readonly schema: DiscoveredSchemaRecord }[]> => {
  const schemas = [];
  const parent: [account: string, bus: string] = [bus.account, bus.name];
  const prefix: KeyPrefix<KindKey> = source === undefined ? parent : [...parent, source];
  const place: KindKey | undefined = after && keyOf({ bus, ...after });
  for await (const { key, value } of walkTable(reader, discoveredSchemas, { prefix, after: place })) {
    if (schemas.length === limit) break;
    if (value !== undefined) schemas.push({ kind: { bus, source: key[2], detailType: key[3] }, schema: value });
  }
  return schemas;
};

/** Creates or replaces what is known of events. */
export const putSchema = (
  transaction: Transaction,
  kind: EventKind,
  schema: MessageInitShape<typeof DiscoveredSchemaRecordSchema>,
): void => transaction.put(discoveredSchemas, keyOf(kind), schema);

/** Creates a version of a schema, and deletes the one that was created `kept` versions before it. */
export const putSchemaVersion = (
  transaction: Transaction,
  kind: EventKind,
  { version, detail, createdMs, kept }: { version: number; detail: Shape; createdMs: bigint; kept: number },
): void => {
  transaction.put(schemaVersions, [...keyOf(kind), version], { detail: toRecord(detail), createdMs });
  if (version > kept) transaction.delete(schemaVersions, [...keyOf(kind), version - kept]);
};

/** Deletes all that is known of events, if anything is. */
export const deleteSchema = async (transaction: Transaction, kind: EventKind): Promise<void> => {
  transaction.delete(discoveredSchemas, keyOf(kind));
  await transaction.deleteRange(schemaVersions, { prefix: keyOf(kind) });
};

/** Deletes all schemas of a bus. */
export const deleteSchemas = async (transaction: Transaction, { account, name }: BusReference): Promise<void> => {
  await transaction.deleteRange(discoveredSchemas, { prefix: [account, name] });
  await transaction.deleteRange(schemaVersions, { prefix: [account, name] });
};

const toRecord = ({
  types,
  isOptional,
  isOpen,
  items,
  properties,
}: Shape): MessageInitShape<typeof ShapeRecordSchema> => ({
  types,
  isOptional,
  isOpen,
  ...(items !== undefined && { items: toRecord(items) }),
  properties: [...properties].map(([name, shape]) => ({ name, shape: toRecord(shape) })),
});

/** The shape of a record. */
export const shapeOf = (record: ShapeRecord | undefined): Shape => ({
  types: record?.types ?? 0,
  isOptional: record?.isOptional ?? false,
  isOpen: record?.isOpen ?? false,
  ...(record?.items !== undefined && { items: shapeOf(record.items) }),
  properties: new Map(record?.properties.map(({ name, shape }) => [name, shapeOf(shape)])),
});
