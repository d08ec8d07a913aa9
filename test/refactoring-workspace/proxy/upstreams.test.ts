import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import { once } from "node:events";

import { describe, expect, onTestFinished, test } from "vitest";

import { RouteState } from "../../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { directNetwork } from "../../../services/refactoring-workspace/proxy/service-network.ts";
import { defaultUpstreamLimits, Upstreams } from "../../../services/refactoring-workspace/proxy/upstreams.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startBackend } from "../backend.ts";
import { makeApplication, makeDefaultRoute, makeService, proxyUrlOf, startHarness } from "../harness.ts";

const textOf = async (url: string) => (await fetch(url)).text();

/** Two backends with the same port at two addresses, and a name that leads to what the test says. */
const startPair = async () => {
  const first = await startBackend("first");
  const second = createServer((_request, response) => response.end("second"));
  second.listen(first.port, "127.0.0.2");
  await once(second, "listening");
  onTestFinished(() => {
    second.closeAllConnections();
    second.close();
  });
  const names: { answer: LookupAddress[] | Error; asked: number } = {
    answer: [{ address: "127.0.0.1", family: 4 }],
    asked: 0,
  };
  const harness = await startHarness({
    resolve: async () => {
      names.asked += 1;
      if (names.answer instanceof Error) throw names.answer;
      return names.answer;
    },
  });
  const place = await makeApplication(harness.client);
  const service = await makeService(harness.client, place, `http://shop.internal:${first.port}`);
  await makeDefaultRoute(harness.client, place, service);
  return { ...harness, names, url: await proxyUrlOf(harness.client, place) };
};

describe("a service's name", () => {
  test("is resolved again after 60 seconds, and open connections go on to the new address", async () => {
    const { clock, names, url } = await startPair();
    expect(await textOf(`${url}/`)).toBe("first GET /");
    names.answer = [{ address: "127.0.0.2", family: 4 }];
    clock.advance(59_999);
    expect(await textOf(`${url}/`)).toBe("first GET /");
    clock.advance(1);
    expect(await textOf(`${url}/`)).toBe("second");
  });

  test("that is in use is resolved again ahead of its time, beside the request", async () => {
    const { clock, names, url } = await startPair();
    await textOf(`${url}/`);
    const asked = names.asked;
    clock.advance(44_999);
    await textOf(`${url}/`);
    expect(names.asked).toBe(asked);
    names.answer = [{ address: "127.0.0.2", family: 4 }];
    clock.advance(1);
    expect(await textOf(`${url}/`)).toBe("first GET /");
    expect(names.asked).toBe(asked + 1);
    expect(await textOf(`${url}/`)).toBe("second");
  });

  test("is resolved again when the clock was set back", async () => {
    const { clock, names, url } = await startPair();
    expect(await textOf(`${url}/`)).toBe("first GET /");
    names.answer = [{ address: "127.0.0.2", family: 4 }];
    clock.setBack(86_400_000);
    expect(await textOf(`${url}/`)).toBe("second");
  });

  test("is not resolved for every request", async () => {
    const { names, url } = await startPair();
    await textOf(`${url}/`);
    const asked = names.asked;
    for (let round = 0; round < 10; round++) await textOf(`${url}/`);
    expect(names.asked).toBe(asked);
  });

  test("that cannot be resolved again keeps its last addresses until it can", async () => {
    const { clock, names, url } = await startPair();
    expect(await textOf(`${url}/`)).toBe("first GET /");
    names.answer = Object.assign(new Error("no such name"), { code: "ENOTFOUND", syscall: "getaddrinfo" });
    clock.advance(60_000);
    expect(await textOf(`${url}/`)).toBe("first GET /");
    names.answer = [{ address: "127.0.0.2", family: 4 }];
    const asked = names.asked;
    clock.advance(4_999);
    expect(await textOf(`${url}/`)).toBe("first GET /");
    expect(names.asked).toBe(asked);
    clock.advance(1);
    expect(await textOf(`${url}/`)).toBe("first GET /");
    expect(await textOf(`${url}/`)).toBe("second");
  });
});

test("connections that are closed while their name is resolved again are made again", async () => {
  const backend = await startBackend("first");
  const clock = new FakeClock();
  const held = { until: Promise.resolve() };
  const network = directNetwork(async () => {
    await held.until;
    return [{ address: "127.0.0.1", family: 4 }];
  });
  const upstreams = new Upstreams(network, clock, { ...defaultUpstreamLimits, originsMax: 1 });
  onTestFinished(() => upstreams.close());
  const origin = `http://shop.internal:${backend.port}`;
  await upstreams.acquire(origin);
  clock.advance(60_000);
  const { promise, resolve } = Promise.withResolvers<void>();
  held.until = promise;
  const again = upstreams.acquire(origin);
  held.until = Promise.resolve();
  await upstreams.acquire(`http://other.internal:${backend.port}`);
  resolve();
  const { dispatcher } = await again;
  const { statusCode } = await dispatcher.request({ origin, path: "/", method: "GET" });
  expect(statusCode).toBe(200);
});

test("a service at a private address gets no traffic where that is not allowed", async () => {
  const backend = await startBackend("inside");
  const { client } = await startHarness({ allowsPrivateTargets: false });
  const place = await makeApplication(client);
  const service = await makeService(client, place, backend.url);
  await expect(makeDefaultRoute(client, place, service)).rejects.toThrow(
    `the default route is in state ${RouteState.FAILED}`,
  );
  const [route] = (await client.listRoutes(place)).routeSummaryList;
  expect(route?.error?.message).toBe(
    "The health check of the service failed: its address is private, which is not allowed.",
  );
  expect(backend.asked).toEqual([]);
});
