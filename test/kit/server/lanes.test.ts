import type { Client } from "@connectrpc/connect";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { connectionFacts } from "../../../services/kit/identity/connection.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestApp } from "./test-service.ts";
import { startTestServer } from "./test-service.ts";
import { collect, listenFor, sent, ways } from "./transports.ts";

/** The error that a call ends with. */
const failureOf = async (call: Promise<unknown>): Promise<ConnectError> => {
  const outcome = await call.then(
    () => new Error("the call succeeded"),
    (error: unknown) => error,
  );
  if (outcome instanceof ConnectError) return outcome;
  throw outcome;
};

const chunk = (size: number) => ({ name: "", body: new Uint8Array(size).fill(1) });

describe.each(ways)("a call by $name", ({ open, bodyBytesMax, isLocal }) => {
  let server: RunningServer;
  let app: TestApp;
  let client: Client<typeof TestService>;
  let transport: ReturnType<typeof open>;

  beforeAll(async () => {
    ({ server, app } = await startTestServer(listenFor({ isLocal })));
    transport = open(server.url, "alice");
    client = createClient(TestService, transport);
  });
  afterAll(async () => {
    await transport.close?.();
    await server.stop(0);
  });

  test("answers a unary call", async () => {
    const { text, labels, number, body, accountId } = await client.echo({
      text: "grüß dich",
      labels: ["a", ""],
      number: -5n,
      body: new Uint8Array([0, 255]),
    });
    expect({ text, labels, number, accountId }).toEqual({
      text: "grüß dich",
      labels: ["a", ""],
      number: -5n,
      accountId: "111122223333",
    });
    expect([...body]).toEqual([0, 255]);
  });

  test("answers a unary call with a large body in each direction", async () => {
    const { body } = await client.echo({ body: new Uint8Array(bodyBytesMax).fill(9) });
    expect(body.length).toBe(bodyBytesMax);
    expect(body.every((byte) => byte === 9)).toBe(true);
  });

  test("carries headers and trailers of the handler, and the request id", async () => {
    let header = new Headers();
    let trailer = new Headers();
    await client.echo(
      { text: "headers" },
      {
        headers: { "x-echo": "blue", "x-request-id": "ride-1" },
        onHeader: (received) => {
          header = received;
        },
        onTrailer: (received) => {
          trailer = received;
        },
      },
    );
    expect(header.get("x-echoed")).toBe("blue");
    expect(header.get("x-request-id")).toBe("ride-1");
    expect(trailer.get("x-echoed-after")).toBe("blue");
  });

  test("answers a stream of answers", async () => {
    const numbers = await collect(client.count({ last: 300 }));
    expect(numbers.map(({ number }) => number)).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
    expect(await collect(client.count({ last: 0 }))).toEqual([]);
  });

  test("answers a stream of requests", async () => {
    expect(await client.sum(sent({ number: 20 }, { number: 22 }))).toMatchObject({ sum: 42n, count: 2 });
    expect(await client.sum(sent())).toMatchObject({ sum: 0n, count: 0 });
  });

  test("carries bytes up and down whole, whatever the size of the chunks", async () => {
    const up = await client.upload(
      sent({ name: "ship", body: new Uint8Array(0) }, chunk(1), chunk(70_000), chunk(0), chunk(3_000_000)),
    );
    expect(up).toMatchObject({ name: "ship", sizeBytes: 3_070_001n });
    const [first, ...rest] = await collect(client.download({ sizeBytes: 3_070_001n, chunkBytes: 1_000_000 }));
    expect(first?.sizeBytes).toBe(3_070_001n);
    expect(rest.reduce((size, { body }) => size + body.length, first?.body.length ?? 0)).toBe(3_070_001);
    expect(rest.every(({ body }) => body.every((byte) => byte === 7))).toBe(true);
  });

  test.each([
    // failure, code, reason, message
    [Failure.DECLARED, Code.NotFound, "THING_MISSING", "There is no moon."],
    [Failure.CONTENTION, Code.Aborted, "CONTENTION", "Concurrent changes won too often."],
    [Failure.CORRUPTION, Code.DataLoss, "DATA_LOSS", "Stored data is damaged."],
    [Failure.OVERLOAD, Code.ResourceExhausted, "THROTTLED", "Too many calls."],
    [Failure.UNDECLARED, Code.Internal, "INTERNAL", "We encountered an internal error. Request ride-2."],
  ])("reports failure %i with its code, reason and request id", async (failure, code, reason, message) => {
    const error = await failureOf(client.refuse({ failure, thing: "moon" }, { headers: { "x-request-id": "ride-2" } }));
    expect([error.code, error.rawMessage]).toEqual([code, message]);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason, domain: "test.quartet" }]);
    expect(error.findDetails(RequestInfoSchema)).toMatchObject([{ requestId: "ride-2" }]);
  });

  test("names the members of a request that break a constraint", async () => {
    const error = await failureOf(collect(client.count({ last: -1 })));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "INVALID_INPUT", metadata: { member: "last" } },
    ]);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([{ fieldViolations: [{ field: "last" }] }]);
  });

  test("checks the first message of a stream of requests before the handler sees it", async () => {
    const error = await failureOf(client.sum(sent({ number: -1 })));
    expect(error.code).toBe(Code.InvalidArgument);
  });

  test("reports an operation that is not implemented by its name", async () => {
    const error = await failureOf(client.postpone({}));
    expect([error.code, error.rawMessage]).toEqual([Code.Unimplemented, "The operation Postpone is not offered."]);
  });

  test("ends a stream of answers with the error that came after its messages", async () => {
    const numbers: number[] = [];
    const reading = (async () => {
      for await (const { number } of client.count({ last: 3, failure: Failure.DECLARED })) numbers.push(number);
    })();
    const error = await failureOf(reading);
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "There is no count."]);
    expect(numbers).toEqual([1, 2, 3]);
  });

  test("passes the deadline on and answers when it has passed", async () => {
    app.begun.length = 0;
    app.aborted.length = 0;
    // A deadline that leaves the call time to reach its handler, however busy the machine is.
    for (let timeoutMs = 40; !app.begun.includes("wait"); timeoutMs *= 2)
      expect((await failureOf(client.wait({}, { timeoutMs }))).code).toBe(Code.DeadlineExceeded);
    await eventually(() => app.aborted.includes("wait"), "the handler's signal is aborted");
  });

  test.each([
    // header, answer
    ["1767225600000", Code.DeadlineExceeded],
    ["soon", Code.InvalidArgument],
    ["-1", Code.InvalidArgument],
  ])("does not begin a call whose caller has left, or says so unreadably: %s", async (deadline, code) => {
    const name = `wait until ${deadline}`;
    const error = await failureOf(client.wait({}, { headers: { "x-call-deadline": deadline, "x-name": name } }));
    expect(error.code).toBe(code);
    // Calls that were given up before may still arrive.
    expect(app.begun).not.toContain(name);
  });

  test("aborts the handler's signal when the caller cancels", async () => {
    app.begun.length = 0;
    app.aborted.length = 0;
    const stop = new AbortController();
    const waiting = failureOf(client.wait({}, { signal: stop.signal }));
    await eventually(() => app.begun.includes("wait"), "the call runs");
    stop.abort();
    expect((await waiting).code).toBe(Code.Canceled);
    await eventually(() => app.aborted.includes("wait"), "the handler's signal is aborted");
  });

  test("aborts the handler's signal when the caller leaves a stream", async () => {
    app.aborted.length = 0;
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { number } of client.count({ last: 1_000_000 }, { signal: stop.signal }))
        if (number === 3) stop.abort();
    })();
    expect((await failureOf(reading)).code).toBe(Code.Canceled);
    await eventually(() => app.aborted.includes("count"), "the handler's signal is aborted");
  });

  test("refuses a caller who is not known", async () => {
    const asMallory = open(server.url, "mallory");
    const mallory = createClient(TestService, asMallory);
    const error = await failureOf(mallory.echo({}));
    expect([error.code, error.rawMessage]).toEqual([
      Code.Unauthenticated,
      "The call carries no valid token. The bearer token was not issued by a trusted process.",
    ]);
    expect((await failureOf(collect(mallory.count({ last: 3 })))).code).toBe(Code.Unauthenticated);
    await asMallory.close?.();
  });
});

