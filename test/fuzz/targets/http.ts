import { parseQuery } from "../../../gateway/http/query.ts";
import { readForm } from "../../../gateway/forms/read-form.ts";
import { boundaryOf } from "../../../gateway/forms/multipart-reader.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import {
  doubleEncodedPath,
  indexHeaders,
  isItsOwnCanonicalPath,
  singleEncodedPath,
} from "../../../gateway/signature/canonical.ts";
import { ChunkDecoder } from "../../../gateway/signature/chunk-decoder.ts";
import { readClaim } from "../../../gateway/signature/claim.ts";
import { checkFormPolicy, parseFormPolicy } from "../../../gateway/signature/form-policy.ts";
import { readVersionTwo, readVersionTwoHeader } from "../../../gateway/signature/version-two.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import {
  parseRequestPath,
  parseRequestTarget,
  UnsafePathError,
} from "../../../services/refactoring-workspace/proxy/request-path.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, outcomeOf, parsed, piecesOf, unlessRefused } from "../target.ts";

const brands = [amzDialect.signature, svcDialect("svc").signature];

const requestTarget: FuzzTarget = {
  name: "request-target",
  seeds: ["/photos/a%20b/c?versionId=1", "http://host/a/../b?x", "/a;x/%2e%2e/b", "*", "/é%c3%a9//."],
  dictionary: ["%2e", "%2F", "..", "//", "/./", "\\", "%00", "?", "#", "http://", ";", "%c3%a9", "%zz"],
  run(input) {
    const text = input.toString("latin1");
    const target = parsed(() => parseRequestTarget(text), UnsafePathError);
    const path = target && parsed(() => parseRequestPath(target.path), UnsafePathError);
    for (const segment of path?.decoded ?? [])
      holds(
        !segment.split(/[/\\]/).includes("..") && !segment.includes("\0"),
        "a safe path has a dot segment or a NUL",
      );
    const single = singleEncodedPath(text);
    holds(singleEncodedPath(single) === single, "the canonical path of a canonical path differs from it");
    doubleEncodedPath(text);
    isItsOwnCanonicalPath(text);
  },
};

const query: FuzzTarget = {
  name: "query",
  seeds: ["prefix=a&prefix=b", "a=%20+%2B&b", "&&=&==", "list-type=2&delimiter=%2F", "k=é"],
  dictionary: ["&", "=", "%", "+", "%2B", "%26", "%c3%a9", "%ff", "prefix", "X-Amz-Signature"],
  run(input) {
    const found = unlessRefused(() => parseQuery(input.toString("latin1")));
    const written = found?.all.map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    if (found === undefined || written === undefined) return;
    const again = parseQuery(written.join("&"));
    const texts = (list: typeof found.all): string => JSON.stringify(list.map(({ name, value }) => [name, value]));
    holds(texts(again.all) === texts(found.all), "the parameters differ after they are written and parsed again");
  },
};

const claims = [
  "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=",
  "SVC4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/svc4_request,SignedHeaders=host,Signature=00",
  "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=A%2F20260101%2Fr%2Fs3%2Faws4_request&X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=0",
];

const signatureClaim: FuzzTarget = {
  name: "signature-claim",
  seeds: [...claims, "AWS4-ECDSA-P256-SHA256 Credential=A/20260101/s3/aws4_request, SignedHeaders=host, Signature=0"],
  dictionary: [...claims, "Credential=", "SignedHeaders=", "Signature=", ", ", "/", ";", "604800", "X-Amz-Expires="],
  run(input) {
    const text = input.toString("latin1");
    const isQuery = text.startsWith("?");
    const parameters = isQuery ? unlessRefused(() => parseQuery(text.slice(1))) : parseQuery("");
    const headers = indexHeaders(isQuery ? [] : ["authorization", text]);
    if (parameters === undefined) return;
    for (const brand of brands) {
      const claim = unlessRefused(() => readClaim(headers, parameters.all, brand));
      if (claim === undefined) continue;
      holds((claim.expiresSeconds ?? 0) <= 604_800, "a claim is valid for more than a week");
      holds(claim.signedHeaders.length > 0, "a claim signs no header");
    }
  },
};

