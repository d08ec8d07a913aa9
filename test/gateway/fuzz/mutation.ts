import { deadUrl } from "./message-grammar.ts";
import type { Random } from "./random.ts";
import type { Draft } from "./request-grammar.ts";

const tokens = [
  "{", "}", "[", "]", '"', ",", ":", "null", "true", "1e999", "-0", "9".repeat(40), "\\u0000", "\\ud800", "__proto__",
  "<", ">", "</", "/>", "]]>", "<![CDATA[", "&#0;", "&amp;", "&x;", "<!DOCTYPE a>", "<?xml?>", " xmlns:a='b'",
  "\u0000", "\u00ff\u00fe", "\r\n", "0\r\n\r\n", "é", "ffffffff", ";", "%", "+", "..",
]; // prettier-ignore
const oddTexts = [
  "",
  " ",
  "%",
  "%FF",
  "%00",
  "\u00ff",
  "-1",
  "0",
  "9".repeat(30),
  "null",
  "..",
  "__proto__",
  "x".repeat(9_000),
  ",,",
  "a=b",
];
const oddQuery: [string, string][] = [
  ["x-id", "GetObject"],
  ["uploads", ""],
  ["acl", ""],
  ["tagging", ""],
  ["versionId", "null"],
  ["list-type", "2"],
  ["partNumber", "1"],
  ["__proto__", "1"],
  ["X-Amz-Expires", "1"],
  ["x-amz-meta-a", "b"],
  ["response-content-type", "a/b"],
];
export const oddHeaders: [string, string][] = [
  ["content-type", "multipart/form-data"],
  ["content-encoding", "aws-chunked,,gzip"],
  ["content-md5", "==="],
  ["x-amz-meta-__proto__", "a"],
  ["x-svc-revision", "B"],
  ["x-amz-checksum-crc32", "AAAAAA=="],
  ["x-amz-decoded-content-length", "99999999999999999999"],
  ["x-amz-acl", "public-read"],
  ["range", "bytes=1-0"],
  ["if-none-match", "*"],
  ["if-modified-since", "yesterday"],
  ["origin", "https://a.example"],
  ["expect", "100-continue"],
  ["x-amz-date", "20261301T000000Z"],
  ["traceparent", "00-0-0-0"],
];
const oddPaths = [
  "/",
  "//",
  "/%",
  "/%2F",
  "/..",
  "/fuzz-photos/..",
  "/event-bus",
  "/customer-profile/",
  "/%C3%A9",
  `/${"a/".repeat(200)}`,
];

/** Bytes with a few places flipped, cut out, doubled or filled with a token of some grammar. */
export const mutateBytes = (bytes: Buffer, random: Random): Buffer => {
  let text = bytes.toString("latin1");
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    const at = random.below(text.length + 1);
    const end = Math.min(text.length, at + random.below(12));
    const kind = random.below(6);
    if (kind === 0) text = text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1);
    else if (kind === 1) text = text.slice(0, at) + text.slice(end);
    else if (kind === 2) text = text.slice(0, at) + text.slice(at, end) + text.slice(at);
    else if (kind === 3) text = text.slice(0, at);
    else text = text.slice(0, at) + random.one(tokens) + text.slice(kind === 4 ? at : end);
  }
  return namesOnlyDeadUrls(text) ? Buffer.from(text, "latin1") : bytes;
};

/** No mutation may turn an address into another one, because services send requests to the addresses they are told. */
const namesOnlyDeadUrls = (text: string): boolean =>
  !/https?/i.test(harmless.reduce((rest, words) => rest.replaceAll(words, ""), text));

const harmless = [
  deadUrl,
  " HTTP/1.1",
  'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"',
];

/** Changes one part of a request before it is signed. */
export const mutateDraft = (draft: Draft, random: Random): void => {
  const entryOf = <T>(list: readonly T[]): number => random.below(Math.max(1, list.length));
  switch (random.below(9)) {
    case 0:
      draft.method = random.one(["GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS", "TRACE"]);
      return;
    case 1:
      draft.path = random.chance(50) ? random.one(oddPaths) : mutatePath(draft.path, random);
      return;
    case 2:
      draft.query.push(random.one(oddQuery));
      return;
    case 3:
      if (random.chance(50)) draft.query.splice(entryOf(draft.query), 1);
      else draft.query.splice(entryOf(draft.query), 1, [draft.query[0]?.[0] ?? "a", random.one(oddTexts)]);
      return;
    case 4: {
      const [name, value] = random.one(oddHeaders);
      draft.headers[name] = value;
      return;
    }
    case 5: {
      const name = random.one([...Object.keys(draft.headers), "x-amz-meta-odd"]);
      draft.headers[name] = random.one(oddTexts).replaceAll(/[^\x21-\x7e]/g, "?");
      return;
    }
    default:
      if (!draft.isContent) draft.body = mutateBytes(draft.body, random);
  }
};

const mutatePath = (path: string, random: Random): string =>
  `/${mutateBytes(Buffer.from(path.slice(1), "latin1"), random)
    .toString("latin1")
    .replaceAll(/[^\x21-\x7e]|[?#]/g, "%20")}`;
