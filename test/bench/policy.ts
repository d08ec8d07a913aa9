import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { pino } from "pino";

import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { AccessCall } from "../../services/kit/access/decide.ts";
import { decideCall } from "../../services/kit/access/decide.ts";
import { AuditFiles } from "../../services/kit/audit/audit-log.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { userCaller } from "../../services/kit/identity/caller.ts";
import type { PolicyRequest } from "../../services/kit/policy/compiled.ts";
import type { Policy } from "../../services/kit/policy/document.ts";
import { parsePolicy } from "../../services/kit/policy/document.ts";
import { evaluate } from "../../services/kit/policy/evaluate.ts";
import { spellingOf } from "../../services/kit/policy/spelling.ts";
import { rules as objectStorageRules } from "../../services/object-storage/access/rules.ts";
import type { BenchGroup } from "./bench.ts";

const decisions = 200_000;
const spelling = spellingOf({ public: "s3", documented: "object-storage" });

/** Statements with three actions, two resources and two conditions each; the last one allows. */
const policyOf = (statements: number): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: Array.from({ length: statements }, (_, index) => ({
      Sid: `Statement${index}`,
      Effect: index % 5 === 4 && index < statements - 1 ? "Deny" : "Allow",
      Action: index === statements - 1 ? "s3:*" : ["s3:GetObject", "s3:List*", `s3:PutObjectVersion${index}`],
      Resource: [
        `arn:aws:s3:::bucket-${index}/*`,
        `arn:aws:s3:::bucket-${index === statements - 1 ? 7 : index}/private/*`,
      ],
      Condition: {
        IpAddress: { "aws:SourceIp": ["10.0.0.0/8", "192.0.2.0/24"] },
        StringNotLike: { "aws:username": ["guest-*", "test-?"] },
      },
    })),
  });
const text = policyOf(20);
const rules = { principals: "forbidden", bytesMax: 64 * 1024 } as const;

const request: PolicyRequest = {
  requester: {
    accountId: "111122223333",
    principalArn: "arn:aws:iam::111122223333:user/alice",
    isRoot: false,
    isAnonymous: false,
  },
  action: "s3:GetObject",
  resource: "arn:aws:s3:::bucket-7/private/letters/2026/a.txt",
  ownerAccountId: "111122223333",
  context: new Map([
    ["aws:sourceip", ["192.0.2.17"]],
    ["aws:username", ["alice"]],
  ]),
};

/** Microseconds of CPU for one run. */
const cost = (runs: number, run: () => void): number => {
  for (let count = 0; count < runs / 10; count++) run();
  const before = process.cpuUsage();
  for (let count = 0; count < runs; count++) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / runs;
};

/** The same by a session of a role: five of the statements are of its session policy. */
const sessionRequest: PolicyRequest = {
  ...request,
  requester: { ...request.requester, principalArn: "arn:aws:sts::111122223333:assumed-role/reader/nightly" },
};

/** What a decision over 20 statements may cost, in microseconds of CPU. */
const decisionMax = 10;

/** Microseconds of CPU for deciding a call: its questions by the contract, its conditions, and its user's policies. */
const callCost = async (): Promise<number> => {
  const { getObject } = ObjectStorageService.method;
  const { accountId, principalArn } = request.requester;
  const call: AccessCall = {
    app: { clock: systemClock },
    method: getObject,
    caller: { ...userCaller(accountId, "alice", [text]), sourceIp: "192.0.2.17" },
    log: pino({ level: "silent" }),
  };
  const message = create(getObject.input, { bucket: "bucket-7", key: "private/letters/2026/a.txt" });
  const resource = { arn: request.resource, ownerAccountId: accountId };
  const decide = async (): Promise<void> => {
    const { refusedElements } = await decideCall(objectStorageRules, call, message, async () => resource);
    if (refusedElements.size > 0) throw new Error(`${principalArn} was refused`);
  };
  for (let count = 0; count < decisions / 40; count++) await decide();
  const before = process.cpuUsage();
  for (let count = 0; count < decisions / 4; count++) await decide();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (decisions / 4);
};

/** Microseconds of CPU for one line of the audit log, with what the writing thread costs. */
const auditCost = async (directory: string): Promise<number> => {
  const log = pino({ level: "silent" });
  const audit = new AuditFiles({ directory, fileBytesMax: 64 * 1024 * 1024, filesMax: 2, clock: systemClock, log });
  const { principalArn: principal } = request.requester;
  const who = { requestId: "0f8e6a1c-6d3d-4d0f-9a51-9e3a3a0d1b11", principal, sourceIp: "192.0.2.17" };
  const statement = { side: "identity", policy: 0, statement: 19, sid: "Statement19" };
  const { action, resource } = request;
  const what = { method: "PutObject", action, resource, decision: "allowed", reason: "identity-policy", statement };
  const lines = 100_000;
  const before = process.cpuUsage();
  for (let written = 0; written < lines; written += 20) {
    for (let count = 0; count < 20; count++) audit.record({ ...who, ...what, decision: "allowed" });
    if (written % 2_000 === 0) await audit.flush();
  }
  await audit.flush();
  const { user, system } = process.cpuUsage(before);
  audit.close();
  return (user + system) / lines;
};

/** One decision over twenty statements, compiled, compared with reading the policy's text. */
export const group: BenchGroup = {
  name: "policy",
  run: async () => {
    const identity: Policy[] = [parsePolicy(text, rules)];
    const decided = cost(decisions, () => {
      if (!evaluate(request, { identity, resource: [] }, spelling).isAllowed) throw new Error("refused");
    });
    const role: Policy[] = [parsePolicy(policyOf(15), rules)];
    const session: Policy[] = [parsePolicy(policyOf(5), rules)];
    const narrowed = cost(decisions, () => {
      if (!evaluate(sessionRequest, { identity: role, session, resource: [] }, spelling).isAllowed)
        throw new Error("refused");
    });
    const directory = await mkdtemp(join(tmpdir(), "quartet-bench-audit-"));
    const recorded = await auditCost(directory);
    await rm(directory, { recursive: true });
    const read = cost(decisions / 20, () => JSON.parse(text));
    const called = await callCost();
    return [
      {
        what: "a call decided by 20 statements, CPU",
        value: called,
        unit: "µs",
        baseline: { what: "µs at most", value: decisionMax },
        ratio: decisionMax / called,
        target: 1,
      },
      {
        what: "a decision over 20 statements, CPU",
        value: decided,
        unit: "µs",
        baseline: { what: "JSON.parse of the policy", value: read },
        ratio: read / decided,
        target: 1,
      },
      {
        what: "a decision over 20 statements, 5 of a session policy, CPU",
        value: narrowed,
        unit: "µs",
        baseline: { what: "JSON.parse of a policy of 20", value: read },
        ratio: read / narrowed,
        target: 1,
      },
      {
        what: "a line of the audit log, written, CPU",
        value: recorded,
        unit: "µs",
        baseline: { what: "JSON.parse of the policy", value: read },
        ratio: read / recorded,
        target: 1,
      },
    ];
  },
};
