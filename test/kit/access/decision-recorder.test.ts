import type { DescMethod } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { CustomerProfileService } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { RefactoringWorkspaceService } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { DecisionRecorder } from "../../../services/kit/access/decision-recorder.ts";
import type { AuditEntry, AuditLog } from "../../../services/kit/audit/audit-log.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, userCaller } from "../../../services/kit/identity/caller.ts";

const { deleteObjects, getObject, putObject } = ObjectStorageService.method;
const statement = { side: "identity", policy: 0, statement: 1, sid: "Put" } as const;
const alice = { ...userCaller("000000000000", "alice", []), accessKeyId: "QKIAALICE", sourceIp: "192.0.2.7" };

/** The lines of a call on these resources, decided as given. */
const recordOf = (
  method: DescMethod,
  decisions: ReadonlyArray<readonly [resource: string, isAllowed: boolean]>,
  caller: Caller = alice,
): readonly AuditEntry[] => {
  const entries: AuditEntry[] = [];
  const audit: AuditLog = { record: (entry) => void entries.push(entry) };
  const recorder = new DecisionRecorder({ method, caller, requestId: "r-1", audit });
  for (const [resource, isAllowed] of decisions)
    recorder.record(
      { action: "s3:Act", resource },
      isAllowed,
      isAllowed ? "identity-policy" : "no-allow",
      isAllowed ? statement : undefined,
    );
  recorder.finish();
  return entries;
};

test("an allowed change is recorded with who, what, which resource and the deciding statement", () => {
  expect(recordOf(putObject, [["a", true]])).toEqual([
    {
      requestId: "r-1",
      principal: "arn:aws:iam::000000000000:user/alice",
      accessKeyId: "QKIAALICE",
      sourceIp: "192.0.2.7",
      method: "PutObject",
      action: "s3:Act",
      resource: "a",
      decision: "allowed",
      reason: "identity-policy",
      statement,
    },
  ]);
});

test("a read is recorded only where it is refused", () => {
  expect(recordOf(getObject, [["a", true]])).toEqual([]);
  expect(recordOf(getObject, [["a", false]], anonymousCaller)).toMatchObject([
    { principal: "anonymous", decision: "refused", reason: "no-allow" },
  ]);
});

test("the same decision on the same resource is one line with its count", () => {
  const lines = recordOf(deleteObjects, [
    ["a", true],
    ["a", true],
    ["b", true],
    ["b", false],
    ["b", false],
    ["b", false],
  ]);
  expect(lines.map(({ resource, decision, count }) => [resource, decision, count])).toEqual([
    ["a", "allowed", 2],
    ["b", "allowed", undefined],
    ["b", "refused", 3],
  ]);
});

test("the contract says which methods change something, as their names do", () => {
  const services = [CustomerProfileService, EventBusService, ObjectStorageService, RefactoringWorkspaceService];
  const reads = /^(?:Get|List|Head|Describe|Discover|Explain|Search|Select|Test|Trace)/;
  const odd = services
    .flatMap(({ methods }) => methods)
    .filter((method) => reads.test(method.name) !== (recordOf(method, [["a", true]]).length === 0))
    .map(({ name }) => name);
  expect(odd).toEqual([]);
});
