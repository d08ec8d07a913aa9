import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";

import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import type { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { Minter } from "../../kit/identity/tokens.ts";

/** An object of a bucket as a listing shows it. */
export interface ListedObject {
  readonly key: string;
  readonly eTag: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** A part of an object, and what is known of the whole. */
interface ObjectPart {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
}

/** Where a flow reads, and as whom. */
export interface ReadBucket {
  readonly caller: Caller;
  readonly name: string;
  readonly prefix: string;
  /** The account that must own the bucket. Unset: any. */
  readonly owner: string | undefined;
}

/** The buckets of object storage. Its methods throw SourceError. */
export interface BucketSource {
  /** The next objects in the order of their keys, after the given one. */
  list(bucket: ReadBucket, afterKey: string, signal: AbortSignal): Promise<readonly ListedObject[]>;
  /** At most so many bytes of an object from a place on, which is in it. */
  read(
    bucket: ReadBucket,
    object: Pick<ListedObject, "key" | "eTag">,
    from: number,
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<ObjectPart>;
}

/** Why a bucket or an object could not be read. */
export class SourceError extends Error {
  /** `away`: calling again may help; `changed`: the object is another or none now; `unreadable`: it stays so. */
  readonly kind: "away" | "changed" | "unreadable";

  constructor(kind: SourceError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Keys of a listing that are read at once. */
export const listedKeysMax = 1_000;
const callMsMax = 60_000;

/** Reads buckets by calls of the object storage service. */
export const bucketSource = (
  objects: Pick<Client<typeof ObjectStorageService>, "listObjectsV2" | "getObject">,
  minter: Minter,
): BucketSource => {
  const optionsOf = async (caller: Caller, signal: AbortSignal) => ({
    headers: { authorization: `Bearer ${await minter.mint(caller, "object-storage")}` },
    signal,
    timeoutMs: callMsMax,
  });
  const named = ({ name, owner }: ReadBucket) => ({
    bucket: name,
    ...(owner !== undefined && { expectedBucketOwner: owner }),
  });
  return {
    list: async (bucket, afterKey, signal) => {
      const { prefix } = bucket;
      const request = { ...named(bucket), prefix, startAfter: afterKey, maxKeys: listedKeysMax };
      const { contents } = await objects
        .listObjectsV2(request, await optionsOf(bucket.caller, signal))
        .catch((error: unknown) => refuseBucket(error, signal, bucket.name));
      return contents.map(({ key = "", eTag = "", size = 0n, lastModified }) => ({
        key,
        eTag,
        sizeBytes: Number(size),
        modifiedMs: lastModified === undefined ? 0 : timestampMs(lastModified),
      }));
    },
    read: async (bucket, { key, eTag }, from, bytesMax, signal) => {
      const range = `bytes=${from}-${from + bytesMax - 1}`;
      const request = { ...named(bucket), key, ifMatch: eTag, range };
      const pieces: Uint8Array[] = [];
      let [contentType, contentEncoding] = ["", ""];
      try {
        for await (const message of objects.getObject(request, await optionsOf(bucket.caller, signal))) {
          contentType ||= message.contentType ?? "";
          contentEncoding ||= message.contentEncoding ?? "";
          pieces.push(message.body);
        }
      } catch (error) {
        return refuseObject(error, signal, key);
      }
      return { bytes: Buffer.concat(pieces), contentType, contentEncoding };
    },
  };
};

/** The refusals of an object that is another or none now, by their reasons. */
const changed: ReadonlySet<string> = new Set(["PRECONDITION_FAILED", "NO_SUCH_KEY", "INVALID_RANGE"]);

/** Whether no later call helps: the object is encrypted under a key that must be sent, is archived, or is damaged. */
const isUnreadable = (reason: string, code: Code): boolean =>
  reason === "INVALID_OBJECT_STATE" || code === Code.InvalidArgument || code === Code.DataLoss;

const refuseObject = (error: unknown, signal: AbortSignal, key: string): never => {
  const { reason, code } = refusalOf(error, signal);
  const kind = changed.has(reason) ? "changed" : isUnreadable(reason, code) ? "unreadable" : "away";
  throw new SourceError(kind, messageOf(error, `the object ${key}`, reason));
};

const refuseBucket = (error: unknown, signal: AbortSignal, name: string): never => {
  const { reason } = refusalOf(error, signal);
  throw new SourceError("away", messageOf(error, `the bucket ${name}`, reason));
};

/** The reason and the code of a refusal. Throws the reason of a call that was given up. */
const refusalOf = (error: unknown, signal: AbortSignal): { readonly reason: string; readonly code: Code } => {
  if (signal.aborted) throw signal.reason;
  const refusal = ConnectError.from(error);
  return { reason: refusal.findDetails(ErrorInfoSchema)[0]?.reason ?? Code[refusal.code], code: refusal.code };
};

const messageOf = (error: unknown, what: string, reason: string): string =>
  `${what} cannot be read: ${reason}: ${ConnectError.from(error).rawMessage}`;
