import { expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ShelfService } from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import { refuseOtherSubresources, subresourcesOf } from "../../../gateway/bindings/subresources.ts";
import { parseQuery } from "../../../gateway/http/query.ts";
import { methodContract } from "../../../services/kit/contract/contract.ts";
import { refused } from "../support/refused.ts";

test("the subresources of object storage are those of its operations and those declared", () => {
  const names = `
    abac accelerate acl analytics attributes cors delete encryption fork intelligent-tiering inventory legal-hold lifecycle
    location logging metadataConfiguration metadataInventoryTable metadataJournalTable metadataTable metrics
    notification object-lock ownershipControls partNumber policy policyStatus publicAccessBlock renameObject
    replication requestPayment restore retention search searchIndex select session tagging torrent uploadId uploads
    versioning versions website
  `;
  expect([...subresourcesOf(ObjectStorageService)].toSorted()).toEqual(names.trim().split(/\s+/));
});

test("a value or a required parameter next to a subresource is not one itself", () => {
  expect([...subresourcesOf(ShelfService)].toSorted()).toEqual([
    "partNumber",
    "policy",
    "rules",
    "uploadId",
    "uploads",
  ]);
});

test.each([
  // query, method
  ["acl", ObjectStorageService.method.listObjects],
  ["session", ObjectStorageService.method.getObject],
  ["partNumber=1", ObjectStorageService.method.putObject],
  ["policy", undefined],
])("?%s is refused where the method does not use it", (query, method) => {
  const contract = method && methodContract(method);
  const [name = ""] = query.split("=");
  expect(() => refuseOtherSubresources(subresourcesOf(ObjectStorageService), parseQuery(query), contract)).toThrow(
    refused("SUBRESOURCE_NOT_OFFERED", { parameter: name }),
  );
});

test.each([
  // query, method
  ["acl", ObjectStorageService.method.getBucketAcl],
  ["partNumber=1", ObjectStorageService.method.getObject],
  ["partNumber=1&uploadId=a", ObjectStorageService.method.uploadPart],
  ["id=5&x-id=GetObject", ObjectStorageService.method.getObject],
])("?%s is accepted where the method uses it, or it names no subresource", (query, method) => {
  const contract = methodContract(method);
  expect(() =>
    refuseOtherSubresources(subresourcesOf(ObjectStorageService), parseQuery(query), contract),
  ).not.toThrow();
});
