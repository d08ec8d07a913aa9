import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { ReaderKind } from "../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import type { ApiName, Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";
import { send } from "./support/signing-client.ts";
import type { TestRequest } from "./support/signing-client.ts";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.received.length = 0;
});

const made = new Date("2026-01-02T03:04:05.678Z");

/** Each row holds four things: the HTTP request, the message it becomes, the answer's message, the HTTP answer. */
interface Row {
  readonly what: string;
  readonly api: ApiName;
  readonly dialect: "amz" | "svc";
  readonly http: TestRequest;
  readonly method: string;
  readonly message: object;
  readonly answer: object;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

const xml = '<?xml version="1.0" encoding="UTF-8"?>\n';
const namespace = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';

const rows: readonly Row[] = [
  {
    what: "REST-JSON, public dialect: label, body in PascalCase, public spellings both ways",
    api: "customer-profile",
    dialect: "amz",
    http: {
      method: "POST",
      target: "/readers/Ada",
      headers: { "content-type": "application/json" },
      body: '{"DefaultExpirationDays":7,"Kind":"LAMBDA","LambdaEndpoint":{"Arn":"arn:aws:lamp:1"},"tags":{"a":"b"},"Unknown":1,"Born":1767323045.678,"Visits":9007199254740993,"Picture":"AQI="}',
    },
    method: "CreateReader",
    message: {
      readerName: "Ada",
      defaultExpirationDays: 7,
      kind: "READER_KIND_FUNCTION",
      functionEndpoint: { arn: "arn:aws:lamp:1" },
      tags: { tags: { a: "b" } },
      born: "2026-01-02T03:04:05.678Z",
      visits: "9007199254740993",
      picture: "AQI=",
    },
    answer: {
      readerName: "Ada",
      createdAt: timestampFromDate(made),
      tags: { tags: {} },
      kind: ReaderKind.FUNCTION,
      functionEndpoint: { arn: "arn:svc:lamp:1" },
      trace: "not for clients",
      visits: 9007199254740993n,
    },
    status: 200,
    headers: { "content-type": "application/json", "x-amzn-requestid": expect.any(String) },
    body: '{"ReaderName":"Ada","CreatedAt":1767323045.678,"tags":{},"Kind":"LAMBDA","LambdaEndpoint":{"Arn":"arn:aws:lamp:1"},"Visits":9007199254740993}',
  },
  {
    what: "REST-JSON, documented dialect: lowerCamel and snake_case accepted, documented spellings out",
    api: "customer-profile",
    dialect: "svc",
    http: {
      method: "POST",
      target: "/readers/Ada",
      body: '{"defaultExpirationDays":7,"kind":"FUNCTION","function_endpoint":{"arn":"x"},"more_addresses":[{"street":"Quay"}]}',
    },
    method: "CreateReader",
    message: {
      readerName: "Ada",
      defaultExpirationDays: 7,
      kind: "READER_KIND_FUNCTION",
      functionEndpoint: { arn: "x" },
      moreAddresses: [{ street: "Quay" }],
    },
    answer: { readerName: "Ada", kind: ReaderKind.FUNCTION, functionEndpoint: { arn: "arn:aws:lamp:1" } },
    status: 200,
    headers: { "content-type": "application/json", "x-svc-request-id": expect.any(String) },
    body: '{"ReaderName":"Ada","Kind":"FUNCTION","FunctionEndpoint":{"Arn":"arn:svc:lamp:1"}}',
  },
  {
    what: "REST-JSON: a literal segment wins over a label",
    api: "customer-profile",
    dialect: "amz",
    http: { method: "POST", target: "/readers/search", body: '{"KeyName":"name"}' },
    method: "SearchReaders",
    message: { keyName: "name" },
    answer: {},
    status: 200,
    headers: {},
    body: '{"Items":[]}',
  },
  {
    what: "REST-JSON: query members, numbers among them",
    api: "customer-profile",
    dialect: "amz",
    http: { method: "GET", target: "/readers?max-results=5&next-token=a%2Bb%3D" },
    method: "ListReaders",
    message: { nextToken: "a+b=", maxResults: 5 },
    answer: { items: ["Ada", "Grace"], nextToken: "n" },
    status: 200,
    headers: {},
    body: '{"Items":["Ada","Grace"],"NextToken":"n"}',
  },
  {
    what: "REST-JSON: an encoded ARN as a label and a repeated query member",
    api: "customer-profile",
    dialect: "amz",
    http: { method: "DELETE", target: "/tags/arn%3Aaws%3Aprofile%3A%3A1%3Adomains%2Fa?tagKeys=a&tagKeys=b%3Ac" },
    method: "UntagReader",
    message: { resourceArn: "arn:aws:profile::1:domains/a", tagKeys: ["a", "b:c"] },
    answer: {},
    status: 200,
    headers: {},
    body: "{}",
  },
  {
    what: "target JSON, public dialect: the operation stands in a header",
    api: "event-bus",
    dialect: "amz",
    http: {
      method: "POST",
      target: "/",
      headers: { "x-amz-target": "AWSEvents.PutNotices", "content-type": "application/x-amz-json-1.1" },
      body: '{"Entries":[{"Source":"a","Time":1767323045},{}]}',
    },
    method: "PutNotices",
    message: { entries: [{ source: "a", time: "2026-01-02T03:04:05Z" }, {}] },
    answer: { failedEntryCount: 0, time: timestampFromDate(made) },
    status: 200,
    headers: { "content-type": "application/x-amz-json-1.1" },
    body: '{"FailedEntryCount":0,"Time":1767323045.678}',
  },
  {
    what: "target JSON, documented dialect",
    api: "event-bus",
    dialect: "svc",
    http: { method: "POST", target: "/", headers: { "x-svc-target": "EventBus.PutNotices" }, body: '{"Entries":[{}]}' },
    method: "PutNotices",
    message: { entries: [{}] },
    answer: {},
    status: 200,
    headers: { "content-type": "application/x-svc-json-1.1" },
    body: "{}",
  },
  {
    what: "REST-XML, public dialect: root, namespace, flattened list, instants, empty members left out",
    api: "object-storage",
    dialect: "amz",
    http: { method: "GET", target: "/novels?marker=a%20b&max-books=2" },
    method: "ListBooks",
    message: { shelf: "novels", marker: "a b", maxBooks: 2 },
    answer: {
      shelf: "novels",
      books: [
        { name: "a<b>&\n", lastModified: timestampFromDate(made), size: 0n, eTag: '"1"', bookClass: 2 },
        { name: "emma" },
      ],
      isTruncated: false,
    },
    status: 200,
    headers: {
      "content-type": "application/xml",
      "x-amz-request-id": expect.any(String),
      "x-amz-id-2": expect.any(String),
    },
    body:
      `${xml}<ListBooksResult${namespace}><Shelf>novels</Shelf>` +
      "<Contents><Name>a&lt;b&gt;&amp;&#10;</Name><LastModified>2026-01-02T03:04:05.678Z</LastModified><Size>0</Size>" +
      "<ETag>&quot;1&quot;</ETag><BookClass>aws:lock</BookClass></Contents><Contents><Name>emma</Name></Contents>" +
      "<IsTruncated>false</IsTruncated></ListBooksResult>",
  },
  {
    what: "REST-XML, documented dialect: no namespace, documented words",
    api: "object-storage",
    dialect: "svc",
    http: { method: "GET", target: "/novels" },
    method: "ListBooks",
    message: { shelf: "novels" },
    answer: { shelf: "novels", books: [{ name: "emma", bookClass: 2 }] },
    status: 200,
    headers: { "x-svc-request-id": expect.any(String), "x-svc-id-2": expect.any(String) },
    body: `${xml}<ListBooksResult><Shelf>novels</Shelf><Contents><Name>emma</Name><BookClass>svc:lock</BookClass></Contents></ListBooksResult>`,
  },
  {
    what: "REST-XML: a list with named elements, also when it is empty",
    api: "object-storage",
    dialect: "amz",
    http: { method: "GET", target: "/?x-id=ListShelves" },
    method: "ListShelves",
    message: {},
    answer: { shelves: [] },
    status: 200,
    headers: {},
    body: `${xml}<ListShelves${namespace}><Shelves/></ListShelves>`,
  },
  {
    what: "REST-XML: a payload document with attributes, flattened lists, a wrapper and CDATA",
    api: "object-storage",
    dialect: "amz",
    http: {
      method: "PUT",
      target: "/novels?rules",
      body:
        `<ShelfRules xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>one</ID><Status>Enabled</Status><Days> 3 </Days><Method>GET</Method><Method>PUT</Method></Rule>` +
        `<Rule><Status><![CDATA[Disabled]]></Status><Date>2026-01-02T00:00:00Z</Date><Other/></Rule>` +
        `<LabelSet><Label xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Person"><Key>k</Key><Value></Value></Label></LabelSet></ShelfRules>`,
    },
    method: "PutShelfRules",
    message: {
      shelf: "novels",
      shelfRules: {
        rules: [
          { id: "one", status: "Enabled", days: 3, methods: ["GET", "PUT"] },
          { status: "Disabled", date: "2026-01-02T00:00:00Z" },
        ],
        labelSet: { labels: [{ key: "k", value: "", kind: "Person" }] },
      },
    },
    answer: {},
    status: 200,
    headers: { "content-length": "0", "content-type": undefined },
    body: "",
  },
  {
    what: "REST-XML: a payload document out, by the newer of two methods with one route",
    api: "object-storage",
    dialect: "amz",
    http: { method: "GET", target: "/novels?rules=" },
    method: "GetShelfRules",
    message: { shelf: "novels" },
    answer: {
      shelfRules: {
        rules: [{ status: "Enabled", methods: ["GET"] }],
        labelSet: { labels: [{ key: "k", kind: "Person" }] },
      },
    },
    status: 200,
    headers: {},
    body:
      `${xml}<ShelfRules${namespace}><Rule><Status>Enabled</Status><Method>GET</Method></Rule>` +
      `<LabelSet><Label xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Person"><Key>k</Key></Label></LabelSet></ShelfRules>`,
  },
  {
    what: "REST-XML: x-id chooses the older of two methods with one route",
    api: "object-storage",
    dialect: "amz",
    http: { method: "GET", target: "/novels?rules&x-id=GetShelfRulesOlder" },
    method: "GetShelfRulesOlder",
    message: { shelf: "novels" },
    answer: { shelfRules: {} },
    status: 200,
    headers: {},
    body: `${xml}<ShelfRules${namespace}/>`,
  },
  {
    what: "REST-XML: a literal query parameter makes a route more specific",
    api: "object-storage",
    dialect: "amz",
    http: { method: "GET", target: "/novels/?list-type=2" },
    method: "ListBooksNewer",
    message: { shelf: "novels" },
    answer: { keyCount: 3 },
    status: 200,
    headers: {},
    body: `${xml}<ListBooksNewer${namespace}><KeyCount>3</KeyCount></ListBooksNewer>`,
  },
  {
    what: "REST-XML: a required header makes a route more specific",
    api: "object-storage",
    dialect: "amz",
    http: { method: "PUT", target: "/novels/emma", headers: { "x-amz-copy-source": "/drafts/emma%20one" } },
    method: "CopyBook",
    message: { shelf: "novels", book: "emma", copySource: "/drafts/emma%20one" },
    answer: { copyBookResult: { eTag: "1", lastModified: timestampFromDate(made) } },
    status: 200,
    headers: {},
    body: `${xml}<CopyBookResult${namespace}><ETag>1</ETag><LastModified>2026-01-02T03:04:05.678Z</LastModified></CopyBookResult>`,
  },
  {
    what: "an answer of status 204 has headers and neither body nor length",
    api: "object-storage",
    dialect: "amz",
    http: { method: "DELETE", target: "/novels/a//b/" },
    method: "DeleteBook",
    message: { shelf: "novels", book: "a//b/" },
    answer: { marker: true },
    status: 204,
    headers: { "x-amz-marker": "true", "content-length": undefined, "content-type": undefined },
    body: "",
  },
  {
    what: "an answer to HEAD tells the length of what it does not send",
    api: "object-storage",
    dialect: "amz",
    http: { method: "HEAD", target: "/novels/emma" },
    method: "HeadBook",
    message: { shelf: "novels", book: "emma" },
    answer: { contentLength: 12345n, bookClass: 2 },
    status: 200,
    headers: { "content-length": "12345", "x-amz-book-class": "aws:lock" },
    body: "",
  },
];

describe("transcoding", () => {
  test.each(rows)("$what ($dialect)", async (row) => {
    fixture.answer(row.method, () => row.answer);
    const response = await fixture.call(row.api, row.dialect, row.http);
    expect(fixture.received.map(({ method, message }) => ({ method, message }))).toEqual([
      { method: row.method, message: row.message },
    ]);
    expect(response.status).toBe(row.status);
    expect(response.body).toBe(row.body);
    expect({ ...response.headers }).toMatchObject(definedOf(row.headers));
    expect(undefinedNamesOf(row.headers).filter((name) => name in response.headers)).toEqual([]);
  });

  test("the caller's account, key and address reach the service, and how it sent and signed the request", async () => {
    const headers = { "user-agent": "shelf-reader/1", referer: "https://example.com/shelves" };
    const request = { method: "GET", target: "/", headers };
    const signed = fixture.sign("object-storage", "amz", request);
    fixture.clock.advance(1_500);
    await send(fixture.url, request, signed);
    expect(fixture.received[0]?.caller).toMatchObject({
      accountId: "000000000000",
      isRoot: true,
      accessKeyId: "QKIATESTTESTTESTTEST",
      sourceIp: "127.0.0.1",
      isSecureTransport: false,
      signatureVersion: "AWS4-HMAC-SHA256",
      authType: "REST-HEADER",
      signatureAgeMs: 1_500,
      userAgent: "shelf-reader/1",
      referer: "https://example.com/shelves",
    });
  });

  test.each([
    // dialect, target header, its value, revision header
    ["amz", "x-amz-target", "AWSEvents.PutNotices", "x-amz-revision"],
    ["svc", "x-svc-target", "EventBus.PutNotices", "x-svc-revision"],
  ] as const)(
    "the revision of a client of %s reaches the API that declares it",
    async (dialect, name, target, header) => {
      const revisions: (string | null)[] = [];
      for (const method of ["PutNotices", "ListShelves"])
        fixture.answer(method, (context) => {
          revisions.push(context.requestHeader.get("x-svc-revision"));
          return {};
        });
      const headers = { [header]: "B" };
      const notices = {
        method: "POST",
        target: "/",
        headers: { ...headers, [name]: target },
        body: '{"Entries":[{}]}',
      };
      await fixture.call("event-bus", dialect, notices);
      await fixture.call("object-storage", dialect, { method: "GET", target: "/", headers });
      expect(revisions).toEqual(["B", null]);
    },
  );

  test("a document of an anonymous caller reaches the service, which decides", async () => {
    fixture.received.length = 0;
    const body = "<ShelfRules/>";
    const response = await send(fixture.url, { method: "PUT", target: "/novels?rules", body }, {});
    expect(response.status).toBe(200);
    expect(fixture.received.map(({ method, caller }) => [method, caller.isAnonymous])).toEqual([
      ["PutShelfRules", true],
    ]);
  });

  test("a document of an anonymous caller has at most 2 MiB", async () => {
    fixture.received.length = 0;
    const body = `<ShelfRules>${" ".repeat(2 * 1024 * 1024)}</ShelfRules>`;
    const response = await send(fixture.url, { method: "PUT", target: "/novels?rules", body }, {});
    expect([response.status, fixture.received]).toEqual([400, []]);
    expect(response.body).toContain("<Code>MaxMessageLengthExceeded</Code>");
  });

  test("a header of the dialect that is given twice in the query is refused, in whatever case", async () => {
    const target = "/novels/emma?X-Amz-Acl=private&x-amz-acl=public-read";
    const response = await fixture.call("object-storage", "amz", { method: "GET", target });
    expect([response.status, /<Code>(.*)<\/Code>/.exec(response.body)?.[1]]).toEqual([400, "InvalidArgument"]);
  });

  test("a value that a refusal repeats is cut", async () => {
    const target = `/novels?${"m".repeat(3_000)}=a&${"m".repeat(3_000)}=b`;
    const response = await fixture.call("object-storage", "amz", { method: "GET", target });
    expect(response.body).toContain(`&quot;${"m".repeat(1024)}...&quot;`);
    expect(response.body.length).toBeLessThan(2_000);
  });

  test("a revision in the other dialect, which need not be signed, does not reach it", async () => {
    const revisions: (string | null)[] = [];
    fixture.answer("PutNotices", (context) => {
      revisions.push(context.requestHeader.get("x-svc-revision"));
      return {};
    });
    const headers = { "x-amz-target": "AWSEvents.PutNotices" };
    const notices = { method: "POST", target: "/", headers, body: '{"Entries":[{}]}' };
    const signed = fixture.sign("event-bus", "amz", notices);
    const response = await send(fixture.url, notices, { ...signed, "x-svc-revision": "B" });
    expect([response.status, revisions]).toEqual([200, [null]]);
  });
});

const definedOf = (headers: Row["headers"]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));

const undefinedNamesOf = (headers: Row["headers"]): string[] =>
  Object.keys(headers).filter((name) => headers[name] === undefined);
