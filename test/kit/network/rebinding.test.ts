import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { describe, expect, onTestFinished, test, vi } from "vitest";

import { createProviderKeys } from "../../../gateway/sts/provider-keys.ts";
import { createHttpSender, defaultSenderLimits } from "../../../services/kit/outgoing/http-sender.ts";
import type { AddressGuard } from "../../../services/kit/network/address-guard.ts";
import { createAddressGuard } from "../../../services/kit/network/address-guard.ts";
import { checkHealth } from "../../../services/refactoring-workspace/health/health-check.ts";
import { openConnection } from "../../../services/refactoring-workspace/proxy/service-connections.ts";
import { ServiceNetwork } from "../../../services/refactoring-workspace/proxy/service-network.ts";
import { Upstreams } from "../../../services/refactoring-workspace/proxy/upstreams.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

/*
 * Somebody's name server answers with an address of the public internet at first and with one inside the installation
 * from some question on. Whatever asks how often and when: nothing ever connects to the inside. For this test 127.0.0.2
 * is the public internet, and only 127.0.0.3 is inside.
 */
const outside = "127.0.0.2";
const inside = "127.0.0.3";

const names = vi.hoisted(() => ({ asked: 0, insideFrom: 0 }));

const answer = (): LookupAddress[] => {
  const address = names.asked >= names.insideFrom ? inside : outside;
  names.asked += 1;
  return [{ address, family: 4 }];
};

vi.mock("node:dns", async (importOriginal) => ({
  ...(await importOriginal<typeof import("node:dns")>()),
  lookup: (_name: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) =>
    queueMicrotask(() => callback(null, answer())),
}));

vi.mock("../../../services/kit/network/private-addresses.ts", async (importOriginal) => ({
  ...(await importOriginal<typeof import("../../../services/kit/network/private-addresses.ts")>()),
  isPrivateAddress: (address: string) => address === inside,
  findPrivateAddress: (found: readonly LookupAddress[]) => found.find(({ address }) => address === inside)?.address,
}));

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

/** Servers with one port at both addresses; the addresses at which connections arrived. */
const startBoth = async (answering: Answering) => {
  const reached: string[] = [];
  let port = 0;
  for (const address of [outside, inside]) {
    const server = createServer((request, response) => {
      // Each request needs a connection of its own.
      response.setHeader("connection", "close");
      answering(request, response);
    }).listen(port, address);
    server.on("connection", () => reached.push(address));
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
  }
  return { reached, port };
};

/** The guard without its rule about https: its look at addresses is what is tested. */
const guard = (): AddressGuard => ({ ...createAddressGuard(false), check: () => {} });
const network = new ServiceNetwork({ allowsPrivate: false, resolve: async () => answer(), log: silentLogger });
const going = new AbortController().signal;
const echo: Answering = (request, response) => void request.resume().on("end", () => response.end("{}"));

const upstreams = (clock = new FakeClock()) => {
  const opened = new Upstreams(network, clock);
  onTestFinished(() => opened.close());
  return opened;
};

/** Each makes a few requests to the name, as often as it is let. */
const callers: Record<string, (origin: string) => Promise<unknown>> = {
  "a target of the event bus, its retries and its authorization endpoint": async (origin) => {
    const sender = createHttpSender(guard(), defaultSenderLimits);
    onTestFinished(() => sender.close());
    const send = () => sender.send({ method: "POST", url: new URL(origin), headers: {}, body: "{}" }, going);
    for (let request = 0; request < 3; request += 1) await send();
  },
  "an identity provider and its keys": async (origin) => {
    const find = createProviderKeys(guard(), new FakeClock());
    onTestFinished(() => find.close());
    const keys = await find({ accountId: "111122223333", arn: "arn", issuer: origin, audiences: [] });
    await keys({ alg: "ES256", kid: "one" });
  },
  "a service of a workspace": async (origin) => {
    const clock = new FakeClock();
    const opened = upstreams(clock);
    for (let request = 0; request < 3; request += 1) {
      const { dispatcher } = await opened.acquire(origin);
      await (await dispatcher.request({ path: "/", method: "GET" })).body.dump();
      clock.advance(60_000);
    }
  },
  "an upgraded connection to a service of a workspace": async (origin) => {
    const { connect } = await upstreams().acquire(origin);
    for (let request = 0; request < 3; request += 1) (await openConnection(connect, new URL(origin))).destroy();
  },
  "the health check of a service": async (origin) => {
    const functions = { check: () => Promise.reject(new Error("no function is checked")) };
    const endpoint = { url: `${origin}/`, healthUrl: `${origin}/health` };
    const settings = { network, functions, limits: { attemptsMax: 1 } };
    const outcome = await checkHealth(endpoint, settings, going);
    if (!outcome.isHealthy) throw new Error(outcome.problem);
  },
};

/** What is answered depends on who asks. */
const answering =
  (origin: () => string): Answering =>
  (request, response) => {
    if (!request.url?.startsWith("/.well-known/")) return echo(request, response);
    response.end(JSON.stringify({ issuer: origin(), jwks_uri: `${origin()}/keys` }));
  };

describe.each(Object.entries(callers))("%s", (_who, call) => {
  // questions that are answered with the public address
  test.each([0, 1, 2, 3, 4])(
    "connects only to the address that was checked, the name inside after %i",
    async (after) => {
      let origin = "";
      const { reached, port } = await startBoth(answering(() => origin));
      origin = `http://shop.example:${port}`;
      Object.assign(names, { asked: 0, insideFrom: after });
      const ended = await call(origin).then(
        () => "answered",
        () => "refused",
      );
      expect(reached).not.toContain(inside);
      expect(after === 0 && ended === "answered").toBe(false);
    },
  );
});

test("the name leads inside where nothing checks it, or these tests would prove nothing", async () => {
  const { reached, port } = await startBoth(echo);
  Object.assign(names, { asked: 0, insideFrom: 1 });
  const sender = createHttpSender({ ...createAddressGuard(true), check: () => {} }, defaultSenderLimits);
  onTestFinished(() => sender.close());
  const url = new URL(`http://shop.example:${port}`);
  for (let request = 0; request < 2; request += 1)
    await sender.send({ method: "POST", url, headers: {}, body: "{}" }, going);
  expect(reached).toEqual([outside, inside]);
});
