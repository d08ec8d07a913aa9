import { fromBinary } from "@bufbuild/protobuf";

import { EchoRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { readCloudEvents } from "../../../gateway/cloud-events/read-cloud-events.ts";
import { fromClaims, policiesOf } from "../../../services/kit/identity/token-claims.ts";
import { createVerifier } from "../../../services/kit/identity/tokens.ts";
import { UnauthenticatedError } from "../../../services/kit/identity/unauthenticated-error.ts";
import { hasMoreJsonValues } from "../../../services/kit/json/json-values.ts";
import { parseJson } from "../../../services/kit/json/parse-json.ts";
import { ProtocolError } from "../../../services/kit/wire/protocol-error.ts";
import { refuseManyValues } from "../../../services/kit/wire/request-values.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, outcomeOf, parsed, unlessRefused } from "../target.ts";

/** The values of a document, of which an empty list or object counts twice. */
const valuesOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 1;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, each) => sum + valuesOf(each), inner.length === 0 ? 2 : 1);
};

const jsonValues: FuzzTarget = {
  name: "json-values",
  seeds: ['{"a":[{},[],"x,[",null],"b\\\\":"\\""}', '{"attributes":{"a":"","b":"\\u002c","c":"{"}}', "[[[1,2],3],4]"],
  dictionary: ["{}", "[]", "[[", '":', '\\"', "\\\\", '",', ",", "null", "1e9"],
  run(input) {
    const document = parsed(() => [parseJson(input.toString("utf8"))], SyntaxError);
    if (document === undefined) return;
    const count = valuesOf(document[0]);
    // Members of the same name count each, so there may be more.
    holds(hasMoreJsonValues(input, count - 1), `${count} values are taken for fewer`);
  },
};

/** Messages longer than this are counted. */
const countedBytesMin = 50_001;
const valuesMax = 25_000;

const decodedValues = (bytes: Buffer): number | undefined => {
  const message = parsed(() => fromBinary(EchoRequestSchema, bytes), Error);
  return message && message.labels.length + (message.$unknown?.length ?? 0);
};

const messageValues: FuzzTarget = {
  name: "message-values",
  seeds: ["\x12\0", "\x0a\x01a\x12\x02bc\x18\x05", "\x12\0\x7b\x08\x01\x7c", "\xa0\x06\x01\x12\0"],
  dictionary: ["\x12\0", "\x0a\x01a", "\x18\xff\x01", "\x7b", "\x7c", "\x22\0", "\x25\0\0\0\0", "\x21\0\0\0\0\0\0\0\0"],
  run(input) {
    const once = decodedValues(input);
    // Messages one after the other are one message with the values of all, unless the library has read past an end.
    if (once === undefined || decodedValues(Buffer.concat([input, input])) !== 2 * once) return;
    const times = Math.ceil(countedBytesMin / Math.max(1, input.length));
    const values = times * once;
    const bytes = Buffer.concat(Array.from({ length: times }, () => input));
    const isRefused = parsed(() => [refuseManyValues(EchoRequestSchema, bytes)], ProtocolError) === undefined;
    holds(isRefused || values <= valuesMax, `${values} values are accepted`);
  },
};

const verifier = createVerifier({ publicKeys: new Map(), clock: new FakeClock(), audience: "object-storage" });

const boundedClaims = ["bounded_policies", "bounded_policies_packed", "bounded_policies_digest"];

