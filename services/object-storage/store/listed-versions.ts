import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import { ListObjectVersionsResponseSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import {
  DeleteMarkerEntrySchema,
  ObjectVersionSchema,
  RestoreStatusSchema,
} from "../../../gen/quartet/objectstorage/v1/object_pb.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import { MessageBytes } from "../../kit/wire/message-bytes.ts";
import { nullVersionId } from "../domain/versioning.ts";
import type { DescribeOwner } from "./listed-members.ts";
import { addInstant, EncodedOwners } from "./listed-members.ts";
import type { VersionRow } from "./version-listing.ts";

/** What listings show of a stored version besides its own members. */
interface Description {
  readonly owner: DescribeOwner;
  /** Undefined: none is shown. */
  restoreStatus(row: VersionRow): MessageInitShape<typeof RestoreStatusSchema> | undefined;
}

/**
 * The versions and the delete markers of a page, encoded for its answer: making messages of them costs several times as
 * much.
 */
export class ListedVersions {
  readonly #versions = new MessageBytes();
  /** Most pages have none. */
  #markers: MessageBytes | undefined;
  readonly #markerPositions: number[] = [];
  #added = 0;
  readonly #description: Description;
  readonly #owners: EncodedOwners;

  constructor(description: Description) {
    this.#description = description;
    this.#owners = new EncodedOwners(description.owner);
  }

  add(key: string, row: VersionRow, isLatest: boolean): void {
    if (row.isDeleteMarker) {
      this.#addMarker(key, row, isLatest);
      this.#markerPositions.push(this.#added);
    } else this.#addVersion(key, row, isLatest);
    this.#added += 1;
  }

  /** Where the delete markers stand among all that were added, from 0. */
  get deleteMarkerPositions(): readonly number[] {
    return this.#markerPositions;
  }

  /** All that were added, as items of their lists. No more can be added. */
  take(): { readonly versions: Uint8Array; readonly deleteMarkers: Uint8Array } {
    return { versions: this.#versions.take(), deleteMarkers: this.#markers?.take() ?? new Uint8Array() };
  }

  #addVersion(key: string, row: VersionRow, isLatest: boolean): void {
    const to = ObjectVersionSchema.field;
    const out = this.#versions;
    const start = out.open(lists.versions);
    out.text(to.eTag, `"${row.eTag}"`);
    if (row.checksum !== undefined) {
      out.text(to.checksumAlgorithm, row.checksum.algorithm);
      out.text(to.checksumType, row.checksum.type);
    }
    out.integer(to.size, row.sizeBytes);
    out.text(to.storageClass, row.storageClass);
    out.text(to.key, key);
    out.text(to.versionId, row.versionId || nullVersionId);
    out.integer(to.isLatest, isLatest ? 1 : 0);
    addInstant(out, to.lastModified, row.lastModifiedMs);
    this.#owners.add(out, to.owner, row.ownerAccountId);
    const restoreStatus = row.restore && this.#description.restoreStatus(row);
    if (restoreStatus !== undefined) {
      const encoded = encodeMessage(RestoreStatusSchema, create(RestoreStatusSchema, restoreStatus));
      out.member(to.restoreStatus, encoded, 0, encoded.length);
    }
    out.close(start);
  }

  #addMarker(key: string, row: VersionRow, isLatest: boolean): void {
    this.#markers ??= new MessageBytes();
    const to = DeleteMarkerEntrySchema.field;
    const out = this.#markers;
    const start = out.open(lists.deleteMarkers);
    this.#owners.add(out, to.owner, row.ownerAccountId);
    out.text(to.key, key);
    out.text(to.versionId, row.versionId || nullVersionId);
    out.integer(to.isLatest, isLatest ? 1 : 0);
    addInstant(out, to.lastModified, row.lastModifiedMs);
    out.close(start);
  }
}

const lists = ListObjectVersionsResponseSchema.field;
