import type { MethodContract } from "../../services/kit/contract/contract.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { QueryParameters } from "../http/query.ts";

/**
 * The query parameters by which clients of the XML API name a part of a bucket or an object. A request that names one
 * means an operation on it and nothing else: without a route of its own it must not be taken for the plain operation,
 * or asking for a bucket's policy would list the bucket.
 */
const subresources: ReadonlySet<string> = new Set([
  "abac",
  "accelerate",
  "acl",
  "analytics",
  "attributes",
  "cors",
  "delete",
  "encryption",
  "intelligent-tiering",
  "inventory",
  "legal-hold",
  "lifecycle",
  "location",
  "logging",
  "metadataConfiguration",
  "metadataInventoryTable",
  "metadataJournalTable",
  "metadataTable",
  "metrics",
  "notification",
  "object-lock",
  "ownershipControls",
  "policy",
  "policyStatus",
  "publicAccessBlock",
  "renameObject",
  "replication",
  "requestPayment",
  "restore",
  "retention",
  "select",
  "session",
  "tagging",
  "torrent",
  "uploadId",
  "uploads",
  "versioning",
  "versions",
  "website",
]);

/** Refuses a request that names a part which the chosen method is not about. Throws GatewayRefusal. */
export const refuseUnoffered = (query: QueryParameters, method: MethodContract | undefined): void => {
  for (const { name } of query.all) {
    if (!subresources.has(name)) continue;
    const conditions = method?.http;
    const isMeant =
      conditions?.template.query.some((part) => part.name === name) ||
      conditions?.requiredQuery.includes(name) ||
      method?.input.fields.some((field) => field.place.kind === "query" && field.place.name === name);
    if (!isMeant) throw refusal(ErrorReason.SUBRESOURCE_NOT_OFFERED, { parameter: name });
  }
};
