import { once } from "node:events";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";

import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import type { ClosableTransport } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { connectionFacts } from "../../../services/kit/identity/connection.ts";
import type { RunningServer, ServerOptions } from "../../../services/kit/server/server.ts";
import type { ClientCertificates } from "../../../services/kit/tls/server-tls.ts";
import type { TlsPaths, TlsSource } from "../../../services/kit/tls/tls-files.ts";
import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import type { TestAuthority } from "../../support/certificates.ts";
import { createAuthority } from "../../support/certificates.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startTestServer } from "../server/test-service.ts";
import { collect, sent } from "../server/transports.ts";

const engines = ["connect", "grpc"] as const;

let server: RunningServer | undefined;
const opened: ClosableTransport[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
  await server?.stop(0);
  server = undefined;
});

const sourceOf = (paths: Partial<TlsPaths>, clock = systemClock): TlsSource =>
  openTlsFiles({ certificate: "", key: "", authority: "", ...paths }, clock, silentLogger);

const start = async (
  authority: TestAuthority,
  clientCertificates: ClientCertificates,
  options: Partial<ServerOptions> = {},
): Promise<void> => {
  const files = await authority.certify("server");
  const tls = { source: sourceOf({ ...files, authority: authority.file }), clientCertificates };
  ({ server } = await startTestServer({ tls, ...options }));
};

const client = (engine: "connect" | "grpc", paths: Partial<TlsPaths>) => {
  const transport = createTransport({
    address: server?.url ?? "",
    engine,
    token: async () => "alice",
    tls: { source: sourceOf(paths) },
  });
  opened.push(transport);
  return createClient(TestService, transport);
};

describe.each(engines)("by TLS the %s engine", (engine) => {
  test("makes calls of every kind", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    await start(authority, "none");
    expect(server?.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const calls = client(engine, { authority: authority.file });
    expect((await calls.echo({ text: "hidden on the way" })).text).toBe("hidden on the way");
    expect((await collect(calls.count({ last: 3 }))).length).toBe(3);
    const body = new Uint8Array(300_000);
    expect((await calls.upload(sent({ name: "a", body }, { body }))).sizeBytes).toBe(600_000n);
    expect((await collect(calls.converse(sent({ text: "a" }, { text: "b" })))).map(({ text }) => text)).toEqual([
      "a",
      "b",
    ]);
  });

  test("is authenticated by an encrypted connection", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    const seen: object[] = [];
    await start(authority, "none", {
      authenticate: async (_authorization, _method, connection) => {
        seen.push(connectionFacts(connection));
        return rootCaller("111122223333");
      },
    });
    await client(engine, { authority: authority.file }).echo({});
    expect(seen).toEqual([{ sourceIp: "127.0.0.1", isSecureTransport: true, tlsVersion: "1.3" }]);
  });

  test("refuses a server whose authority it does not trust", async () => {
    const directory = await temporaryDirectory();
    await start(await createAuthority(directory), "none");
    const stranger = await createAuthority(directory, "stranger");
    const call = client(engine, { authority: stranger.file }).echo({});
    await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
  });
});

describe.each(engines)("a server that asks for certificates, called by the %s engine,", (engine) => {
  test("lets in whom its authority certified", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    await start(authority, "required");
    const calls = client(engine, { ...(await authority.certify("gateway")), authority: authority.file });
    expect((await calls.echo({ text: "let in" })).text).toBe("let in");
  });

  test("refuses whoever shows none", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    await start(authority, "required");
    const call = client(engine, { authority: authority.file }).echo({});
    await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
  });

  test("refuses whom another authority certified, also where certificates are optional", async () => {
    const directory = await temporaryDirectory();
    const authority = await createAuthority(directory);
    const stranger = await createAuthority(directory, "stranger");
    await start(authority, "optional");
    const foreign = await stranger.certify("foreign");
    const call = client(engine, { ...foreign, authority: authority.file }).echo({});
    await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
    expect((await client(engine, { authority: authority.file }).echo({ text: "bare" })).text).toBe("bare");
  });
});

