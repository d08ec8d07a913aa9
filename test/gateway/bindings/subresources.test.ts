import { expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ShelfService } from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import { refuseOtherSubresources, subresourcesOf } from "../../../gateway/bindings/subresources.ts";
import { parseQuery } from "../../../gateway/http/query.ts";
import { methodContract } from "../../../services/kit/contract/contract.ts";
import { refused } from "../support/refused.ts";

test("the subresources of object storage are those of its operations and those declared", () => {
  const names = `
    abac accelerate acl analytics annotation attributes cors delete encryption fork intelligent-tiering inventory
    legal-hold lifecycle location logging metadataAnnotationTable metadataConfiguration metadataInventoryTable
    metadataJournalTable metadataTable metrics notification object-lock ownershipControls partNumber policy policyStatus
    publicAccessBlock renameObject replica replication requestPayment restore retention search searchIndex select session tagging
    torrent uploadId uploads versioning versions website
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
  // HTTP method, query, method
  ["GET", "acl", ObjectStorageService.method.listObjects],
  ["GET", "session", ObjectStorageService.method.getObject],
  ["GET", "annotation&annotationName=a", ObjectStorageService.method.getObject],
  ["PUT", "annotation&annotationName=a", ObjectStorageService.method.putObject],
  ["PUT", "partNumber=1", ObjectStorageService.method.putObject],
  ["GET", "policy", undefined],
  ["PUT", "younger", ObjectStorageService.method.putObject],
  ["DELETE", "younger=", ObjectStorageService.method.deleteObject],
  ["POST", "younger&uploads", ObjectStorageService.method.createMultipartUpload],
])("%s ?%s is refused where the method does not use it", (httpMethod, query, method) => {
  const contract = method && methodContract(method);
  const [name = ""] = query.split(/[=&]/);
  expect(() =>
    refuseOtherSubresources(subresourcesOf(ObjectStorageService), parseQuery(query), httpMethod, contract),
  ).toThrow(refused("SUBRESOURCE_NOT_OFFERED", { parameter: name }));
});

test.each([
  // HTTP method, query, method
  ["GET", "acl", ObjectStorageService.method.getBucketAcl],
  ["GET", "partNumber=1", ObjectStorageService.method.getObject],
  ["PUT", "partNumber=1&uploadId=a", ObjectStorageService.method.uploadPart],
  ["GET", "id=5&x-id=GetObject", ObjectStorageService.method.getObject],
  ["GET", "20261122", ObjectStorageService.method.getObject],
  ["HEAD", "20261122", ObjectStorageService.method.headObject],
  ["DELETE", "versionId=", ObjectStorageService.method.deleteObject],
  ["PUT", "X-Amz-Security-Token=&x-id", ObjectStorageService.method.putObject],
  ["PUT", "cached=no", ObjectStorageService.method.putObject],
])("%s ?%s is accepted where the method uses it, or it names no subresource", (httpMethod, query, method) => {
  const contract = methodContract(method);
  expect(() =>
    refuseOtherSubresources(subresourcesOf(ObjectStorageService), parseQuery(query), httpMethod, contract),
  ).not.toThrow();
});
