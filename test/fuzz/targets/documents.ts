import { isDeepStrictEqual } from "node:util";

import { create, equals } from "@bufbuild/protobuf";

import { IdentityService } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { SecurityTokenService } from "../../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { bindBody, streamsBody, takesBody } from "../../../gateway/bindings/bind-request.ts";
import type { Codec } from "../../../gateway/codecs/codec.ts";
import { queryCodec } from "../../../gateway/codecs/query.ts";
import * as restJson from "../../../gateway/codecs/rest-json.ts";
import * as restXml from "../../../gateway/codecs/rest-xml.ts";
import { parseXml } from "../../../gateway/codecs/xml-tree.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { apiServices } from "../../../gateway/services.ts";
import { getField } from "../../../gateway/values/scalars.ts";
import type { MethodContract } from "../../../services/kit/contract/contract.ts";
import { methodContract, serviceApi } from "../../../services/kit/contract/contract.ts";
import { parseJson } from "../../../services/kit/json/parse-json.ts";
import { validatorFor } from "../../../services/kit/validation/validate.ts";
import { readFunctionAnswer } from "../../../services/refactoring-workspace/proxy/function-event.ts";
import { MalformedAnswerError } from "../../../services/refactoring-workspace/proxy/function-event.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, parsed, unlessRefused } from "../target.ts";

const spelling = spellingOf(amzDialect);

/** The methods whose requests have a document as their body. */
const methodsOf = (isXml: boolean): MethodContract[] =>
  Object.values(apiServices)
    .filter(({ service }) => (serviceApi(service).protocol === Protocol.REST_XML) === isXml)
    .flatMap(({ service }) => service.methods.map((method) => methodContract(method)))
    .filter((method) => takesBody(method) && !streamsBody(method));

/** Reads a document as the request of the method that the first byte selects. What is read survives a round trip. */
const readRequest = (methods: readonly MethodContract[], codec: Codec, input: Buffer): void => {
  const method = methods[(input[0] ?? 0) % methods.length]!;
  const message = create(method.desc.input);
  const reading = { spelling, violations: [] };
  const isRead = unlessRefused(() => (bindBody(method, message, input.subarray(1), codec, reading), true));
  if (isRead !== true || reading.violations.length > 0) return;
  validatorFor(method.desc.input)(message);
  const { payload } = method.input;
  const value = payload === undefined ? undefined : getField(message, payload.desc);
  if (payload !== undefined && (value === undefined || payload.desc.message === undefined)) return;
  const written =
    payload === undefined
      ? codec.writeMembers(message, method.desc.input, spelling, "request-1")
      : codec.writePayload(payload, value as never, spelling);
  const again = create(method.desc.input);
  bindBody(method, again, written?.body ?? Buffer.alloc(0), codec, { spelling, violations: [] });
  holds(equals(method.desc.input, again, message), `${method.desc.name} differs after it is written and read again`);
};

const jsonMethods = methodsOf(false);
const xmlMethods = methodsOf(true);

const jsonRequest: FuzzTarget = {
  name: "json-request",
  seeds: jsonMethods.map((_method, index) => `${String.fromCharCode(index)}{"Name":"a","Tags":{"a":"b"},"Limit":1}`),
  dictionary: [
    '{"',
    '":',
    "[",
    "]",
    "{}",
    "null",
    "true",
    "1e999",
    "-0",
    "\\u0000",
    "\\ud800",
    "__proto__",
    '"2026-01-01T00:00:00Z"',
  ],
  run: (input) => readRequest(jsonMethods, restJson, input),
};

const xmlRequest: FuzzTarget = {
  name: "xml-request",
  seeds: xmlMethods.map((method, index) => {
    const root = method.input.payload?.wireName ?? method.desc.name;
    return `${String.fromCharCode(index)}<${root}><Rule><ID>a</ID><Status>Enabled</Status></Rule></${root}>`;
  }),
  dictionary: [
    "<",
    "</",
    "/>",
    "]]>",
    "<![CDATA[",
    "&#0;",
    "&amp;",
    "<!DOCTYPE a>",
    "<?xml?>",
    " xmlns:a='b'",
    " xsi:type='Group'",
  ],
  run: (input) => readRequest(xmlMethods, restXml, input),
};

