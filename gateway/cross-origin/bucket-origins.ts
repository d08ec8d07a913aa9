import type { Transport } from "@connectrpc/connect";
import { ConnectError, createClient } from "@connectrpc/connect";
import { LRUCache } from "lru-cache";

import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { serviceApi } from "../../services/kit/contract/contract.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { isStillAhead } from "../../services/kit/clock/clock.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { anonymousCaller } from "../../services/kit/identity/caller.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import { decodePercent } from "../http/percent.ts";
import type { OriginRules, OriginSource } from "./origin-source.ts";

/** The connection to object storage, and the parts that sign its calls. */
export interface BucketOriginsOptions {
  readonly transport: Transport;
  readonly minter: Minter;
  readonly clock: Clock;
}

/** How long rules are cached: a changed configuration counts everywhere within this time. */
const lifetimeMs = 500;
const bucketsMax = 1_000;
const timeoutMs = 5_000;
const bucketName = /^[a-z0-9.-]{3,63}$/;

/** The gateway itself. It may read the rules without a caller, because a preflight request is unsigned. */
const gatewayCaller: Caller = { ...anonymousCaller, isPreauthorized: true };
const audience = serviceApi(ObjectStorageService).name;

/** The rules of buckets, read from object storage and cached for a moment. */
export const bucketOrigins = ({ transport, minter, clock }: BucketOriginsOptions): OriginSource => {
  const client = createClient(ObjectStorageService, transport);
  const kept = new LRUCache<string, { readonly rules: Promise<OriginRules>; readonly untilMs: number }>({
    max: bucketsMax,
  });
  const ask = async (bucket: string): Promise<OriginRules> => {
    const headers = { authorization: `Bearer ${await minter.mint(gatewayCaller, audience)}` };
    try {
      const { corsrules } = await client.getBucketCors({ bucket }, { headers, timeoutMs });
      return { kind: "rules", rules: corsrules };
    } catch (error) {
      const reason = ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason;
      if (reason === "NO_SUCH_CORS_CONFIGURATION") return { kind: "no-rules" };
      if (reason === "NO_SUCH_BUCKET") return { kind: "no-resource" };
      throw error;
    }
  };
  return {
    find: async (path) => {
      const bucket = decodePercent(path.split("/", 2)[1] ?? "");
      if (!bucketName.test(bucket)) return { kind: "no-resource" };
      const nowMs = clock.now();
      const known = kept.get(bucket);
      if (known !== undefined && isStillAhead(known.untilMs, lifetimeMs, nowMs)) return known.rules;
      const rules = ask(bucket);
      kept.set(bucket, { rules, untilMs: nowMs + lifetimeMs });
      rules.catch(() => kept.delete(bucket));
      return rules;
    },
  };
};
