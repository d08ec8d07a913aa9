import { create } from "@bufbuild/protobuf";

import type { GetBucketWebsiteResponse } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { WebsiteConfiguration } from "../../gen/quartet/objectstorage/v1/website_pb.ts";
import { WebsiteConfigurationSchema } from "../../gen/quartet/objectstorage/v1/website_pb.ts";
import type { BucketDocumentsOptions } from "../bucket-documents.ts";
import { bucketDocuments } from "../bucket-documents.ts";

/** The websites of buckets. */
export interface Websites {
  /** The bucket that a host name is the website of; undefined: it is none. */
  bucketOf(host: string | undefined): string | undefined;
  /** The website of a bucket. Rejects with the ConnectError of object storage, also if it has none. */
  find(bucket: string): Promise<WebsiteConfiguration>;
}

/** The host names of websites, and the parts that sign calls of object storage. */
export interface WebsitesOptions extends BucketDocumentsOptions {
  /** A label before one of them names a bucket. */
  readonly hosts: readonly string[];
}

/** The websites of buckets at these hosts, read from object storage and cached for a moment. */
export const websites = ({ hosts, ...options }: WebsitesOptions): Websites => {
  const suffixes = hosts.map((host) => `.${host.toLowerCase()}`);
  return {
    bucketOf(host) {
      if (suffixes.length === 0 || host === undefined) return undefined;
      const name = host.replace(/:\d+$/, "").toLowerCase();
      const suffix = suffixes.find((each) => name.length > each.length && name.endsWith(each));
      return suffix === undefined ? undefined : name.slice(0, -suffix.length);
    },
    find: bucketDocuments(options, async (client, bucket, call) =>
      toWebsite(await client.getBucketWebsite({ bucket }, call)),
    ),
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
