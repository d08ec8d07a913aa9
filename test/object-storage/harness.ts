import { join } from "node:path";

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";

import { ErrorReasonSchema } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  GetObjectRequestSchema,
  GetObjectResponse,
  PutObjectRequestSchema,
  PutObjectResponse,
} from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Accounts } from "../../services/kit/accounts/accounts.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { StoreLimits } from "../../services/kit/store/store.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import type { KeyNames } from "../../services/kit/keyring/key-names.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Limits } from "../../services/object-storage/limits.ts";
import type { AccessPoints } from "../../services/object-storage/access/access-points.ts";
import type { ObjectOwnership } from "../../services/object-storage/domain/ownership.ts";
import type { NotifiedEndpoints } from "../../services/object-storage/events/notifications.ts";
import type { ObjectStorageOptions, OpenObjectStorage } from "../../services/object-storage/open.ts";
import { openObjectStorage } from "../../services/object-storage/open.ts";
import { handlers, putsOwnObjects } from "../../services/object-storage/service.ts";
import { startServiceHarness } from "../support/service-harness.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import { startServiceProcess } from "../support/service-process.ts";

export { metadataOf, refusalOf } from "../support/refusal.ts";

export const alice = "111111111111";
export const bob = "222222222222";

/** Who calls: an account, or nobody. */
export const as = (account: string): CallOptions => ({ headers: { authorization: `Bearer ${account}` } });

/** The refusal of a member, named as clients know it, that asks for something which is not offered. */
export const notImplemented = (member: string): string =>
  `MEMBER_NOT_IMPLEMENTED: A header or member you provided implies functionality that is not implemented: ${member}`;

/** The refusal of a write under both conditions. */
export const oneCondition =
  "MEMBER_NOT_IMPLEMENTED: A header or member you provided implies functionality that is not implemented: If-Match,If-None-Match";

/** The refusal of a key of the caller without its algorithm. */
export const withoutAlgorithm =
  "INVALID_ARGUMENT: Requests specifying Server Side Encryption with Customer provided keys must provide a valid " +
  "encryption algorithm.";

/** A token that is the principal's ARN, for tests that look at what was minted. */
const readableMinter: Minter = { mint: async (caller) => `${caller.accountId} ${caller.principalArn}` };

export interface HarnessOptions {
  readonly clock?: Clock;
  /** Unset: the clock. */
  readonly elapsedMs?: () => number;
  readonly lifecycleDayMs?: number;
  readonly restoreDelayMs?: number;
  readonly directory?: string;
  readonly eventBusAddress?: string;
  /** Unset: queues, topics and functions are not reached. */
  readonly notified?: NotifiedEndpoints;
  readonly region?: string;
  /** Unset: there are no other regions. */
  readonly regions?: ObjectStorageOptions["regions"];
  readonly limits?: Partial<Limits>;
  readonly storeLimits?: Partial<StoreLimits>;
  readonly objectOwnership?: ObjectOwnership;
  readonly emailGrants?: "accept" | "refuse";
  readonly publicBuckets?: "allow" | "block";
  readonly accounts?: Accounts;
  readonly keyNames?: KeyNames;
  readonly accessPoints?: AccessPoints;
  /** Unset: nothing is logged. */
  readonly log?: Logger;
}

/** The object storage service on a real port, a real store and real files. */
export interface Harness {
  /** Calls of nobody, and of whom `as` names. */
  readonly client: Client<typeof ObjectStorageService>;
  /** Where the service listens. */
  readonly url: string;
  readonly directory: string;
  readonly blobsDirectory: string;
  readonly opened: OpenObjectStorage;
  stop(): Promise<void>;
}

/** Starts the service; it is stopped when the test ends. */
export const startHarness = async (options: HarnessOptions = {}): Promise<Harness> => {
  const { directory, clock = systemClock, limits } = options;
  const harness = await startServiceHarness({
    service: ObjectStorageService,
    handlers,
    errors: ErrorReasonSchema,
    clock,
    directory,
    log: options.log,
    storeLimits: options.storeLimits,
    open: (parts) =>
      openObjectStorage({
        ...parts,
        minter: readableMinter,
        putsOwnObjects,
        region: options.region ?? "us-east-1",
        emit: "amz",
        eventBusAddress: options.eventBusAddress ?? "http://127.0.0.1:1",
        ...(options.notified && { notified: options.notified }),
        ...(options.regions && { regions: options.regions }),
        ...(limits && { limits }),
        ...(options.lifecycleDayMs && { lifecycleDayMs: options.lifecycleDayMs }),
        ...(options.restoreDelayMs && { restoreDelayMs: options.restoreDelayMs }),
        ...(options.elapsedMs && { elapsedMs: options.elapsedMs }),
        ...(options.objectOwnership && { objectOwnership: options.objectOwnership }),
        ...(options.emailGrants && { emailGrants: options.emailGrants }),
        ...(options.publicBuckets && { publicBuckets: options.publicBuckets }),
        ...(options.keyNames && { keyNames: options.keyNames }),
        ...(options.accounts && { accounts: options.accounts }),
        ...(options.accessPoints && { accessPoints: options.accessPoints }),
      }),
  });
  return { ...harness, client: harness.clientOf(""), blobsDirectory: join(harness.directory, "blobs", "v2") };
};

/** Starts the service as a process of its own. */
export const startProcess = (
  dataDir: string,
  options: { readonly settings?: Readonly<Record<string, string>>; readonly output?: number } = {},
): Promise<ServiceProcess<typeof ObjectStorageService>> =>
  startServiceProcess({ service: ObjectStorageService, folder: "object-storage", dataDir, ...options });

export type PutInit = MessageInitShape<typeof PutObjectRequestSchema>;
export type GetInit = MessageInitShape<typeof GetObjectRequestSchema>;

async function* putMessages(head: PutInit, body: Uint8Array, pieceBytes: number, last: PutInit) {
  yield head;
  for (let at = 0; at < body.length; at += pieceBytes) yield { body: body.subarray(at, at + pieceBytes) } as PutInit;
  yield last;
}

/** Puts an object as Alice in pieces of 100,000 bytes; `last` holds what comes behind the content. */
export const put = (
  harness: Harness,
  head: PutInit,
  body: string | Uint8Array = "",
  last: PutInit = {},
  options = as(alice),
): Promise<PutObjectResponse> => harness.client.putObject(putMessages(head, Buffer.from(body), 100_000, last), options);

/** Gets an object as Alice: the first message and all bytes. */
export const get = async (
  harness: Harness,
  request: GetInit,
  options = as(alice),
): Promise<{ head: GetObjectResponse; body: Buffer }> => {
  let head: GetObjectResponse | undefined;
  const pieces: Uint8Array[] = [];
  for await (const message of harness.client.getObject(request, options)) {
    head ??= message;
    pieces.push(message.body);
  }
  if (head === undefined) throw new Error("the answer has no message");
  return { head, body: Buffer.concat(pieces) };
};

/** A service with Alice's bucket `photos`. */
export const startWithBucket = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startHarness(options);
  await harness.client.createBucket({ bucket: "photos" }, as(alice));
  return harness;
};
