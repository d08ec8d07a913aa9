import type { DescField, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";

import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { CurrentVersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { OwnerSchema } from "../../../gen/quartet/objectstorage/v1/bucket_pb.ts";
import { ObjectSummarySchema } from "../../../gen/quartet/objectstorage/v1/object_pb.ts";
import type { StoredRecord } from "../../kit/store/store.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import { MessageBytes } from "../../kit/wire/message-bytes.ts";
import { PlainMembers } from "../../kit/wire/plain-members.ts";

/** A stored object as a listing shows it. */
interface Description {
  row(key: string, record: CurrentVersionRecord): MessageInitShape<typeof ObjectSummarySchema>;
  /** The owner of an object that was stored for an account. Unset: owners are not shown. */
  readonly owner?: ((storedOwner: string) => MessageInitShape<typeof OwnerSchema>) | undefined;
}

/**
 * The objects of a page, encoded for its answer. The members of a record are mostly those of the listed object, so they
 * are copied from its bytes to those of the answer: making both messages costs four times as much. What is not plain in
 * that sense, or was restored, is decoded and described.
 */
export class ListedRows {
  readonly #bytes = new MessageBytes();
  readonly #stored = new PlainMembers(CurrentVersionRecordSchema);
  readonly #owners = new Map<string, Uint8Array>();
  readonly #list: DescField;
  readonly #description: Description;

  /** `list` is the member of the answer that has the objects. */
  constructor(list: DescField, description: Description) {
    this.#list = list;
    this.#description = description;
  }

  /** All that were added, as items of the list. No more can be added. */
  take(): Uint8Array {
    return this.#bytes.take();
  }

  add(key: string, record: StoredRecord<CurrentVersionRecord>): void {
    if (this.#addPlain(key, record.bytes)) return;
    const summary = create(ObjectSummarySchema, this.#description.row(key, record.decode()));
    const encoded = encodeMessage(ObjectSummarySchema, summary);
    this.#bytes.member(this.#list, encoded, 0, encoded.length);
  }

  /** False: it is not plain, and nothing was written. */
  #addPlain(key: string, record: Uint8Array): boolean {
    const stored = this.#stored;
    const from = CurrentVersionRecordSchema.field;
    const to = ObjectSummarySchema.field;
    if (!stored.find(record) || stored.has(from.restore)) return false;
    const modifiedMs = stored.integer(from.lastModifiedMs);
    if (modifiedMs === undefined) return false;
    const out = this.#bytes;
    const copy = (member: DescField, source: DescField, around?: number): void =>
      out.member(member, record, stored.startOf(source), stored.endOf(source), around);

    const start = out.open(this.#list);
    out.text(to.key, key);
    this.#addInstant(to.lastModified, modifiedMs);
    copy(to.eTag, from.eTag, quote);
    if (stored.has(from.checksumAlgorithm)) copy(to.checksumAlgorithm, from.checksumAlgorithm);
    if (stored.has(from.checksumType)) copy(to.checksumType, from.checksumType);
    if (stored.has(from.sizeBytes))
      out.integerOf(to.size, record, stored.startOf(from.sizeBytes), stored.endOf(from.sizeBytes));
    else out.integer(to.size, 0);
    copy(to.storageClass, from.storageClass);
    const { owner } = this.#description;
    if (owner !== undefined) this.#addOwner(stored.text(from.ownerAccountId), owner);
    out.close(start);
    return true;
  }

  #addInstant(member: DescField, ms: number): void {
    const { seconds, nanos } = TimestampSchema.field;
    const out = this.#bytes;
    const wholeSeconds = Math.floor(ms / 1000);
    const start = out.open(member);
    if (wholeSeconds > 0) out.integer(seconds, wholeSeconds);
    if (ms % 1000 > 0) out.integer(nanos, (ms % 1000) * 1_000_000);
    out.close(start);
  }

  /** The objects of a page have few owners. */
  #addOwner(account: string, describe: NonNullable<Description["owner"]>): void {
    let owner = this.#owners.get(account);
    if (owner === undefined) {
      owner = encodeMessage(OwnerSchema, create(OwnerSchema, describe(account)));
      this.#owners.set(account, owner);
    }
    this.#bytes.member(ObjectSummarySchema.field.owner, owner, 0, owner.length);
  }
}

const quote = 0x22;
