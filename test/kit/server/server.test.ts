import { execFile } from "node:child_process";
import { Writable } from "node:stream";
import { join } from "node:path";
import { promisify } from "node:util";

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";

import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection, ServerReflectionRequestSchema } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { ClosableTransport } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { authenticateAlice, createTestApp, startTestServer } from "./test-service.ts";
import { collect } from "./transports.ts";

let server: RunningServer;
const opened: ClosableTransport[] = [];

const open = (engine: "connect" | "grpc", caller?: string): ClosableTransport => {
  const token = caller === undefined ? {} : { token: async () => caller };
  const transport = createTransport({ address: server.url, engine, ...token });
  opened.push(transport);
  return transport;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
  await server.stop(0);
});

describe("a start", () => {
  test("is refused when a method has no handler", async () => {
    ({ server } = await startTestServer());
    const starting = startServer({
      name: "test",
      listen: { host: "127.0.0.1", port: 0 },
      services: [{ service: TestService, handlers: {}, errors: ErrorReasonSchema, app: createTestApp() }],
      authenticate: authenticateAlice,
      log: silentLogger,
    });
    await expect(starting).rejects.toThrow("no handler for /quartet.test.v1.TestService/Echo");
  });

  test("is refused when the address is taken", async () => {
    ({ server } = await startTestServer());
    const starting = startTestServer({ listen: { host: "127.0.0.1", port: server.port } });
    await expect(starting).rejects.toThrow("EADDRINUSE");
  });

  test("serves TCP and a unix socket at once, and closes both", async () => {
    const socketPath = join(await temporaryDirectory(), "second.sock");
    ({ server } = await startTestServer({ socketPath }));
    for (const address of [server.url, `unix:${socketPath}`])
      for (const engine of ["connect", "grpc"] as const) {
        const transport = createTransport({ address, engine, token: async () => "alice" });
        opened.push(transport);
        expect((await createClient(TestService, transport).echo({ text: address })).text).toBe(address);
      }
    await server.stop(1_000);
    for (const address of [server.url, `unix:${socketPath}`]) {
      const transport = createTransport({ address, engine: "connect", retry: { attemptsMax: 1 } });
      opened.push(transport);
      await expect(createClient(Health, transport).check({})).rejects.toMatchObject({ code: Code.Unavailable });
    }
  });

  test("on a unix socket serves all lanes there", async () => {
    const path = join(await temporaryDirectory(), "test.sock");
    ({ server } = await startTestServer({ listen: { path } }));
    expect(server.url).toBe(`unix:${path}`);
    const answers = ["connect" as const, "grpc" as const].map((engine) =>
      createClient(TestService, open(engine, "alice")).echo({ text: engine }),
    );
    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(["connect", "grpc"]);
  });
});

describe("health", () => {
  test("is answered to callers without a token, over RPC and over plain HTTP", async () => {
    ({ server } = await startTestServer());
    const health = createClient(Health, open("grpc"));
    expect((await health.check({})).status).toBe(Status.SERVING);
    expect((await health.check({ service: "quartet.test.v1.TestService" })).status).toBe(Status.SERVING);
    await expect(health.check({ service: "nobody" })).rejects.toMatchObject({ code: Code.NotFound });
    server.setServing(false);
    expect((await health.check({})).status).toBe(Status.NOT_SERVING);
    const pages = await Promise.all(
      ["/livez", "/readyz", "/healthz"].map(async (path) => {
        const page = await fetch(`${server.url}${path}`);
        return [path, page.status, await page.text()];
      }),
    );
    expect(pages).toEqual([
      ["/livez", 200, "SERVING\n"],
      ["/readyz", 503, "NOT_SERVING\n"],
      ["/healthz", 503, "NOT_SERVING\n"],
    ]);
  });

  test("is sent again each time it changes, and last when the server stops", async () => {
    ({ server } = await startTestServer());
    const health = createClient(Health, open("connect"));
    const seen: Status[] = [];
    const watching = (async () => {
      for await (const { status } of health.watch({})) {
        seen.push(status);
        if (seen.length === 1) server.setServing(false);
        if (seen.length === 2) server.setServing(true);
        if (seen.length === 3) void server.stop(1000);
      }
    })();
    await expect(watching).rejects.toMatchObject({ code: Code.Unavailable });
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING, Status.NOT_SERVING]);
  });

  test("of a service that is not there is unknown to those who watch", async () => {
    ({ server } = await startTestServer());
    const stop = new AbortController();
    const watching = createClient(Health, open("grpc")).watch({ service: "nobody" }, { signal: stop.signal });
    const { value } = (await watching[Symbol.asyncIterator]().next()) as { value: { status: Status } };
    expect(value.status).toBe(Status.SERVICE_UNKNOWN);
    stop.abort();
  });
});

