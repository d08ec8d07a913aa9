import { join } from "node:path";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type CallOptions, type Client } from "@connectrpc/connect";
import { ErrorReasonSchema } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  GetObjectRequestSchema,
  GetObjectResponse,
  PutObjectRequestSchema,
  PutObjectResponse,
} from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ConnectError } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { createTransport } from "../../services/kit/client/transport.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { anonymousCaller, rootCaller } from "../../services/kit/identity/caller.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import { startServer } from "../../services/kit/server/server.ts";
import { openStore } from "../../services/kit/store/store.ts";
import type { Limits } from "../../services/object-storage/application.ts";
import type { OpenObjectStorage } from "../../services/object-storage/open.ts";
import { openObjectStorage } from "../../services/object-storage/open.ts";
import { handlers } from "../../services/object-storage/service.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

export const alice = "111111111111";
export const bob = "222222222222";

/** Who calls: an account, or nobody. */
export const as = (account: string): CallOptions => ({ headers: { authorization: `Bearer ${account}` } });

/** A token that is the principal's ARN, for tests that look at what was minted. */
const readableMinter: Minter = { mint: async (caller) => `${caller.accountId} ${caller.principalArn}` };

export interface HarnessOptions {
  readonly clock?: Clock;
  readonly directory?: string;
  readonly eventBusAddress?: string;
  readonly region?: string;
  readonly limits?: Partial<Limits>;
  /** False only where nothing is said about durability. */
  readonly sync?: boolean;
}

/** The object storage service on a real port, a real store and real files. */
export interface Harness {
  readonly client: Client<typeof ObjectStorageService>;
  /** Where the service listens. */
  readonly url: string;
  readonly directory: string;
  readonly blobsDirectory: string;
  readonly opened: OpenObjectStorage;
  stop(): Promise<void>;
}

export const startObjectStorage = async (options: HarnessOptions = {}): Promise<Harness> => {
  const directory = options.directory ?? (await temporaryDirectory());
  const clock = options.clock ?? systemClock;
  const store = await openStore({ directory: join(directory, "leveldb"), sync: options.sync ?? false });
  const opened = await openObjectStorage({
    store,
    directory,
    clock,
    ids: randomIds,
    log: silentLogger,
    minter: readableMinter,
    region: options.region ?? "us-east-1",
    emit: "amz",
    eventBusAddress: options.eventBusAddress ?? "http://127.0.0.1:1",
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const server = await startServer({
    name: "object-storage",
    listen: { host: "127.0.0.1", port: 0 },
    services: [{ service: ObjectStorageService, handlers, errors: ErrorReasonSchema, app: opened.app }],
    authenticate: async (authorization) =>
      authorization === undefined ? anonymousCaller : rootCaller(authorization.replace("Bearer ", "")),
    log: silentLogger,
  });
  const transport = createTransport({ address: server.url, engine: "connect" });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await transport.close();
    await server.stop(1_000);
    await opened.stop();
    await store.close();
  };
  onTestFinished(stop);
  return {
    client: createClient(ObjectStorageService, transport),
    url: server.url,
    directory,
    blobsDirectory: join(directory, "blobs", "v1"),
    opened,
    stop,
  };
};

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

/** What a call is refused with: the reason, and what varies in it. "none" when it succeeds. */
export const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "none";
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
    return info?.reason ?? String(error);
  }
};

/** The metadata of a refusal. */
export const metadataOf = async (call: Promise<unknown>): Promise<Record<string, string>> => {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.metadata ?? {};
  }
  throw new Error("the call was not refused");
};

/** A service with Alice's bucket `photos`. */
export const startWithBucket = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startObjectStorage(options);
  await harness.client.createBucket({ bucket: "photos" }, as(alice));
  return harness;
};
