import type { CallOptions, Client, Transport } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { LRUCache } from "lru-cache";

import { ObjectStorageService } from "../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Clock } from "../services/kit/clock/clock.ts";
import { isStillAhead } from "../services/kit/clock/clock.ts";
import { serviceApi } from "../services/kit/contract/contract.ts";
import type { Caller } from "../services/kit/identity/caller.ts";
import { anonymousCaller } from "../services/kit/identity/caller.ts";
import type { Minter } from "../services/kit/identity/tokens.ts";

/** The connection to object storage, and the parts that sign its calls. */
export interface BucketDocumentsOptions {
  readonly transport: Transport;
  readonly minter: Minter;
  readonly clock: Clock;
}

/** How long a document is cached: a changed one counts everywhere within this time. */
const lifetimeMs = 500;
const bucketsMax = 1_000;
const timeoutMs = 5_000;

/** The gateway itself. It may read these documents without a caller, because those whom they are for are nobody. */
const gatewayCaller: Caller = { ...anonymousCaller, isPreauthorized: true };
const audience = serviceApi(ObjectStorageService).name;

/** Reads one configuration of a bucket, in the gateway's own name and cached for a moment. `ask` makes the call. */
export const bucketDocuments = <Document>(
  { transport, minter, clock }: BucketDocumentsOptions,
  ask: (client: Client<typeof ObjectStorageService>, bucket: string, options: CallOptions) => Promise<Document>,
): ((bucket: string) => Promise<Document>) => {
  const client = createClient(ObjectStorageService, transport);
  const kept = new LRUCache<string, { readonly document: Promise<Document>; readonly untilMs: number }>({
    max: bucketsMax,
  });
  const read = async (bucket: string): Promise<Document> =>
    ask(client, bucket, {
      headers: { authorization: `Bearer ${await minter.mint(gatewayCaller, audience)}` },
      timeoutMs,
    });
  return (bucket) => {
    const nowMs = clock.now();
    const known = kept.get(bucket);
    if (known !== undefined && isStillAhead(known.untilMs, lifetimeMs, nowMs)) return known.document;
    const document = read(bucket);
    kept.set(bucket, { document, untilMs: nowMs + lifetimeMs });
    document.catch(() => kept.delete(bucket));
    return document;
  };
};
