import type { DescService } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { presentFields } from "../../../gateway/bindings/present-fields.ts";
import { boundHeaders } from "../../../gateway/bindings/request-headers.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import type { Dialect } from "../../../gateway/dialects/dialect.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { parseQuery } from "../../../gateway/http/query.ts";
import { methodContract } from "../../../services/kit/contract/contract.ts";

interface Sent {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly replaced?: ReadonlyMap<string, string | undefined>;
}

const namesOf = (
  service: DescService,
  operation: string,
  dialect: Dialect,
  { query: raw = "", headers = {}, replaced = new Map() }: Sent,
): readonly string[] => {
  const method = service.methods.find(({ name }) => name === operation);
  if (method === undefined) throw new Error(`there is no ${operation}`);
  const query = parseQuery(raw);
  const spelling = spellingOf(dialect);
  const rawHeaders = Object.entries(headers).flat();
  const bound = boundHeaders({ headers, rawHeaders, query }, spelling, replaced);
  return presentFields(methodContract(method), query, bound, spelling).map(({ wireName }) => wireName);
};

const svc = svcDialect("svc");
const always = ["Bucket", "Key", "Metadata"];

// What is sent of a PutObject | in which dialect | the fields, in the order of their declaration
test.each<[string, Sent, Dialect, readonly string[]]>([
  ["nothing", {}, amzDialect, always],
  [
    "a header of all APIs",
    { headers: { "content-type": "a/b" } },
    amzDialect,
    ["Bucket", "ContentType", "Key", "Metadata"],
  ],
  ["a header that no field has", { headers: { "x-amz-color": "blue" } }, amzDialect, always],
  [
    "headers in another order",
    { headers: { "content-type": "a/b", "content-length": "1", "x-amz-acl": "private" } },
    amzDialect,
    ["Acl", "Bucket", "ContentLength", "ContentType", "Key", "Metadata"],
  ],
  ["the documented spelling", { headers: { "x-svc-acl": "private" } }, svc, ["Acl", ...always]],
  ["the spelling of the other dialect", { headers: { "x-svc-acl": "private" } }, amzDialect, always],
  ["a header of the dialect in the query", { query: "X-Amz-Acl=private" }, amzDialect, ["Acl", ...always]],
  [
    "a header that is sent in both places",
    { query: "x-amz-acl=private", headers: { "x-amz-acl": "private" } },
    amzDialect,
    ["Acl", ...always],
  ],
  [
    "a header that is added",
    { replaced: new Map([["content-length", "1"]]) },
    amzDialect,
    ["Bucket", "ContentLength", "Key", "Metadata"],
  ],
  ["a query that no field has", { query: "x-id=PutObject" }, amzDialect, always],
])("%s", (_what, sent, dialect, names) => {
  expect(namesOf(ObjectStorageService, "PutObject", dialect, sent)).toEqual(names);
});

test("the fields of a request are its own, whatever the one before it had", () => {
  const spelling = spellingOf(amzDialect);
  const method = methodContract(ObjectStorageService.method.putObject);
  const fieldsOf = (headers: Readonly<Record<string, string>>, raw = ""): readonly string[] => {
    const query = parseQuery(raw);
    const bound = boundHeaders({ headers, rawHeaders: Object.entries(headers).flat(), query }, spelling, new Map());
    return presentFields(method, query, bound, spelling).map(({ wireName }) => wireName);
  };
  const type = { "content-type": "a/b" };
  expect([
    fieldsOf(type),
    fieldsOf({ "content-type": "c/d" }),
    fieldsOf({ "content-type": "a/b", "x-amz-acl": "private" }),
    fieldsOf({ "x-amz-acl": "private" }),
    fieldsOf({ "x-amz-acl": "private" }, "x-id=PutObject"),
    fieldsOf(type, "x-amz-acl=private"),
    fieldsOf(type),
  ]).toEqual([
    ["Bucket", "ContentType", "Key", "Metadata"],
    ["Bucket", "ContentType", "Key", "Metadata"],
    ["Acl", "Bucket", "ContentType", "Key", "Metadata"],
    ["Acl", ...always],
    ["Acl", ...always],
    ["Acl", "Bucket", "ContentType", "Key", "Metadata"],
    ["Bucket", "ContentType", "Key", "Metadata"],
  ]);
});

// The query of a call | the operation | the fields
test.each<[string, string, readonly string[]]>([
  ["", "UntagResource", ["ResourceArn"]],
  ["tagKeys=a&tagKeys=b", "UntagResource", ["ResourceArn", "TagKeys"]],
  ["nextToken=a&maxResults=1", "ListEnvironments", ["MaxResults", "NextToken"]],
])("the parameters %s of %s", (query, operation, names) => {
  expect(namesOf(RefactoringWorkspaceService, operation, svc, { query })).toEqual(names);
});