const versionTwoClaim: FuzzTarget = {
  name: "version-two-claim",
  seeds: [
    "AWSAccessKeyId=AKID&Expires=1700000000&Signature=abc%3D",
    "SVCAccessKeyId=A&Expires=1&Signature=x&prefix=y",
    "AWS AKID:c2ln",
  ],
  dictionary: ["AWSAccessKeyId=", "Signature=", "Expires=", "&", "versionId", "response-content-type="],
  run(input) {
    const text = input.toString("latin1");
    const parameters = unlessRefused(() => parseQuery(text));
    for (const brand of brands) {
      const header = unlessRefused(() => readVersionTwoHeader(indexHeaders(["authorization", text]), brand));
      holds(header === undefined || !header.accessKeyId.includes(":"), "a header names more than a key");
      if (parameters === undefined) continue;
      const claim = unlessRefused(() => readVersionTwo(parameters.all, brand));
      holds(claim === undefined || Number.isSafeInteger(Number(claim.expires)), "the end of a claim is not an instant");
    }
  },
};

const chunked = (hasTrailer: boolean) =>
  ({
    kind: "chunked",
    decodedLength: 12,
    hasTrailer,
    trailerNames: ["x-amz-checksum-crc32"],
    chain: undefined,
  }) as const;

const chunkedBody: FuzzTarget = {
  name: "chunked-body",
  seeds: [
    "c\r\nhello, world\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n",
    "c;chunk-signature=00\r\nhello, world\r\n0;chunk-signature=00\r\n\r\n",
    "0\r\n\r\n",
  ],
  dictionary: ["\r\n", "0\r\n", ";chunk-signature=", "x-amz-checksum-crc32:", "ffffffff\r\n", "-1", "2000\r\n"],
  async run(input) {
    for (const hasTrailer of [true, false]) {
      const decode = (pieces: readonly Buffer[]) => (): unknown => {
        const trailers = new Map<string, string>();
        const decoder = new ChunkDecoder(chunked(hasTrailer), trailers);
        const parts = pieces.flatMap((piece) => [...decoder.take(piece)].map((part) => Buffer.from(part)));
        decoder.end();
        return [Buffer.concat(parts).toString("latin1"), ...trailers];
      };
      const whole = await outcomeOf(decode([input]), ServiceError);
      const inPieces = await outcomeOf(decode(piecesOf(input)), ServiceError);
      holds(whole === inPieces, `in pieces the body is ${inPieces} and not ${whole}`);
    }
  },
};

async function* stream(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

const form: FuzzTarget = {
  name: "form",
  seeds: [
    '--fuzz\r\nContent-Disposition: form-data; name="key"\r\n\r\ncat\r\n--fuzz\r\nContent-Disposition: form-data; name="file"; filename="a\\b/c"\r\n\r\nmeow\r\n--fuzz--\r\n',
    "--fuzz\r\ncontent-disposition:form-data;name=file\r\n\r\n\r\n--fuzz--",
  ],
  dictionary: [
    "--fuzz",
    "\r\n",
    "\r\n\r\n",
    'name="file"',
    'filename="',
    "Content-Disposition: form-data; ",
    "--",
    '\\"',
  ],
  async run(input) {
    boundaryOf(input.toString("latin1", 0, 200));
    const read = (pieces: readonly Buffer[]) => async (): Promise<unknown> => {
      const { fields, fileName, file } = await readForm(stream(pieces), "fuzz");
      const content: Uint8Array[] = [];
      for await (const piece of file) content.push(piece);
      return [...fields, fileName, Buffer.concat(content).toString("latin1")];
    };
    const whole = await outcomeOf(read([input]), ServiceError);
    const inPieces = await outcomeOf(read(piecesOf(input)), ServiceError);
    holds(whole === inPieces, `in pieces the form is ${inPieces} and not ${whole}`);
  },
};

const formPolicy: FuzzTarget = {
  name: "form-policy",
  seeds: [
    '{"expiration":"2030-01-01T00:00:00Z","conditions":[["eq","$key","a"],{"acl":"private"},["starts-with","$x",""],["content-length-range",1,10]]}',
  ],
  dictionary: ['"expiration":', '"conditions":', '["eq","$', '["content-length-range",', "1e999", "{}", "[]", "null"],
  run(input) {
    const policy = unlessRefused(() => parseFormPolicy(input.toString("base64")));
    if (policy === undefined) return;
    const sizes = unlessRefused(() => checkFormPolicy(policy, new Map([["key", "a"]]), ["x-amz-signature"], 0));
    holds(
      sizes === undefined || !Number.isNaN(sizes.bytesMax - sizes.bytesMin),
      "the sizes of a policy are no numbers",
    );
  },
};

export const httpTargets = [requestTarget, query, signatureClaim, versionTwoClaim, chunkedBody, form, formPolicy];