const queryMethods = [...SecurityTokenService.methods, ...IdentityService.methods].map((method) =>
  methodContract(method),
);
const query = queryCodec("https://example.com/doc/");

const queryRequest: FuzzTarget = {
  name: "query-request",
  seeds: queryMethods.map(
    (_method, index) =>
      `${String.fromCharCode(index)}Action=A&RoleArn=arn%3Aaws%3Aiam&Tags.member.1.Key=a&Tags.member.1.Value=b&PolicyArns.member.1.arn=c&DurationSeconds=900`,
  ),
  dictionary: [
    "&",
    "=",
    ".member.",
    ".1",
    ".999999999",
    "Tags",
    "PolicyArns",
    "DurationSeconds=",
    "__proto__",
    "%2E",
    "+",
  ],
  run(input) {
    const { desc } = queryMethods[(input[0] ?? 0) % queryMethods.length]!;
    const message = create(desc.input);
    const isRead = unlessRefused(
      () => (query.readMembers(message, desc.input, input.subarray(1), { spelling, violations: [] }), true),
    );
    if (isRead === true) validatorFor(desc.input)(message);
  },
};

const xml: FuzzTarget = {
  name: "xml",
  seeds: [
    '<?xml version="1.0"?><a b="c"><d>e&amp;</d><![CDATA[f]]><!-- g --></a>',
    "<a xmlns='x'/>",
    "<!DOCTYPE a><a/>",
  ],
  dictionary: [
    "<a>",
    "</a>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&#x41;",
    "&lt;",
    "<?a ?>",
    "<!DOCTYPE",
    "<!ENTITY",
    "xmlns",
  ],
  run(input) {
    unlessRefused(() => parseXml(input.toString("utf8")));
  },
};

const json: FuzzTarget = {
  name: "json",
  seeds: [
    '{"a":[1,2.5e3,true,null,"\\u00e9\\n"],"b":{}}',
    '{"\\u0061":1,"a\\"b":2,"\\ue000":3}',
    "[[[]]]",
    '"\\ud83d\\ude00"',
  ],
  dictionary: ['"', "\\", "\\u0061", "\\ue000", '":', ",", "{}", "[]", "-", "1e", "__proto__", "constructor"],
  run(input) {
    const text = input.toString("utf8");
    const expected = parsed(() => [JSON.parse(text) as unknown], SyntaxError);
    const found = parsed(() => [parseJson(text)], SyntaxError);
    holds((expected === undefined) === (found === undefined), "it is well-formed in one parser only");
    // JSON.parse of this Node reads some names with escapes as other names; without escapes the two are equal.
    if (!text.includes("\\")) holds(isDeepStrictEqual(found, expected), "the value differs from that of JSON.parse");
  },
};

const functionAnswer: FuzzTarget = {
  name: "function-answer",
  seeds: ['{"statusCode":200,"headers":{"a":"b"},"multiValueHeaders":{"c":["d",1]},"body":"e","isBase64Encoded":true}'],
  dictionary: [
    '"statusCode":',
    '"headers":',
    '"multiValueHeaders":',
    '"body":',
    '"isBase64Encoded":true',
    "[]",
    "{}",
    "\\r\\n",
  ],
  run(input) {
    const answer = parsed(() => readFunctionAnswer(input), MalformedAnswerError);
    const isClean = (answer?.headers ?? []).every((text) => !/[\r\n\0]/.test(text));
    holds(isClean, "a header has a line end or a NUL");
  },
};

export const documentTargets = [jsonRequest, xmlRequest, queryRequest, xml, json, functionAnswer];
