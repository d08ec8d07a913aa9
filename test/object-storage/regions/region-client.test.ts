import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { Code } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";

import { StalledError, regionClient } from "../../../services/object-storage/regions/region-client.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";

const stallMs = 1_000;

/** A client of a region that answers so. */
const openClient = async (answer: RequestListener) => {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoint = { url, region: "us-west-2", accessKeyId: "AKIAEAST", secretAccessKey: "secret" };
  const client = regionClient(endpoint, systemClock, stallMs);
  onTestFinished(async () => {
    await client.close();
    server.close();
    server.closeAllConnections();
  });
  return client;
};

const body = new Uint8Array(64 * 1024);

/** So many messages with content. */
async function* messages(count: number) {
  for (let number = 0; number < count; number += 1) yield { body };
}

const { signal } = new AbortController();

test.each([
  ["that takes nothing", (request: Parameters<RequestListener>[0]) => void request.pause(), 1_000],
  ["that takes all of it and does not answer", (request: Parameters<RequestListener>[0]) => void request.resume(), 1],
])("a region %s is left after a while", async (_what, answer, count) => {
  const client = await openClient(answer);
  await expect(client.putReplica(messages(count), signal)).rejects.toBeInstanceOf(StalledError);
});

test("a version that comes slowly has the time that it needs", async () => {
  const client = await openClient((request, response) => {
    request.resume().on("end", () => response.writeHead(503).end());
  });
  const beginMs = performance.now();
  async function* slow() {
    for (let number = 0; number < 12; number += 1) {
      await pause(100);
      yield { body };
    }
  }
  await expect(client.putReplica(slow(), signal)).rejects.toMatchObject({ code: Code.Unavailable });
  expect(performance.now() - beginMs).toBeGreaterThan(stallMs);
});

test("a call that is aborted ends", async () => {
  const client = await openClient((request) => void request.resume());
  const aborted = AbortSignal.abort(new Error("the service stops"));
  await expect(client.putReplica(messages(1), aborted)).rejects.toMatchObject({ code: Code.Canceled });
});
