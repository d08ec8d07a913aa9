import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Client } from "@connectrpc/connect";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { ClosableTransport } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { ProtocolError } from "../../../services/kit/wire/protocol-error.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestApp } from "../server/test-service.ts";
import { startTestServer } from "../server/test-service.ts";
import { startFlakyServer } from "./flaky-servers.ts";

const token = async () => "alice";

describe.each(["connect", "grpc"] as const)("the %s engine", (engine) => {
  let server: RunningServer;
  let app: TestApp;
  let transport: ClosableTransport;
  let client: Client<typeof TestService>;

  beforeEach(async () => {
    ({ server, app } = await startTestServer());
    transport = createTransport({ address: server.url, engine, token });
    client = createClient(TestService, transport);
  });
  afterEach(async () => {
    await transport.close();
    await server.stop(0);
  });

  test("asks for a token for each call, and takes the one that a call brings", async () => {
    let asked = 0;
    const counting = createTransport({
      address: server.url,
      engine,
      token: async () => {
        asked += 1;
        return "alice";
      },
    });
    const counted = createClient(TestService, counting);
    await counted.echo({});
    await counted.echo({});
    expect(asked).toBe(2);
    const asMallory = counted.echo({}, { headers: { authorization: "Bearer mallory" } });
    await expect(asMallory).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(asked).toBe(2);
    await counting.close();
  });

  test("fails a call whose token cannot be made", async () => {
    const broken = createTransport({ address: server.url, engine, token: () => Promise.reject(new Error("no key")) });
    await expect(createClient(TestService, broken).echo({})).rejects.toThrow("no key");
    await broken.close();
  });

  test("reports a server that cannot be reached as unavailable", async () => {
    await server.stop(0);
    await expect(client.echo({})).rejects.toMatchObject({ code: Code.Unavailable });
    const upload = client.upload(
      (async function* () {
        yield { name: "x" };
      })(),
    );
    await expect(upload).rejects.toMatchObject({ code: Code.Unavailable });
    const nowhere = createTransport({ address: "unix:/nonexistent/test.sock", engine, token });
    await expect(createClient(TestService, nowhere).echo({})).rejects.toMatchObject({ code: Code.Unavailable });
    await nowhere.close();
  });

  test("reports the server's refusal of a stream of requests that is still being sent, and closes the stream", async () => {
    let isClosed = false;
    const endless = async function* () {
      try {
        yield { name: "early", failure: Failure.DECLARED };
        for (;;) yield { name: "", body: new Uint8Array(1_000_000) };
      } finally {
        isClosed = true;
      }
    };
    const error = await client.upload(endless()).catch((thrown: unknown) => thrown as ConnectError);
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "There is no early." });
    expect((error as ConnectError).findDetails(ErrorInfoSchema)[0]?.reason).toBe("THING_MISSING");
    await eventually(() => isClosed, "the requests are closed");
    expect((await client.echo({ text: "next" })).text).toBe("next");
  });

  test("gives a call up with the caller's own exception as the cause when its requests throw", async () => {
    const own = new Error("the disk is gone");
    const failing = async function* () {
      yield { name: "half", body: new Uint8Array(10) };
      throw own;
    };
    const error = await client.upload(failing()).catch((thrown: unknown) => thrown as ConnectError);
    expect(error).toMatchObject({ cause: own });
  });

  test("does not send a call whose signal is aborted already", async () => {
    const aborted = client.echo({}, { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ code: Code.Canceled });
  });

  test("gives a call up for the reason for which the call above it was given up", async () => {
    const above = new AbortController();
    const waiting = client.wait({}, { signal: above.signal });
    const outcome = waiting.catch((thrown: unknown) => thrown);
    await eventually(() => app.begun.includes("wait"), "the call runs");
    above.abort(new ProtocolError(Code.DeadlineExceeded, "The deadline passed."));
    expect(await outcome).toMatchObject({ code: Code.DeadlineExceeded });
    await eventually(() => app.aborted.includes("wait"), "the handler's signal is aborted");
  });

  test("uses its own deadline for calls that name none", async () => {
    const hasty = createTransport({ address: server.url, engine, token, timeoutMs: 30 });
    await expect(createClient(TestService, hasty).wait({})).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await hasty.close();
  });

  test("refuses an answer over its limit", async () => {
    const small = createTransport({ address: server.url, engine, token, limits: { messageBytesMax: 1000 } });
    const limited = createClient(TestService, small);
    const large = { body: new Uint8Array(2000) };
    await expect(limited.echo(large)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    const reading = (async () => {
      for await (const answer of limited.download({ sizeBytes: 2000n, chunkBytes: 2000 })) void answer;
    })();
    await expect(reading).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await small.close();
  });

  test("makes many calls at the same time", async () => {
    const calls = Array.from({ length: 200 }, (_, index) => client.echo({ text: String(index) }));
    const texts = (await Promise.all(calls)).map(({ text }) => Number(text));
    expect(texts).toEqual(Array.from({ length: 200 }, (_, index) => index));
  });
});

test.each([
  ["connect", "answer garbage", Code.Internal],
  ["connect", "answer as text", Code.Unknown],
  ["grpc", "answer garbage", Code.Internal],
  ["grpc", "answer twice", Code.Unimplemented],
] as const)("the %s engine reports a server that violates the protocol: %s", async (engine, conduct, code) => {
  const { address } = await startFlakyServer(engine, conduct);
  const transport = createTransport({ address, engine });
  await expect(createClient(TestService, transport).refuse({})).rejects.toMatchObject({ code });
  await transport.close();
});

test("the connect engine reports an answer that is not of the protocol by its HTTP status", async () => {
  const gateway = createServer((_request, response) => {
    response.writeHead(503, { "content-type": "text/html" });
    response.end("<h1>away</h1>");
  }).listen(0, "127.0.0.1");
  await once(gateway, "listening");
  const address = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const transport = createTransport({ address, engine: "connect" });
  await expect(createClient(TestService, transport).echo({})).rejects.toMatchObject({ code: Code.Unavailable });
  await transport.close();
  gateway.close();
});
