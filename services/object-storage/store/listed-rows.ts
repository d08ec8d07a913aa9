import type { DescField, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { CurrentVersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ObjectSummarySchema } from "../../../gen/quartet/objectstorage/v1/object_pb.ts";
import type { StoredRecord } from "../../kit/store/store.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import { MessageBytes } from "../../kit/wire/message-bytes.ts";
import { PlainMembers } from "../../kit/wire/plain-members.ts";
import type { DescribeOwner } from "./listed-members.ts";
import { addInstant, EncodedOwners } from "./listed-members.ts";

/** A stored object as a listing shows it. */
interface Description {
  row(key: string, record: CurrentVersionRecord): MessageInitShape<typeof ObjectSummarySchema>;
  /** The owner of an object that was stored for an account. Unset: owners are not shown. */
  readonly owner: DescribeOwner | undefined;
}

/**
 * The objects of a page, encoded for its answer. The members of a record are mostly those of the listed object, so they
 * are copied from its bytes to those of the answer: making both messages costs four times as much. What is not plain in
 * that sense, or was restored, is decoded and described.
 */
export class ListedRows {
  readonly #bytes = new MessageBytes();
  readonly #stored = new PlainMembers(CurrentVersionRecordSchema);
  readonly #list: DescField;
  readonly #description: Description;
  readonly #owners: EncodedOwners | undefined;

  /** `list` is the member of the answer that has the objects. */
  constructor(list: DescField, description: Description) {
    this.#list = list;
    this.#description = description;
    this.#owners = description.owner && new EncodedOwners(description.owner);
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
    addInstant(out, to.lastModified, modifiedMs);
    copy(to.eTag, from.eTag, quote);
    if (stored.has(from.checksumAlgorithm)) copy(to.checksumAlgorithm, from.checksumAlgorithm);
    if (stored.has(from.checksumType)) copy(to.checksumType, from.checksumType);
    if (stored.has(from.sizeBytes))
      out.integerOf(to.size, record, stored.startOf(from.sizeBytes), stored.endOf(from.sizeBytes));
    else out.integer(to.size, 0);
    copy(to.storageClass, from.storageClass);
    this.#owners?.add(out, to.owner, stored.text(from.ownerAccountId));
    out.close(start);
    return true;
  }
}

const quote = 0x22;
