import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

import { Code, createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { RetryBudget } from "../../../services/kit/client/retry.ts";
import type { ClosableTransport, TransportOptions } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { authenticateAlice, startTestServer } from "../server/test-service.ts";
import { startFlakyServer } from "./flaky-servers.ts";

const servers: RunningServer[] = [];
const transports: ClosableTransport[] = [];

afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
  await Promise.all(servers.splice(0).map((server) => server.stop(0)));
});

const open = (engine: "connect" | "grpc", options: Partial<TransportOptions>) => {
  const transport = createTransport({ engine, token: async () => "alice", ...options });
  transports.push(transport);
  return createClient(TestService, transport);
};

/** A server that counts its calls. */
const startCounted = async (port = 0): Promise<{ server: RunningServer; calls: () => number }> => {
  let calls = 0;
  const { server } = await startTestServer({
    listen: { host: "127.0.0.1", port },
    authenticate: (...given) => {
      calls += 1;
      return authenticateAlice(...given);
    },
  });
  servers.push(server);
  return { server, calls: () => calls };
};

/** A port at which nobody listens. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
};

/** Repeats calls for many seconds, so that a server may take its time to start. */
const patient = { attemptsMax: 100, delayMsMin: 5, delayMsMax: 200 };

describe.each(["connect", "grpc"] as const)("the %s engine", (engine) => {
  test("waits for a server that is away, also with a call that must not happen twice", async () => {
    const port = await freePort();
    const client = open(engine, { address: `http://127.0.0.1:${port}`, retry: patient });
    const calls = [client.refuse({}), client.echo({ text: "patient" })] as const;
    await client.echo({}, { timeoutMs: 30 }).catch(() => {});
    await startCounted(port);
    expect((await Promise.all(calls))[1].text).toBe("patient");
  });

  test("sends a stream of requests whole to a server that was away", async () => {
    const port = await freePort();
    const client = open(engine, { address: `http://127.0.0.1:${port}`, retry: patient });
    let isClosed = false;
    const uploading = client.upload(
      (async function* () {
        try {
          yield { name: "late", body: new Uint8Array(10) };
          for (let chunk = 0; chunk < 20; chunk += 1) yield { name: "", body: new Uint8Array(100_000) };
        } finally {
          isClosed = true;
        }
      })(),
    );
    await client.echo({}, { timeoutMs: 30 }).catch(() => {});
    await startCounted(port);
    expect((await uploading).sizeBytes).toBe(2_000_010n);
    expect(isClosed).toBe(true);
  });

  test("does not make a call again that the server may have handled", async () => {
    const flaky = await startFlakyServer(engine, "die", "answer");
    const client = open(engine, { address: flaky.address });
    await expect(client.refuse({ thing: "once" })).rejects.toMatchObject({ code: Code.Unavailable });
    expect(flaky.calls()).toBe(1);
  });

  test("makes a call again that may happen twice when the server went away", async () => {
    const flaky = await startFlakyServer(engine, "die", "unavailable", "answer");
    const client = open(engine, { address: flaky.address });
    expect((await client.echo({ text: "again" })).text).toBe("");
    expect(flaky.calls()).toBe(3);
  });

  test("makes a call again that the server says it has not begun", async () => {
    const flaky = await startFlakyServer(engine, "unprocessed", "answer");
    await open(engine, { address: flaky.address }).refuse({ thing: "x" });
    expect(flaky.calls()).toBe(2);
    const stubborn = await startFlakyServer(engine, "unavailable", "answer");
    const call = open(engine, { address: stubborn.address }).refuse({ thing: "x" });
    await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
    expect(stubborn.calls()).toBe(1);
  });

  test("does not send a stream again of which more than the first message was taken", async () => {
    const flaky = await startFlakyServer(engine, "die");
    const client = open(engine, { address: flaky.address });
    let taken = 0;
    let isClosed = false;
    const uploading = client.upload(
      (async function* () {
        try {
          for (; taken < 1000; taken += 1) yield { name: "", body: new Uint8Array(100_000) };
        } finally {
          isClosed = true;
        }
      })(),
    );
    await expect(uploading).rejects.toMatchObject({ code: Code.Unavailable });
    expect(flaky.calls()).toBe(1);
    await eventually(() => isClosed, "the requests are closed");
    expect(taken).toBeLessThan(1000);
  });

  test("gives up after the attempts that its policy allows", async () => {
    const flaky = await startFlakyServer(engine, "die");
    const client = open(engine, { address: flaky.address, retry: { attemptsMax: 3, delayMsMin: 1 } });
    await expect(client.echo({ text: "x" })).rejects.toMatchObject({ code: Code.Unavailable });
    expect(flaky.calls()).toBe(3);
    const unrepeated = open(engine, { address: flaky.address, retry: { attemptsMax: 1 } });
    await expect(unrepeated.echo({ text: "x" })).rejects.toMatchObject({ code: Code.Unavailable });
    expect(flaky.calls()).toBe(4);
  });

  test("gives up when the next attempt would be after the deadline", async () => {
    const port = await freePort();
    const retry = { attemptsMax: 1000, delayMsMin: 60_000, delayMsMax: 60_000 };
    const client = open(engine, { address: `http://127.0.0.1:${port}`, retry });
    const startedMs = performance.now();
    await expect(client.echo({}, { timeoutMs: 20_000 })).rejects.toMatchObject({ code: Code.Unavailable });
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  test("stops waiting when the caller cancels", async () => {
    const port = await freePort();
    const retry = { attemptsMax: 1000, delayMsMin: 60_000, delayMsMax: 60_000 };
    const client = open(engine, { address: `http://127.0.0.1:${port}`, retry });
    const stop = new AbortController();
    const call = client.echo({}, { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    await expect(call).rejects.toMatchObject({ code: Code.Canceled });
  });

  test("takes the addresses in turns", async () => {
    const counted = [await startCounted(), await startCounted(), await startCounted()];
    const [first, ...others] = counted.map(({ server }) => server.url);
    const client = open(engine, { address: `${first}, ${others[0]}`, addresses: others.slice(1) });
    for (let call = 0; call < 9; call += 1) await client.echo({});
    expect(counted.map(({ calls }) => calls())).toEqual([3, 3, 3]);
  });

  test("goes on with the other addresses when one dies, and comes back to it when it returns", async () => {
    const [staying, dying] = [await startCounted(), await startCounted()];
    const { port, url } = dying.server;
    const client = open(engine, { addresses: [staying.server.url, url] });
    for (let call = 0; call < 4; call += 1) await client.refuse({});
    await dying.server.stop(0);
    const whileAway = Array.from({ length: 20 }, () => client.refuse({}));
    await Promise.all(whileAway);
    expect([staying.calls(), dying.calls()]).toEqual([22, 2]);
    const returned = await startCounted(port);
    await eventually(async () => {
      await client.refuse({});
      return returned.calls() > 0;
    }, "the returned server is called");
  });

  test("throws the last failure when no address can be reached", async () => {
    const addresses = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
    const client = open(engine, { addresses, retry: { delayMsMin: 1 } });
    await expect(client.refuse({})).rejects.toMatchObject({ code: Code.Unavailable });
  });
});

test.each(["refuse stream", "go away"] as const)(
  "the grpc engine makes a call again that the server took back: %s",
  async (conduct) => {
    const flaky = await startFlakyServer("grpc", "answer", conduct, "answer");
    const client = open("grpc", { address: flaky.address });
    await client.refuse({});
    await client.refuse({ thing: "x" });
    expect(flaky.calls()).toBe(3);
  },
);

test("a client repeats one call in ten once its budget of repetitions is spent", () => {
  const budget = new RetryBudget();
  let taken = 0;
  while (budget.spend()) taken += 1;
  expect(taken).toBe(100);
  for (let answered = 0; answered < 95; answered += 1) budget.earn();
  let more = 0;
  while (budget.spend()) more += 1;
  expect(more).toBe(9);
});