const claims: FuzzTarget = {
  name: "token-claims",
  seeds: [
    '{"sub":"arn:aws:iam::111111111111:user/alice","account":"111111111111","root":false,"anonymous":false,"policies":["{}"],"source_ip":"10.0.0.1","principal_tags":{"a":"b"},"token_issue_time":1,"session_end":2}',
    '{"sub":"","account":"","root":false,"anonymous":true,"policies":[],"preauthorized":true,"secure_transport":true,"tls_version":"1.3"}',
    '{"sub":"logs.amazonaws.com","account":"","root":false,"anonymous":false,"policies":[],"service":{"name":"logs.amazonaws.com","sourceAccount":"111111111111","sourceArn":"arn:a"}}',
    '{"sub":"a","account":"1","root":true,"anonymous":false,"policies_packed":"H4sI","session_policies_packed":"","transitive_tag_keys":["a"]}',
    '{"sub":"arn:aws:iam::111111111111:user/alice","account":"111111111111","root":false,"anonymous":false,"bounded_policies":["{}","{}"]}',
    '{"sub":"","account":"","root":false,"anonymous":true,"policies":[],"bounded_policies_pacnymous":true,"preauthorized":true}',
    "eyJhbGciOiJFZERTQSIsImtpZCI6ImEifQ.eyJzdWIiOiJhIn0.AAAA",
  ],
  dictionary: [
    '"policies_digest":"',
    '"policies_packed":"',
    '"bounded_policies":[',
    '"bounded_policies_packed":"',
    '"bounded_policies_digest":"',
    '"session_policies":[',
    '"service":{"name":"',
    '"preauthorized":true',
    '"token_borne":true',
    '"anonymous":true',
    '"account":"111111111111"',
    "null",
    ".eyJ",
  ],
  async run(input) {
    const text = input.toString("utf8");
    await outcomeOf(() => verifier.verify(text), UnauthenticatedError);
    const document = parsed(() => parseJson(text), SyntaxError);
    if (typeof document !== "object" || document === null || Array.isArray(document)) return;
    const payload = document as Readonly<Record<string, unknown>>;
    const found = await policiesOf(payload, () => undefined).catch((error: unknown) => {
      holds(error instanceof UnauthenticatedError, `policies are refused by ${String(error)}`);
      return undefined;
    });
    if (found === undefined) return;
    const caller = parsed(() => fromClaims(payload, "gateway", found), UnauthenticatedError);
    if (caller === undefined) return;
    holds(
      caller.isAnonymous || caller.service !== undefined || /^\d{12}$/.test(caller.accountId),
      "who calls has no account",
    );
    const isBounded = boundedClaims.some((name) => payload[name] !== undefined);
    holds(!isBounded || caller.permissionsBoundary !== undefined, "a boundary is lost");
    holds(!caller.isAnonymous || (!caller.isRoot && caller.principalArn === ""), "nobody is somebody");
    holds(
      caller.policies.every((each) => typeof each === "string"),
      "a policy is no text",
    );
  },
};

const contentTypes = ["application/cloudevents+json", "application/cloudevents-batch+json; charset=utf-8"];

const cloudEvent: FuzzTarget = {
  name: "cloud-event",
  seeds: [
    '0{"specversion":"1.0","id":"1","source":"/a","type":"t","time":"2026-01-02T03:04:05.678Z","data":{"a":[1,"]"]}}',
    '1[{"specversion":"1.0","id":"1","source":"/a","type":"t","data_base64":"AAAA"},{"specversion":"1.0","id":"2","source":"/a","type":"t"}]',
    '2ce-id: 1\nce-source: /a%20b\nce-type: "t\\"x"\nce-specversion: 1.0\ncontent-type: application/json\n\n{"a":1}',
    '2ce-id: 1\nce-source: a\nce-type: t\nce-specversion: 1.0\ncontent-type: text/plain\n\n"',
  ],
  dictionary: [
    '"specversion":"1.0"',
    '"data_base64":"',
    '"data":',
    "ce-time: ",
    "%E2%82%AC",
    '\\"',
    "},{",
    "[",
    "]",
    "\n\n",
  ],
  run(input) {
    const isHeaders = input[0] === 0x32;
    const rest = input.subarray(1);
    const end = isHeaders ? Math.max(0, rest.indexOf("\n\n")) : 0;
    const headers = isHeaders
      ? Object.fromEntries(
          rest
            .toString("latin1", 0, end)
            .split("\n")
            .map((line) => line.split(": ", 2))
            .map(([name = "", value = ""]) => [name.toLowerCase(), value]),
        )
      : { "content-type": contentTypes[(input[0] ?? 0) % 2] };
    const body = isHeaders ? rest.subarray(end + 2) : rest;
    const read = unlessRefused(() => readCloudEvents(headers, Buffer.from(body)));
    for (const { id, source, type, timeMs, json } of read?.events ?? []) {
      holds(id !== "" && source !== "" && type !== "", "an event has no name");
      holds(timeMs === undefined || Number.isFinite(timeMs), "an event's time is no instant");
      const event = parseJson(json) as { readonly id?: unknown; readonly source?: unknown; readonly type?: unknown };
      holds(event.id === id && event.source === source && event.type === type, "an event's text is another event's");
    }
  },
};

export const claimTargets = [jsonValues, messageValues, claims, cloudEvent];
