import { Pool } from "undici";

import type { Clock } from "../../kit/clock/clock.ts";
import { isStillAhead } from "../../kit/clock/clock.ts";
import { growingCache } from "../../kit/collections/growing-cache.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import type { RegionClient } from "./region-client.ts";
import { regionClient } from "./region-client.ts";

/** The place of a bucket that is not here. */
export interface BucketPlace {
  readonly region: string;
  /** The address of the gateway there, without a path. */
  readonly endpoint: string;
}

/** The other regions, which are deployments of their own with one space of bucket names. */
export interface OtherRegions {
  /** Where a bucket is that is not here; undefined: in none of the regions that could be asked. Never rejects. */
  find(bucket: string): Promise<BucketPlace | undefined>;
  /** Whether there are other regions at all. */
  readonly exist: boolean;
  /** Stores replicas in a region; undefined: there is no key for it. */
  clientOf(region: string): Pick<RegionClient, "putReplica"> | undefined;
  close(): Promise<void>;
}

/** Where the other regions are asked. */
export interface OtherRegionsOptions {
  /** Their gateways, by region; without a key nothing is sent to them that needs one. */
  readonly endpoints: Readonly<Record<string, ServiceEndpoint | undefined>>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
}

/** The agent of a request that only looks for a bucket, so that no region asks back. */
export const lookupAgent = "quartet-region-lookup";

/** How long an answer counts, in milliseconds. */
const lifetimeMs = 10_000;
/** How long a region may take to answer, in milliseconds. */
const timeoutMs = 2_000;
const placesMax = 10_000;
/** Buckets that are looked for at the same time; others count as not found. */
const lookupsMax = 32;
const bucketName = /^[a-z0-9.-]{3,63}$/;

interface KnownPlace {
  readonly place: Promise<BucketPlace | undefined>;
  readonly untilMs: number;
}

/**
 * Asks the other regions without a signature whether they have a bucket: they answer 200 or 403 for one that is there
 * and 404 for one that is not. A region that does not answer counts as one without the bucket.
 */
export const otherRegions = ({ endpoints, clock, log }: OtherRegionsOptions): OtherRegions => {
  const regions = Object.entries(endpoints).flatMap(([region, endpoint]) => {
    if (endpoint === undefined) return [];
    const { origin } = new URL(endpoint.url);
    const client = endpoint.accessKeyId === "" ? undefined : regionClient(endpoint, clock);
    return [{ region, endpoint: origin, pool: new Pool(origin, { connections: 4 }), client }];
  });
  const known = growingCache<string, KnownPlace>(placesMax);
  let running = 0;

  const has = async (pool: Pool, region: string, bucket: string): Promise<boolean> => {
    try {
      const { statusCode, body } = await pool.request({
        method: "HEAD",
        path: `/${bucket}`,
        headers: { "user-agent": lookupAgent },
        signal: AbortSignal.timeout(timeoutMs),
      });
      await body.dump();
      return statusCode === 200 || statusCode === 403;
    } catch (error) {
      log.warn({ err: error, region }, "a region did not say whether it has a bucket");
      return false;
    }
  };

  const look = async (bucket: string): Promise<BucketPlace | undefined> => {
    running += 1;
    try {
      const found = await Promise.all(regions.map(({ pool, region }) => has(pool, region, bucket)));
      const place = regions[found.indexOf(true)];
      return place && { region: place.region, endpoint: place.endpoint };
    } finally {
      running -= 1;
    }
  };

  return {
    async find(bucket) {
      if (regions.length === 0 || !bucketName.test(bucket)) return undefined;
      const nowMs = clock.now();
      const before = known.get(bucket);
      if (before !== undefined && isStillAhead(before.untilMs, lifetimeMs, nowMs)) return before.place;
      if (running >= lookupsMax) return undefined;
      const place = look(bucket);
      known.set(bucket, { place, untilMs: nowMs + lifetimeMs });
      return place;
    },
    exist: regions.length > 0,
    clientOf: (region) => regions.find((each) => each.region === region)?.client,
    async close() {
      await Promise.all(regions.map(({ pool }) => pool.close()));
      await Promise.all(regions.map(async ({ client }) => client?.close()));
    },
  };
};
