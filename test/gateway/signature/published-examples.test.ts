/** Requests and signatures that the public service's documentation gives. They owe nothing to our own signer. */
import { describe, expect, test } from "vitest";

import { parseQuery } from "../../../gateway/http/query.ts";
import { decodeBody } from "../../../gateway/signature/decode-body.ts";
import { verifyRequest } from "./verify-request.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { refused } from "../support/refused.ts";
import { amz } from "./brands.ts";
import type { ReceivedRequest } from "./signer.ts";
import { emptyHash, exampleTime, verifyExample } from "./signer.ts";

const authorization = (names: string, signature: string): string =>
  `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${signature}`;

const collect = async (body: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.concat(await Array.fromAsync(body));

const chunk = (size: number, signature: string): string =>
  `${size.toString(16)};chunk-signature=${signature}\r\n${"a".repeat(size)}`;

const verifyGeneral = ({ rawQuery = "", ...request }: Partial<ReceivedRequest>) =>
  verifyRequest({
    method: "GET",
    rawPath: "/",
    query: parseQuery(rawQuery),
    rawHeaders: [],
    brand: amz,
    accessKeys: fixedAccessKeys([
      {
        accessKeyId: "AKIDEXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        accountId: "123456789012",
        policies: [],
      },
    ]),
    clock: new FakeClock(Date.UTC(2015, 7, 30, 12, 36)),
    signingNames: ["service", "iam"],
    region: "us-east-1",
    doubleEncodePath: true,
    body: Buffer.alloc(0),
    ...request,
  });
const signed = (service: string, names: string, signature: string): string =>
  `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/${service}/aws4_request, SignedHeaders=${names}, Signature=${signature}`;

describe("a request signed by header", () => {
  const plain = [
    "Host",
    "examplebucket.s3.amazonaws.com",
    "x-amz-content-sha256",
    emptyHash,
    "x-amz-date",
    exampleTime,
  ];
  const welcomeHash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";

  test.for<[string, Partial<ReceivedRequest>]>([
    [
      "gets an object",
      {
        rawHeaders: [
          ...plain,
          "Range",
          "bytes=0-9",
          "Authorization",
          authorization(
            "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
          ),
        ],
      },
    ],
    [
      "puts an object",
      {
        method: "PUT",
        rawPath: "/test$file.text",
        rawHeaders: [
          "Host",
          "examplebucket.s3.amazonaws.com",
          "Date",
          "Fri, 24 May 2013 00:00:00 GMT",
          "x-amz-date",
          exampleTime,
          "x-amz-storage-class",
          "REDUCED_REDUNDANCY",
          "x-amz-content-sha256",
          welcomeHash,
          "Authorization",
          authorization(
            "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
          ),
        ],
      },
    ],
    [
      "gets a bucket's lifecycle",
      {
        rawPath: "/",
        rawQuery: "lifecycle",
        rawHeaders: [
          ...plain,
          "Authorization",
          authorization(
            "host;x-amz-content-sha256;x-amz-date",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
          ),
        ],
      },
    ],
    [
      "lists a bucket",
      {
        rawPath: "/",
        rawQuery: "max-keys=2&prefix=J",
        rawHeaders: [
          ...plain,
          "Authorization",
          authorization(
            "host;x-amz-content-sha256;x-amz-date",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
          ),
        ],
      },
    ],
  ])("%s", ([, request]) => {
    expect(verifyExample(request)).toMatchObject({
      form: "header",
      caller: { accountId: "123456789012", isRoot: true },
    });
  });
});

test("a presigned request gets an object", () => {
  const rawQuery =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
    "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host" +
    "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
  const verified = verifyExample({ rawQuery, rawHeaders: ["Host", "examplebucket.s3.amazonaws.com"] });
  expect(verified).toMatchObject({ form: "presigned", payload: { kind: "plain" }, signedHeaders: ["host"] });
});

describe("a body in signed chunks", () => {
  const common = [
    "Host",
    "s3.amazonaws.com",
    "x-amz-date",
    exampleTime,
    "x-amz-storage-class",
    "REDUCED_REDUNDANCY",
    "x-amz-decoded-content-length",
    "66560",
    "Content-Encoding",
    "aws-chunked",
  ];
  const put = { method: "PUT", rawPath: "/examplebucket/chunkObject.txt" };

  test("is taken apart", async () => {
    const { payload } = verifyExample({
      ...put,
      rawHeaders: [
        ...common,
        "Content-Length",
        "66824",
        "x-amz-content-sha256",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "Authorization",
        authorization(
          "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class",
          "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
        ),
      ],
    });
    const wire = Buffer.from(
      `${chunk(65536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648")}\r\n` +
        `${chunk(1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497")}\r\n` +
        `${chunk(0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9")}\r\n`,
    );
    expect(wire).toHaveLength(66824);
    expect((await collect(decodeBody(payload, streamOf(wire)))).equals(Buffer.alloc(66560, "a"))).toBe(true);
  });

  test("hands out its trailer", async () => {
    const { payload } = verifyExample({
      ...put,
      rawHeaders: [
        ...common,
        "x-amz-content-sha256",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
        "x-amz-trailer",
        "x-amz-checksum-crc32c",
        "Authorization",
        authorization(
          "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer",
          "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
        ),
      ],
    });
    const wire = Buffer.from(
      `${chunk(65536, "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2")}\r\n` +
        `${chunk(1024, "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7")}\r\n` +
        chunk(0, "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992") +
        "x-amz-checksum-crc32c:sOO8/Q==\r\n" +
        "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
    );
    const body = decodeBody(payload, streamOf(wire));
    expect(await collect(body)).toHaveLength(66560);
    expect([...body.trailers]).toEqual([["x-amz-checksum-crc32c", "sOO8/Q=="]]);
  });
});

describe("a request to an API that does not declare the body's hash", () => {
  // path, query, service, headers, names, signature
  test.for([
    [
      "/",
      "",
      "service",
      ["Host", "example.amazonaws.com"],
      "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "/",
      "Action=ListUsers&Version=2010-05-08",
      "iam",
      ["Host", "iam.amazonaws.com", "Content-Type", "application/x-www-form-urlencoded; charset=utf-8"],
      "content-type;host;x-amz-date",
      "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
    ],
    [
      "/./",
      "",
      "service",
      ["Host", "example.amazonaws.com"],
      "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "/example/..",
      "",
      "service",
      ["Host", "example.amazonaws.com"],
      "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "/",
      "Param2=value2&Param1=value1",
      "service",
      ["Host", "example.amazonaws.com"],
      "host;x-amz-date",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
  ] as const)("GET %s?%s of %s", ([rawPath, rawQuery, service, headers, names, signature]) => {
    const rawHeaders = [
      ...headers,
      "X-Amz-Date",
      "20150830T123600Z",
      "Authorization",
      signed(service, names, signature),
    ];
    expect(verifyGeneral({ rawPath, rawQuery, rawHeaders })).toMatchObject({
      form: "header",
      payload: { kind: "plain" },
    });
    // The hash of the body is signed without being declared.
    const other = { rawPath, rawQuery, rawHeaders, body: Buffer.from("another body") };
    expect(() => verifyGeneral(other)).toThrow(refused("SIGNATURE_MISMATCH"));
  });
});

async function* streamOf(wire: Uint8Array): AsyncGenerator<Uint8Array> {
  yield wire;
}