describe("reflection", () => {
  const buf = join(import.meta.dirname, "../../../node_modules/.bin/buf");
  const curl = (...args: string[]) =>
    promisify(execFile)(buf, ["curl", "--http2-prior-knowledge", ...args], { cwd: import.meta.dirname });

  test.each(["grpc-v1", "grpc-v1alpha"])("%s lets a stock tool call without proto files", async (version) => {
    ({ server } = await startTestServer());
    const { stdout } = await curl(
      "--protocol",
      "grpc",
      "--reflect",
      "--reflect-protocol",
      version,
      "-H",
      "authorization: Bearer alice",
      "-d",
      '{"text":"hello"}',
      `${server.url}/quartet.test.v1.TestService/Echo`,
    );
    expect(JSON.parse(stdout)).toEqual({ text: "hello", accountId: "111122223333" });
  });

  test("knows the details that refusals carry, though no service names them", async () => {
    ({ server } = await startTestServer());
    const client = createClient(ServerReflection, open("grpc", "alice"));
    const question = create(ServerReflectionRequestSchema, {
      messageRequest: { case: "fileContainingSymbol", value: "google.rpc.ErrorInfo" },
    });
    const [answer] = await Array.fromAsync(client.serverReflectionInfo(createAsyncIterable([question])));
    expect(answer?.messageResponse.case).toBe("fileDescriptorResponse");
  });

  test("is given to a hundred calls at the same time, and to others when these have ended", async () => {
    ({ server } = await startTestServer());
    const client = createClient(ServerReflection, open("grpc", "alice"));
    const stop = new AbortController();
    const question = create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } });
    const held = async function* () {
      yield question;
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    };
    const calls = Array.from({ length: 100 }, () => client.serverReflectionInfo(held())[Symbol.asyncIterator]());
    for (const call of calls) expect((await call.next()).value?.messageResponse.case).toBe("listServicesResponse");
    const ask = () => Array.fromAsync(client.serverReflectionInfo(createAsyncIterable([question])));
    await expect(ask()).rejects.toMatchObject({ code: Code.ResourceExhausted });
    stop.abort();
    for (const call of calls) expect((await call.next()).done).toBe(true);
    expect(await ask()).toHaveLength(1);
  });

  test("lists the services and their methods", async () => {
    ({ server } = await startTestServer());
    const { stdout } = await curl("--protocol", "grpc", "--list-methods", server.url);
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining([
        "grpc.health.v1.Health/Check",
        "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "quartet.test.v1.TestService/Echo",
        "quartet.test.v1.TestService/Upload",
      ]),
    );
  });
});

describe("a stop", () => {
  test.each(["connect", "grpc"] as const)("lets running calls of the %s engine end", async (engine) => {
    const { server: started, app } = await startTestServer();
    server = started;
    let letGo = (): void => {};
    app.uploadGate = new Promise((resolve) => {
      letGo = resolve;
    });
    const client = createClient(TestService, open(engine, "alice"));
    const uploading = client.upload(
      (async function* () {
        yield { name: "last", body: new Uint8Array(10) };
      })(),
    );
    await eventually(() => app.begun.includes("upload"), "the call runs");
    const stopping = server.stop(5000);
    letGo();
    expect((await uploading).sizeBytes).toBe(10n);
    await stopping;
    await expect(client.echo({})).rejects.toMatchObject({ code: Code.Unavailable });
  });

  test.each(["connect", "grpc"] as const)("gives up calls of the %s engine that do not end in time", async (engine) => {
    const { server: started, app } = await startTestServer();
    server = started;
    const client = createClient(TestService, open(engine, "alice"));
    const waiting = client.wait({});
    const outcome = waiting.catch((error: unknown) => error);
    await eventually(() => app.begun.includes("wait"), "the call runs");
    await server.stop(50);
    expect(await outcome).toMatchObject({ code: Code.Unavailable, rawMessage: "The service is not available." });
    await eventually(() => app.aborted.includes("wait"), "the handler's signal is aborted");
  });
});

/** A logger whose lines the test reads. */
const capture = () => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return { lines, log: pino({ level: "info" }, sink) };
};

describe("the log", () => {
  test("has one line for each call: method, code, duration, request id, account", async () => {
    const { lines, log } = capture();
    ({ server } = await startTestServer({ log }));
    const client = createClient(TestService, open("connect", "alice"));
    await client.echo({ text: "a secret" }, { headers: { "x-request-id": "ride-3" } });
    await collect(client.count({ last: 2, failure: Failure.DECLARED })).catch(() => {});
    await expect
      .poll(() => lines.filter(({ msg }) => msg === "call"))
      .toMatchObject([
        { method: "/quartet.test.v1.TestService/Echo", code: "ok", requestId: "ride-3", account: "111122223333" },
        { method: "/quartet.test.v1.TestService/Count", code: "not_found", account: "111122223333" },
      ]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });

  test("alone has the text of an exception that nobody declared", async () => {
    const { lines, log } = capture();
    ({ server } = await startTestServer({ log }));
    const client = createClient(TestService, open("connect", "alice"));
    const error = await client.refuse({ failure: Failure.UNDECLARED }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect(String(error)).not.toContain("secret");
    expect(JSON.stringify(lines)).toContain("a secret detail");
  });
});

test("a request id that could break a log line is replaced", async () => {
  ({ server } = await startTestServer());
  const client = createClient(TestService, open("connect", "alice"));
  let header = new Headers();
  await client.echo(
    {},
    {
      headers: { "x-request-id": "two words" },
      onHeader: (received) => {
        header = received;
      },
    },
  );
  expect(header.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test("a path that nobody serves is not found", async () => {
  ({ server } = await startTestServer());
  expect((await fetch(`${server.url}/nowhere`)).status).toBe(404);
});