test.each(ways)("a call by $name is authenticated by its connection, too", async ({ open, isLocal }) => {
  const seen: object[] = [];
  const { server } = await startTestServer({
    ...listenFor({ isLocal }),
    authenticate: async (_authorization, _method, connection) => {
      seen.push(connectionFacts(connection));
      return rootCaller("111122223333");
    },
  });
  const transport = open(server.url, "alice");
  const client = createClient(TestService, transport);
  await client.echo({});
  await collect(client.count({ last: 1 }));
  const from = isLocal === true ? {} : { sourceIp: "127.0.0.1" };
  expect(seen).toEqual([
    { ...from, isSecureTransport: false },
    { ...from, isSecureTransport: false },
  ]);
  await transport.close?.();
  await server.stop(0);
});

describe.each(ways.filter((way) => way.isFullDuplex))("a call by $name, both ways at once", ({ open, isLocal }) => {
  test("answers each request of a two-way stream before the next is sent", async () => {
    const { server } = await startTestServer(listenFor({ isLocal }));
    const transport = open(server.url, "alice");
    let answered: (() => void) | undefined;
    const requests = async function* () {
      for (const text of ["one", "two", "three"]) {
        const answer = new Promise<void>((resolve) => {
          answered = resolve;
        });
        yield { text };
        await answer;
      }
    };
    const texts: string[] = [];
    for await (const { text } of createClient(TestService, transport).converse(requests())) {
      texts.push(text);
      answered?.();
    }
    expect(texts).toEqual(["one", "two", "three"]);
    await transport.close?.();
    await server.stop(0);
  });
});
