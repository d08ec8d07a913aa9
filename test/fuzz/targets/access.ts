import { parseArn, arn } from "../../../services/kit/arn/arn.ts";
import { createPageTokens } from "../../../services/kit/page-tokens/page-tokens.ts";
import { parsePolicy, PolicyError } from "../../../services/kit/policy/document.ts";
import { evaluate } from "../../../services/kit/policy/evaluate.ts";
import { parseTrace, formatTraceparent } from "../../../services/kit/trace/trace-context.ts";
import { parseCopyRange, parseRange } from "../../../services/object-storage/domain/byte-range.ts";
import { parseCopySource } from "../../../services/object-storage/domain/copy-source.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, parsed, unlessRefused } from "../target.ts";

const request = {
  requester: {
    accountId: "111111111111",
    principalArn: "arn:aws:iam::111111111111:user/alice",
    isRoot: false,
    isAnonymous: false,
  },
  action: "s3:GetObject",
  resource: "arn:aws:s3:::photos/cat.jpg",
  ownerAccountId: "111111111111",
  context: new Map([["aws:sourceip", ["10.0.0.1"]]]),
};

const policy: FuzzTarget = {
  name: "policy",
  seeds: [
    '{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":["*","111111111111"]},"Action":"s3:Get*","Resource":"arn:aws:s3:::photos/*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"StringLike":{"aws:username":["a*"]}}}]}',
    '{"Statement":{"Effect":"Deny","NotAction":["s3:*"],"NotResource":"*","Condition":{"NumericLessThanIfExists":{"s3:max-keys":"10"},"DateGreaterThan":{"aws:CurrentTime":"2026-01-01T00:00:00Z"},"Bool":{"aws:SecureTransport":"false"}}}}',
  ],
  dictionary: [
    '"Statement":',
    '"Effect":"Allow"',
    '"Action":"*"',
    '"Principal":"*"',
    '"Resource":"*"',
    '"Condition":{',
    '"Null":{',
    "ForAllValues:",
    "IfExists",
    "${aws:username}",
    "*?*?*",
    "::/0",
    "[]",
    "{}",
  ],
  run(input) {
    const text = input.toString("utf8");
    for (const principals of ["required", "forbidden"] as const) {
      const found = parsed(() => parsePolicy(text, { principals, bytesMax: 20_480 }), PolicyError);
      if (found === undefined) continue;
      const set = principals === "required" ? { identity: [], resource: [found] } : { identity: [found], resource: [] };
      const decision = evaluate(request, set);
      const mayAllow = found.statements.some(({ effect }) => effect === "Allow");
      holds(mayAllow || !decision.isAllowed, "a policy without an allowing statement allows");
    }
  },
};

const tokens = createPageTokens({ key: new Uint8Array(32).fill(7), clock: new FakeClock(), lifetimeMs: 1_000_000 });
const binding = { caller: "111111111111", operation: "ListThings", filters: ["a", ""] };
const sealed = [tokens.seal(binding, "position"), tokens.seal(binding, ""), tokens.seal(binding, "é/\0")];

const pageToken: FuzzTarget = {
  name: "page-token",
  seeds: ["AQ==", `AQ${"A".repeat(62)}`, "!", ""],
  dictionary: ["AQ", "=", "==", "A", "/", "+", "\n"],
  run(input) {
    const text = input.toString("latin1");
    holds(tokens.open(binding, text) === undefined, "a token that was never sealed is opened");
    const at = (input[0] ?? 0) % 100;
    for (const token of sealed) {
      const changed = token.slice(0, at) + text + token.slice(at + text.length);
      holds(changed === token || tokens.open(binding, changed) === undefined, "a changed token is opened");
    }
  },
};

const header: FuzzTarget = {
  name: "header",
  seeds: [
    "bytes=0-9",
    "bytes=-5",
    "/photos/a%20b?versionId=null",
    "arn:aws:s3:::photos",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  ],
  dictionary: [
    "bytes=",
    "-",
    ",",
    "arn:",
    ":",
    "?versionId=",
    "%2F",
    "+",
    "00-",
    "9007199254740993",
    "arn:aws:s3:us-east-1:111111111111:accesspoint/",
  ],
  run(input) {
    const text = input.toString("latin1");
    const range = parseRange(text, 100);
    if (range.kind === "range")
      holds(
        range.offsetBytes >= 0 && range.lengthBytes > 0 && range.offsetBytes + range.lengthBytes <= 100,
        "a range is outside of its content",
      );
    parseCopyRange(text);
    const source = unlessRefused(() => parseCopySource(text));
    holds(source === undefined || (source.bucket !== "" && source.key !== ""), "a copy source names nothing");
    const parts = parseArn(text);
    holds(parts === undefined || arn(parts) === text, "a resource name differs after it is written again");
    const trace = parseTrace(text, text);
    holds(trace === undefined || formatTraceparent(trace).length === 55, "a trace is not written as it is read");
  },
};

export const accessTargets = [policy, pageToken, header];