describe("a port with TLS", () => {
  test("serves HTTP/2 and HTTP/1.1 by ALPN, and HTTP/1.1 to clients without ALPN", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    await start(authority, "none");
    const protocols = [["h2"], ["http/1.1"], undefined].map(async (ALPNProtocols) => {
      const socket = connectTls({ port: server?.port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols });
      await once(socket, "secureConnect");
      socket.destroy();
      return socket.alpnProtocol;
    });
    expect(await Promise.all(protocols)).toEqual(["h2", "http/1.1", false]);
  });

  test("answers a stock gRPC client", async () => {
    const directory = await temporaryDirectory();
    const authority = await createAuthority(directory);
    await start(authority, "none");
    const transport = createGrpcTransport({
      baseUrl: server?.url ?? "",
      nodeOptions: { rejectUnauthorized: false },
    });
    const call = createClient(TestService, transport).echo(
      { text: "x" },
      { headers: { authorization: "Bearer alice" } },
    );
    expect((await call).text).toBe("x");
  });

  test("closes connections whose handshake does not complete in time", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    await start(authority, "none", { limits: { headersTimeoutMs: 100 } });
    const silent = connectTcp(server?.port ?? 0, "127.0.0.1");
    await once(silent, "close");
    expect(silent.bytesRead).toBe(0);
  });

  test("stops at once while a connection has not shaken hands", async () => {
    const authority = await createAuthority(await temporaryDirectory());
    await start(authority, "none");
    const silent = connectTcp(server?.port ?? 0, "127.0.0.1");
    silent.on("error", () => {});
    await once(silent, "connect");
    await client("connect", { authority: authority.file }).echo({});
    const closed = once(silent, "close");
    await server?.stop(20_000);
    await closed;
    expect(silent.destroyed).toBe(true);
  });

  test("shows a renewed certificate to the next connection, and keeps the former while the files do not belong together", async () => {
    const directory = await temporaryDirectory();
    const authority = await createAuthority(directory);
    const files = await authority.certify("server");
    const clock = new FakeClock(1_000_000);
    ({ server } = await startTestServer({ tls: { source: sourceOf(files, clock) } }));
    const serial = async (): Promise<string> => {
      clock.advance(2000);
      const socket = connectTls({ port: server?.port, host: "127.0.0.1", rejectUnauthorized: false });
      await once(socket, "secureConnect");
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    const first = await serial();
    expect(await serial()).toBe(first);
    const renewed = await authority.certify("renewed");
    await copyFile(renewed.certificate, files.certificate);
    expect(await serial()).toBe(first);
    await copyFile(renewed.key, files.key);
    expect(await serial()).not.toBe(first);
  });
});

describe("TLS files are refused", () => {
  test.each([
    ["a key without its certificate", { key: "server.key" }, "a certificate and its key go together"],
    ["a file that is not there", { authority: "nowhere.crt" }, "there is no file"],
    ["a file without a certificate", { authority: "server.key" }, "has no certificate in PEM"],
    ["a certificate for a key", { certificate: "server.crt", key: "server.crt" }, "has no private key in PEM"],
    ["a key of another", { certificate: "server.crt", key: "other.key" }, "is not the key of the certificate"],
  ])("%s", async (_what, names: Partial<TlsPaths>, message) => {
    const directory = await temporaryDirectory();
    const authority = await createAuthority(directory);
    await authority.certify("server");
    await authority.certify("other");
    await writeFile(join(directory, "empty"), "");
    const paths = Object.fromEntries(Object.entries(names).map(([name, file]) => [name, join(directory, file)]));
    expect(() => sourceOf(paths)).toThrow(message);
  });
});

// method
test.for(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])(
  "a port that speaks TLS answers a plain %s with a sentence",
  async (method) => {
    await start(await createAuthority(await temporaryDirectory()), "none");
    const answer = await fetch(`http://127.0.0.1:${server?.port}/healthz`, { method });
    const text = "This port speaks HTTPS: use an https:// address.\n";
    expect([answer.status, await answer.text()]).toEqual([400, method === "HEAD" ? "" : text]);
    expect(answer.headers.get("connection")).toBe("close");
  },
);

test("a port that speaks TLS answers nothing to what is neither a handshake nor a request", async () => {
  await start(await createAuthority(await temporaryDirectory()), "none");
  const socket = connectTcp(server?.port ?? 0, "127.0.0.1");
  const received: Buffer[] = [];
  socket.on("data", (bytes: Buffer) => received.push(bytes));
  socket.on("error", () => {});
  socket.write("EHLO example.com\r\n");
  await once(socket, "close");
  expect(Buffer.concat(received).toString("latin1")).not.toContain("HTTP");
});
