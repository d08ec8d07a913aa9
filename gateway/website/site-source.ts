import { create } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { LRUCache } from "lru-cache";

import type { GetBucketWebsiteResponse } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { WebsiteConfiguration } from "../../gen/quartet/objectstorage/v1/website_pb.ts";
import { WebsiteConfigurationSchema } from "../../gen/quartet/objectstorage/v1/website_pb.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { serviceApi } from "../../services/kit/contract/contract.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { anonymousCaller } from "../../services/kit/identity/caller.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";

/** The websites of buckets. */
export interface Websites {
  /** The bucket that a host name is the website of; undefined: it is none. */
  bucketOf(host: string | undefined): string | undefined;
  /** The website of a bucket. Rejects with the ConnectError of object storage, also if it has none. */
  find(bucket: string): Promise<WebsiteConfiguration>;
}

/** The host names of websites, and the parts that sign calls of object storage. */
export interface WebsitesOptions {
  /** A label before one of them names a bucket. */
  readonly hosts: readonly string[];
  readonly transport: Transport;
  readonly minter: Minter;
  readonly clock: Clock;
}

/** How long a website is cached: a changed configuration counts everywhere within this time. */
const lifetimeMs = 500;
const sitesMax = 1_000;
const timeoutMs = 5_000;

/** The gateway itself. It may read websites without a caller, because visitors are nobody. */
const gatewayCaller: Caller = { ...anonymousCaller, isPreauthorized: true };
const audience = serviceApi(ObjectStorageService).name;

/** The websites of buckets at these hosts, read from object storage and cached for a moment. */
export const websites = ({ hosts, transport, minter, clock }: WebsitesOptions): Websites => {
  const client = createClient(ObjectStorageService, transport);
  const suffixes = hosts.map((host) => `.${host.toLowerCase()}`);
  const kept = new LRUCache<string, { readonly site: Promise<WebsiteConfiguration>; readonly untilMs: number }>({
    max: sitesMax,
  });
  const read = async (bucket: string): Promise<WebsiteConfiguration> => {
    const headers = { authorization: `Bearer ${await minter.mint(gatewayCaller, audience)}` };
    return toWebsite(await client.getBucketWebsite({ bucket }, { headers, timeoutMs }));
  };
  return {
    bucketOf(host) {
      if (suffixes.length === 0 || host === undefined) return undefined;
      const name = host.replace(/:\d+$/, "").toLowerCase();
      const suffix = suffixes.find((each) => name.length > each.length && name.endsWith(each));
      return suffix === undefined ? undefined : name.slice(0, -suffix.length);
    },
    async find(bucket) {
      const nowMs = clock.now();
      const known = kept.get(bucket);
      if (known !== undefined && nowMs < known.untilMs) return known.site;
      const site = read(bucket);
      kept.set(bucket, { site, untilMs: nowMs + lifetimeMs });
      site.catch(() => kept.delete(bucket));
      return site;
    },
  };
};

const toWebsite = ({
  redirectAllRequestsTo,
  indexDocument,
  errorDocument,
  routingRules,
}: GetBucketWebsiteResponse): WebsiteConfiguration =>
  create(WebsiteConfigurationSchema, {
    ...(redirectAllRequestsTo && { redirectAllRequestsTo }),
    ...(indexDocument && { indexDocument }),
    ...(errorDocument && { errorDocument }),
    routingRules,
  });
