import { ConnectError } from "@connectrpc/connect";

import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { BucketDocumentsOptions } from "../bucket-documents.ts";
import { bucketDocuments } from "../bucket-documents.ts";
import { decodePercent } from "../http/percent.ts";
import type { OriginRules, OriginSource } from "./origin-source.ts";

const bucketName = /^[a-z0-9.-]{3,63}$/;

/** The rules of buckets, read from object storage and cached for a moment. */
export const bucketOrigins = (options: BucketDocumentsOptions): OriginSource => {
  const rulesOf = bucketDocuments(options, async (client, bucket, call): Promise<OriginRules> => {
    try {
      const { corsrules } = await client.getBucketCors({ bucket }, call);
      return { kind: "rules", rules: corsrules };
    } catch (error) {
      const reason = ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason;
      if (reason === "NO_SUCH_CORS_CONFIGURATION") return { kind: "no-rules" };
      if (reason === "NO_SUCH_BUCKET") return { kind: "no-resource" };
      throw error;
    }
  });
  return {
    find: async (path) => {
      const bucket = decodePercent(path.split("/", 2)[1] ?? "");
      return bucketName.test(bucket) ? rulesOf(bucket) : { kind: "no-resource" };
    },
  };
};
